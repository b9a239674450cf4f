"""What is remembered of pods that no plugin can tell apart: verdict and score of every row, kept up to date.

A class holds the row-local part: plugins whose answer for a row depends on that row and on the pod alone
(``row_local``). The others, the live ones, are asked for every pod, see :mod:`.fast_path`. Of the row-local
plugins, those that look at the node object alone (``node_only``) are asked again only when the node
changes, the others whenever a pod comes to the row or leaves it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..api import Pod
from ..framework import MAX_SCORE, MIN_SCORE, Code, CycleState, Framework, Status, Verdicts
from ..framework.filtering import run_pre_filter
from ..framework.plan import FilterEntry, ScoreEntry
from ..framework.scoring import run_pre_score
from ..state import LazyRows, ObjectStore, Rows
from .expected import ExpectedPods
from .maxima import OUT, BlockedMaxima
from .merging import ask
from .normalized import Normalized
from .one_by_one import NO_NODE, NOBODY, OneByOne
from .split_plan import SplitPlan, all_changes, versions

Column = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Positions = npt.NDArray[np.intp]

MAX_PRIORITIES = 16
"""Priorities for which a class is kept as seen with nominated pods."""
ONE_BY_ONE = 48
"""Up to so many touched rows are refreshed by the per-node form, more of them by columns."""


def as_positions(mask: npt.NDArray[np.bool_]) -> Positions:
    """Where *mask* is true, ascending."""
    return mask.nonzero()[0]


class PodClass:
    """Verdicts and totals of all rows for one class of pods.

    ``refresh`` catches up with the rows touched since the last visit: O(touched rows), plus O(rows) when
    the highest raw score of a normalised plugin moved. Memory: about 32 bytes a row, and 8 more for each
    normalised plugin.
    """

    def __init__(self, framework: Framework, parts: SplitPlan, pod: Pod, objects: ObjectStore) -> None:
        self.framework = framework
        self.parts = parts
        self.pod = pod
        self.table = framework.handle.table
        self.usable = False
        """Whether the class can be used; not if a plugin failed, rejects the pod outright or names nodes."""
        self.forgotten = False
        """Whether the class was dropped: whoever still holds it must look it up again."""
        self.builds = 0
        """How often everything was made anew: codes mean something else then."""
        self._expected: dict[int, ExpectedPods] = {}
        self._objects = objects
        self._clear()
        self._build()

    def _clear(self) -> None:
        self.state = CycleState()
        self.new_state = self.state.template()
        self.statuses: list[Status] = []
        self.codes: Codes = np.empty(0, np.int32)
        """Per row: 0 passes, *k* is rejected with ``statuses[k - 1]``, -1 has no node."""
        self.feasible = 0
        self._passing: LazyRows | None = None
        self.maxima = BlockedMaxima(np.empty(0, np.int64), 0)
        self.normalized: tuple[Normalized, ...] = ()
        self._number: dict[Status, int] = {}
        self._places: list[int] = [NOBODY]
        self._counts: list[int] = [0]
        self.node_codes: Codes = np.empty(0, np.int32)
        """As ``codes``, for plugins that look at the node alone."""
        self.fixed: Column = np.empty(0, np.int64)
        """Sum of the scores that the node alone decides, but for those that are normalised."""
        self.base: Column = np.empty(0, np.int64)
        """Sum of all scores but those that are normalised, of feasible rows."""
        self.standing: Column = np.empty(0, np.int64)
        """Sum of the normalised scores that the node alone decides, as of the last totals."""
        self.moving: list[Normalized] = []
        """Normalised plugins whose raw scores depend on the pods of a row."""
        self._one_by_one = OneByOne(self)
        self.changes: tuple[int, ...] = ()
        """:func:`all_changes` as of the last visit, one object as long as it is the same."""
        self._read_versions: tuple[int, ...] = ()
        self._row_wise = False
        """Whether all its plugins have a per-node form."""
        self._version = self._node_version = -1

    # ---- looking -----------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Memory of the columns, in bytes."""
        columns = (
            self.codes,
            self.node_codes,
            self.fixed,
            self.base,
            self.standing,
            self.maxima.values,
        )
        return (
            sum(column.nbytes for column in columns)
            + sum(column.raw.nbytes for column in self.normalized)
            + sum(expected.codes.nbytes for expected in self._expected.values())
        )

    def feasible_rows(self) -> Rows:
        """The rows that no remembered plugin rejects, found out if somebody asks."""
        if self._passing is None:
            self._passing = LazyRows(self.table, self.feasible, self._find_feasible)
        return self._passing

    def _find_feasible(self) -> Positions:
        return as_positions(self.codes[: self.table.size] == 0)

    def totals_of(self, rows: Rows) -> Column:
        """Totals of some of the feasible rows, normalised over just them; not to be changed."""
        highest = [int(rows.take(column.raw).max()) if column.highest else 0 for column in self.normalized]
        if all(h == column.highest for h, column in zip(highest, self.normalized, strict=True)):
            return rows.take(self.maxima.values)
        totals = rows.take(self.base).copy()
        for h, column in zip(highest, self.normalized, strict=True):
            totals += column.weighted_rows(rows.take(column.raw), h)
        return totals

    def best_where(self, rows: Rows, mask: npt.NDArray[np.bool_]) -> Positions:
        """Positions among *rows* of the best of those feasible ones at which *mask* is true, ascending."""
        if not any(column.highest for column in self.normalized):
            # Most often the best of all is among them: two passes, and no column is picked apart.
            tied = (rows.take(self.maxima.values) == self.maxima.top()) & mask
            if tied.any():
                return as_positions(tied)
        chosen = as_positions(mask)
        totals = self.totals_of(rows.select(chosen))
        return chosen[as_positions(totals == totals.max())]

    def counts(self) -> list[tuple[Status, int]]:
        """Each status with the number of rows that it rejects; O(statuses)."""
        return [(s, n) for s, n in zip(self.statuses, self._counts[1:], strict=True) if n]

    def places(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Places in the profile of the plugins behind these codes, a large number where there is none."""
        return np.array([*self._places, NO_NODE], np.int64)[codes]

    def all_counts(self) -> list[int]:
        """Number of rows by code, from 0 on."""
        return list(self._counts)

    def place_of(self, code: int) -> int:
        """Place in the profile of the plugin behind *code*, a large number if there is none."""
        return self._places[code]

    def count(self, code: int, change: int) -> None:
        """So many rows more (or less) have *code*."""
        if code >= 0:
            self._counts[code] += change
            if code == 0:
                self.feasible += change
                self._passing = None

    def number_of(self, status: Status) -> int:
        """The code that stands for *status*."""
        number = self._number.get(status)
        if number is None:
            self.statuses.append(status)
            number = self._number[status] = len(self.statuses)
            self._register()
        return number

    def expected(self, priority: int) -> ExpectedPods:
        """The class as pods of that priority see it, nominated pods considered; the caller syncs it."""
        expected = self._expected.get(priority)
        if expected is None:
            if len(self._expected) >= MAX_PRIORITIES:
                self._expected.clear()
            expected = self._expected[priority] = ExpectedPods(self)
        return expected

    def forget(self) -> None:
        """Give the memory back; pods' specs may hold on to this object for long."""
        self.forgotten, self.usable = True, False
        self._expected.clear()
        self._clear()

    # ---- catching up -------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Catch up with the table; whether the class can be used."""
        table = self.table
        changes = all_changes(table, self._objects)
        if changes != self.changes:
            if self._read_versions != versions(self.parts.reads, table, self._objects):
                self._build()
                return self.usable
            self.changes = changes
        version = table.row_log.version
        if self._version == version or not self.usable:
            return self.usable
        rows = table.row_log.since(self._version)
        changed = table.node_log.since(self._node_version)
        if rows is None or changed is None or len(self.codes) < table.size:
            self._build()
            return self.usable
        self._version, self._node_version = version, table.node_log.version
        if len(rows) == 1 and self._row_wise:
            self._one_by_one.refresh(rows, changed)
        elif self._row_wise and len(few := set(rows)) <= ONE_BY_ONE:
            self._one_by_one.refresh(few, changed)
        else:
            self._refresh_rows(_positions(rows), _positions(changed))
        for column in self.normalized:
            if column.moved:
                column.moved = False
                if self.usable and column.highest != column.present_highest():
                    self._total_all()
        return self.usable

    def _build(self) -> None:
        """Everything from nothing; O(rows)."""
        table, parts = self.table, self.parts
        self._clear()
        self.builds += 1
        self.changes = all_changes(table, self._objects)
        self._read_versions = versions(parts.reads, table, self._objects)
        self._version, self._node_version = table.row_log.version, table.node_log.version
        self.usable = self._comparable()
        if not self.usable:
            return
        outcome = run_pre_filter(parts.remembered, self.state, self.pod, table.rows())
        self.usable = outcome.status is None and outcome.node_names is None
        if not self.usable:
            return
        # Room to grow, so that nodes that join are refreshed like any other row.
        size = max(table.capacity, 1)
        self.codes = np.full(size, NO_NODE, np.int32)
        self.node_codes = np.full(size, NO_NODE, np.int32)
        self.fixed = np.zeros(size, np.int64)
        self.base = np.zeros(size, np.int64)
        self.standing = np.zeros(size, np.int64)
        self.maxima = BlockedMaxima(np.full(size, OUT, np.int64), 0)
        asked = [e for e in parts.remembered.filter if e.name not in self.state.skip_filter_plugins]
        self.node_filters = self._placed(asked, node_only=True)
        self.pod_filters = self._placed(asked, node_only=False)
        rows = table.rows().positions
        self._filter_nodes(rows)
        feasible = self._filter_pods(rows)
        status = run_pre_score(parts.remembered, self.state, self.pod, Rows.at(table, feasible))
        self.usable = self.usable and status is None
        self.new_state = self.state.template()
        self._plan_scores(size)
        if self.usable:
            self._score_nodes(rows)
            self._score_pods(feasible)
            self._total_all()

    def _comparable(self) -> bool:
        """Whether every plugin can still tell what it reads of the pod, given what ``reads`` names now."""
        try:
            return all(signature(self.pod) is not None for signature in self.parts.signatures)
        except Exception:  # noqa: BLE001 - as for a pod that has no class yet: it goes the long way
            return False

    def _placed(self, entries: list[FilterEntry], *, node_only: bool) -> list[tuple[FilterEntry, int]]:
        mine = (entry for entry in entries if (entry.name in self.parts.node_only) is node_only)
        return [(entry, self.parts.order[entry.name]) for entry in mine]

    def _plan_scores(self, size: int) -> None:
        skip, node_only = self.state.skip_score_plugins, self.parts.node_only
        asked = [entry for entry in self.parts.remembered.score if entry.name not in skip]
        plain = [entry for entry in asked if entry.normalization is None]
        self.node_scores = [entry for entry in plain if entry.name in node_only]
        self.pod_scores = [entry for entry in plain if entry.name not in node_only]
        self.normalized = tuple(
            Normalized(entry, entry.normalization, entry.name in node_only, np.zeros(size, np.int64))
            for entry in asked
            if entry.normalization is not None
        )
        self.moving = [column for column in self.normalized if not column.node_only]
        entries: list[Any] = [entry for entry, _ in (*self.node_filters, *self.pod_filters)]
        self._row_wise = all(entry.filter is not None for entry in entries) and all(
            entry.score is not None for entry in asked
        )

    # ---- many rows, by columns ---------------------------------------------------------------------------

    def _refresh_rows(self, positions: Positions, changed: Positions) -> None:
        codes = self.codes
        feasible = positions[codes[positions] == 0]
        for column in self.normalized:
            column.count_rows(feasible, -1)
        self.feasible -= len(feasible)
        self._passing = None
        for code, count in enumerate(np.bincount(codes[positions] + 1)[1:].tolist()):
            self._counts[code] -= count
        codes[positions] = NO_NODE
        self.maxima.values[positions] = OUT
        if len(changed):
            self.node_codes[changed] = NO_NODE
            alive = changed[self.table.alive[changed]]
            self._filter_nodes(alive)
            if self.usable:
                self._score_nodes(alive)
        found = self._filter_pods(positions[self.table.alive[positions]])
        if self.usable:
            self._score_pods(found)
            self._total_all()

    def _filter_nodes(self, positions: Positions) -> None:
        """What the plugins say that look at the node alone."""
        self.node_codes[positions] = self._ask(
            self.node_filters, positions, np.zeros(len(positions), np.int32)
        )

    def _filter_pods(self, positions: Positions) -> Positions:
        """What all say; rows that count nowhere so far are counted. The rows that pass."""
        codes = self._ask(self.pod_filters, positions, self.node_codes[positions])
        self.codes[positions] = codes
        for code, count in enumerate(np.bincount(codes, minlength=1).tolist()):
            self._counts[code] += count
        found: Positions = positions[codes == 0]
        self.feasible += len(found)
        return found

    def _ask(self, filters: list[tuple[FilterEntry, int]], positions: Positions, codes: Codes) -> Codes:
        verdicts = Verdicts(Rows.at(self.table, positions), codes, self.statuses, self._number)
        places = self.places(codes)
        for entry, place in filters:
            ask(entry, place, self.state, self.pod, verdicts, places)
        self._register()
        return verdicts.codes

    def _register(self) -> None:
        """Take notice of statuses that are new."""
        for status in self.statuses[len(self._places) - 1 :]:
            self._places.append(self.parts.order.get(status.plugin, NOBODY))
            self._counts.append(0)
            if status.code is Code.ERROR:
                self.usable = False

    def _score_nodes(self, positions: Positions) -> None:
        """Scores that the node alone decides, for rows that the node alone does not rule out."""
        rows = Rows.at(self.table, positions[self.node_codes[positions] == 0])
        self.fixed[rows.index] = self._sum(self.node_scores, rows)
        for column in self.normalized:
            if column.node_only:
                column.raw[rows.index] = self._raw(column.entry, rows)

    def _score_pods(self, positions: Positions) -> None:
        """The other scores of feasible rows that are not counted so far."""
        rows = Rows.at(self.table, positions)
        self.base[positions] = self.fixed[positions] + self._sum(self.pod_scores, rows)
        for column in self.normalized:
            if not column.node_only:
                column.raw[positions] = self._raw(column.entry, rows)
            column.count_rows(positions, 1)

    def _sum(self, entries: list[ScoreEntry], rows: Rows) -> Column:
        total = np.zeros(len(rows), np.int64)
        for entry in entries:
            total += self._raw(entry, rows) * entry.weight
        return total

    def _raw(self, entry: ScoreEntry, rows: Rows) -> Column:
        """Raw scores. If the plugin fails the class cannot be used: its pods go the long way, which
        reports it.
        """
        try:
            if entry.score_rows is not None:
                raw: Column = entry.score_rows(self.state, self.pod, rows)
            else:
                assert entry.score is not None
                score = entry.score
                raw = np.array([score(self.state, self.pod, info) for info in rows], np.int64)
            fits = raw.shape == (len(rows),) and raw.dtype.kind in "iu"
            if fits and entry.normalization is None and len(raw):
                fits = bool(raw.min() >= MIN_SCORE and raw.max() <= MAX_SCORE)
        except Exception:  # noqa: BLE001 - met again on the long way, and reported there
            fits = False
        if not fits:
            self.usable = False
            return np.zeros(len(rows), np.int64)
        return raw

    # ---- totals ------------------------------------------------------------------------------------------

    def _total_all(self) -> None:
        """All totals as one column operation; O(rows)."""
        size = self.table.size
        standing = self.standing[:size]
        standing[:] = 0
        for column in self.normalized:
            column.highest = column.present_highest()
            if column.node_only:
                standing += column.weighted_rows(column.raw[:size], column.highest)
        totals = self.base[:size] + standing
        for column in self.moving:
            totals += column.weighted_rows(column.raw[:size], column.highest)
        totals[self.codes[:size] != 0] = OUT
        self.maxima.values[:size] = totals
        self.maxima.rebuild(size)


def _positions(rows: list[int]) -> Positions:
    distinct = set(rows)
    return np.fromiter(distinct, np.intp, len(distinct))
