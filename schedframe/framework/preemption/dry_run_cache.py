"""Cache of dry runs: their results, by row, for equivalent preemptors on nodes that did not change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ...api import Pod
from ..cycle_state import CycleState
from ..handle import Handle
from ..status import Code, Status
from .candidates import Candidate

MAX_KINDS = 64
"""Kinds of preemptors whose dry runs are kept; beyond, the least recently used kind is dropped."""
MAX_BYTES = 64 << 20
"""Bytes of codes that all kinds may have together."""
MAX_STATUSES = 1000
"""Distinct statuses of one kind of preemptor; beyond, all its results are dropped."""
UNKNOWN: Final = 0
SAFE: Final = 1
VIOLATING: Final = 2
FAILED: Final = 3

RowNumbers = npt.NDArray[np.intp]


@define(eq=False)
class DryRunResults:
    """Results of dry runs by row, as codes."""

    capacity: int
    codes: npt.NDArray[np.int16] = field(init=False)
    """``UNKNOWN``, ``SAFE``, ``VIOLATING`` a budget, or ``FAILED`` + number of the status."""
    statuses: list[Status] = field(factory=list)
    _candidates: dict[int, Candidate] = field(factory=dict)
    _numbers: dict[Status, int] = field(factory=dict)
    _errors: list[int] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.codes = np.zeros(self.capacity, np.int16)

    def put(self, row: int, result: Candidate | Status) -> int:
        """Store the result of a dry run on *row*; return its code."""
        if isinstance(result, Candidate):
            self._candidates[row] = result
            code = VIOLATING if result.pdb_violations else SAFE
        else:
            code = FAILED + self._number_of(row, result)
        self.codes[row] = code
        return code

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
            self._candidates.pop(row, None)

    def candidates(self, rows: RowNumbers) -> list[Candidate]:
        """Return the candidates among *rows*: first those that violate no budget, then the others."""
        codes = self.codes[rows]
        ordered = np.concatenate((rows[codes == SAFE], rows[codes == VIOLATING])).tolist()
        return list(map(self._candidates.__getitem__, ordered))

    def counts(self, rows: RowNumbers) -> list[tuple[Status, int]]:
        """Return each status with the number of *rows* that have it."""
        counts = np.bincount(self.codes[rows], minlength=FAILED + len(self.statuses))[FAILED:].tolist()
        return [(status, n) for status, n in zip(self.statuses, counts, strict=True) if n]

    def forget_errors(self) -> None:
        """Drop the results that are errors, which may be temporary. To be called after :meth:`counts`."""
        for row in self._errors:
            self.drop(row)
        self._errors.clear()
        if len(self.statuses) > MAX_STATUSES:
            self.codes.fill(UNKNOWN)
            self.statuses.clear()
            self._candidates.clear()
            self._numbers.clear()

    def fit(self, capacity: int) -> None:
        """Grow to *capacity* rows."""
        if capacity > self.capacity:
            self.codes = np.concatenate((self.codes, np.zeros(capacity - self.capacity, np.int16)))
            self.capacity = capacity


def visit(
    rows: RowNumbers, results: DryRunResults, wanted: int, dry_run: Callable[[int], Candidate | Status]
) -> RowNumbers:
    """Return the first of *rows*, up to the one at which there are enough candidates.

    Enough are *wanted* candidates, one of them without violation. Rows that are not in *results* yet are
    tried and added. O(rows visited) in columns, and the dry runs.
    """
    first = min(2 * wanted + 64, len(rows))
    for portion in (first, len(rows)) if first < len(rows) else (first,):
        end = _visit(rows[:portion], results, wanted, dry_run)
        if end is not None:
            return rows[:end]
    return rows


def _visit(
    rows: RowNumbers, results: DryRunResults, wanted: int, dry_run: Callable[[int], Candidate | Status]
) -> int | None:
    """Return the position after the last row to visit; ``None`` if there are not enough candidates."""
    codes = results.codes[rows]
    safe = (codes == SAFE).cumsum()
    candidates = ((codes == SAFE) | (codes == VIOLATING)).cumsum()
    new_safe = new = 0
    unknown = (codes == UNKNOWN).nonzero()[0].tolist()
    for position in (*unknown, len(rows)):
        before = position - 1
        if position and candidates[before] + new >= wanted and safe[before] + new_safe:
            return int(max(candidates.searchsorted(wanted - new), safe.searchsorted(1 - new_safe))) + 1
        if position == len(rows):
            break
        row = int(rows[position])
        code = results.put(row, dry_run(row))
        new += code < FAILED
        new_safe += code == SAFE
        if candidates[position] + new >= wanted and safe[position] + new_safe:
            return int(position) + 1
    return None


@define(eq=False)
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
            results.fit(capacity)
        while len(self._results) > min(MAX_KINDS, max(1, MAX_BYTES // results.codes.nbytes)):
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
