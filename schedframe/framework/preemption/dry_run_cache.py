"""Cache of dry runs: their results, by row, for equivalent preemptors on nodes that did not change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from itertools import count
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import field
from sortedcontainers import SortedDict

from ..._base.value import record
from ...api import Pod
from ..cycle_state import CycleState
from ..handle import Handle
from ..status import Code, Status
from .candidates import Candidate

MAX_KINDS = 64
"""Kinds of preemptors whose dry runs are kept; beyond, the least recently used kind is dropped."""
MAX_BYTES = 128 << 20
"""Bytes of columns that all kinds may have together."""
MAX_STATUSES = 1000
"""Distinct statuses of one kind of preemptor; beyond, all its results are dropped."""
UNKNOWN: Final = 0
SAFE: Final = 1
VIOLATING: Final = 2
FAILED: Final = 3

RowNumbers = npt.NDArray[np.intp]
Codes = npt.NDArray[np.int16]


@record(eq=False)
class DryRunResults:
    """Results of dry runs by row, as codes."""

    capacity: int
    codes: Codes = field(init=False)
    """``UNKNOWN``, ``SAFE``, ``VIOLATING`` a budget, or ``FAILED`` + number of the status."""
    statuses: list[Status] = field(factory=list)
    _candidates: npt.NDArray[np.object_] = field(init=False)
    """The candidate of each row that is one: an array, so that many are picked in one step."""
    _ranks: npt.NDArray[np.float64] = field(init=False)
    """The rank of each candidate; the smallest is the best."""
    _rank_of: SortedDict = field(factory=SortedDict)
    """Measures of candidates → rank. Ranks compare as the measures do."""
    _numbers: dict[Status, int] = field(factory=dict)
    _errors: list[int] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.codes = np.zeros(self.capacity, np.int16)
        self._candidates = np.empty(self.capacity, np.object_)
        self._ranks = np.zeros(self.capacity)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return self.codes.nbytes + self._candidates.nbytes + self._ranks.nbytes

    def put(self, row: int, result: Candidate | Status) -> int:
        """Store the result of a dry run on *row*; return its code. O(log of the different measures)."""
        if isinstance(result, Candidate):
            code = VIOLATING if result.pdb_violations else SAFE
            self.codes[row], self._candidates[row] = code, result
            self._ranks[row] = self._rank(result.measures)
            return code
        code = self.codes[row] = FAILED + self._number_of(row, result)
        return code

    def _rank(self, measures: tuple[float, ...]) -> float:
        """Return the rank of *measures*; a new one is halfway between those of its neighbours."""
        rank: float | None = self._rank_of.get(measures)
        if rank is not None:
            return rank
        place, ranks = self._rank_of.bisect_left(measures), self._rank_of.values()
        above = ranks[place] if place < len(ranks) else None
        below = ranks[place - 1] if place else None
        if below is None or above is None:
            rank = below + 1.0 if below is not None else above - 1.0 if above is not None else 0.0
        else:
            rank = (below + above) / 2
        if rank in (below, above) or len(self._rank_of) > 2 * self.capacity:
            return self._rank_anew(measures)
        self._rank_of[measures] = rank
        return rank

    def _rank_anew(self, new: tuple[float, ...]) -> float:
        """Rank all candidates, because no float is left between two ranks, or too many are of no use.

        Returns the rank of *new* measures. O(candidates).
        """
        rows = ((self.codes == SAFE) | (self.codes == VIOLATING)).nonzero()[0]
        measures = [candidate.measures for candidate in self._candidates[rows]]
        self._rank_of = SortedDict(zip(sorted({*measures, new}), count(0.0), strict=False))
        self._ranks[rows] = [self._rank_of[each] for each in measures]
        rank: float = self._rank_of[new]
        return rank

    def _number_of(self, row: int, status: Status) -> int:
        if status.code is Code.ERROR:
            self._errors.append(row)
        else:
            number = self._numbers.get(status)
            if number is not None:
                return number
            self._numbers[status] = len(self.statuses)
        self.statuses.append(status)
        return len(self.statuses) - 1

    def drop(self, row: int) -> None:
        """Drop the result of *row*."""
        if row < self.capacity:
            self.codes[row] = UNKNOWN
            self._candidates[row] = None

    def candidates(self, rows: RowNumbers) -> list[Candidate]:
        """Return the candidates of *rows*, which have one each."""
        candidates: list[Candidate] = self._candidates[rows].tolist()
        return candidates

    def best(self, rows: RowNumbers) -> Candidate:
        """Return the best of the candidates of *rows*, the first of those that are equal."""
        best: Candidate = self._candidates[rows[self._ranks[rows].argmin()]]
        return best

    def counts(self, codes: Codes) -> list[tuple[Status, int]]:
        """Return each status with the number of *codes* that stand for it."""
        counts = np.bincount(codes, minlength=FAILED + len(self.statuses))[FAILED:].tolist()
        return [(status, n) for status, n in zip(self.statuses, counts, strict=True) if n]

    def forget_errors(self) -> None:
        """Drop the results that are errors, which may be temporary, and all if there are many statuses."""
        for row in self._errors:
            self.drop(row)
        self._errors.clear()
        if len(self.statuses) > MAX_STATUSES:
            self.codes.fill(UNKNOWN)
            self.statuses.clear()
            self._candidates.fill(None)
            self._rank_of.clear()
            self._numbers.clear()

    def fit(self, capacity: int) -> None:
        """Grow to *capacity* rows."""
        more = capacity - self.capacity
        if more > 0:
            self.codes = np.concatenate((self.codes, np.zeros(more, np.int16)))
            self._candidates = np.concatenate((self._candidates, np.empty(more, np.object_)))
            self._ranks = np.concatenate((self._ranks, np.zeros(more)))
            self.capacity = capacity


def visit(
    rows: RowNumbers,
    start: int,
    results: DryRunResults,
    wanted: int,
    dry_run: Callable[[int], Candidate | Status],
) -> tuple[RowNumbers, Codes]:
    """Return the rows up to the one at which there are enough candidates, and their codes.

    The first is at the position *start*, after the last one comes the first. Enough are *wanted* candidates,
    one of them without violation. Rows that are not in *results* yet are tried and added. O(rows visited) in
    columns, and the dry runs.
    """
    first = min(2 * wanted + 64, len(rows))
    for most in (first, len(rows)) if first < len(rows) else (first,):
        around = start + most - len(rows)
        some = rows[start : start + most]
        if around > 0:
            some = np.concatenate((some, rows[: min(around, start)]))
        codes = results.codes[some]
        end = _visit(some, codes, results, wanted, dry_run)
        if end is not None:
            return some[:end], codes[:end]
    return some, codes


def _visit(
    rows: RowNumbers,
    codes: Codes,
    results: DryRunResults,
    wanted: int,
    dry_run: Callable[[int], Candidate | Status],
) -> int | None:
    """Return the position after the last row to visit; ``None`` if there are not enough candidates.

    Codes of rows that are tried are added to *codes*.
    """
    safe = (codes == SAFE).nonzero()[0]
    known = ((codes == SAFE) | (codes == VIOLATING)).nonzero()[0]
    unknown = (codes == UNKNOWN).nonzero()[0].tolist()
    tried = candidates = safe_ones = 0
    for position in (*unknown, len(rows)):
        missing = wanted - candidates
        if missing <= len(known) and (safe_ones or len(safe)):
            last_known = known[missing - 1] + 1 if missing > 0 else 0
            first_safe = 0 if safe_ones else safe[0] + 1
            end = int(max(tried, last_known, first_safe))
            if end <= position:
                return end
        if position < len(rows):
            row, tried = int(rows[position]), position + 1
            code = codes[position] = results.put(row, dry_run(row))
            candidates += code < FAILED
            safe_ones += code == SAFE
    return None


@record(eq=False)
class DryRunCache:
    """Index of dry runs by kind of preemptor.

    Only for pods for which no filter reads other rows, so that the same pod on the same row always has the
    same result. The results of a row are dropped when the row or its nominations change, all results when
    a disruption budget does. Catching up is O(dirty rows × kinds).
    """

    handle: Handle
    _results: OrderedDict[Hashable, DryRunResults] = field(factory=OrderedDict)
    _rows_seen: int = 0
    _replaced_seen: int = 0
    _nominations_seen: int = 0
    _budgets_seen: int = -1

    def of(self, state: CycleState, pod: Pod) -> DryRunResults | None:
        """Return the results for pods like this one, up to date; ``None`` if they may not be cached."""
        if self.handle.nominator.node_of(pod) is not None:
            return None
        key = self.handle.runner.row_local_key(state, pod)
        if key is None:
            return None
        self._catch_up()
        kind = (key, pod.priority)
        capacity = self.handle.table.capacity
        results = self._results.get(kind)
        if results is None:
            results = self._results[kind] = DryRunResults(capacity)
        else:
            self._results.move_to_end(kind)
            results.forget_errors()
            results.fit(capacity)
        while len(self._results) > min(MAX_KINDS, max(1, MAX_BYTES // results.nbytes)):
            self._results.popitem(last=False)
        return results

    def _catch_up(self) -> None:
        table, nominator = self.handle.table, self.handle.nominator
        budgets = self.handle.objects.version("PodDisruptionBudget")
        dirty = table.row_log.since(self._rows_seen)
        replaced = table.replaced_log.since(self._replaced_seen)
        renominated = nominator.changed_since(self._nominations_seen)
        if dirty is None or replaced is None or renominated is None or budgets != self._budgets_seen:
            self._results.clear()
        elif dirty or replaced or renominated:
            rows = {*dirty, *replaced, *(table.live_row(name) for name in renominated)}
            for results in self._results.values():
                for row in rows:
                    if row is not None:
                        results.drop(row)
        self._rows_seen, self._replaced_seen = table.row_log.version, table.replaced_log.version
        self._nominations_seen, self._budgets_seen = nominator.version, budgets
