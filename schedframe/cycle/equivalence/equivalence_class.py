"""What is remembered of pods that no plugin can tell apart: verdict and score of every row, kept up to date.

A class holds the row-local part: plugins whose answer for a row depends on that row and on the pod alone
(``row_local``). The others, the live ones, are asked for every pod, see :mod:`.fast_path`. Of the row-local
plugins, those that look at the node object alone (``node_only``) are asked by a :class:`NodeView` that many
classes share, the others whenever a pod comes to the row or leaves it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...api import Pod
from ...framework import CycleState, Framework, Status, Verdicts
from ...framework.filtering import run_pre_filter
from ...framework.plan import FilterEntry, ScoreEntry
from ...framework.scoring import run_pre_score
from ...state import LazyRows, ObjectStore, Rows
from ...state.following import PORTION
from .cacheability import SplitPlan, all_changes, versions
from .evaluate import columnar as by_columns
from .evaluate.rowwise import MOST_ROWS, OneByOne
from .index.blocked_max import OUT, BlockedMaxima
from .index.group_max import Groupings
from .index.matrix_slot import Seat
from .index.score_matrix import crowd
from .index.state_buckets import WAIT, BestAlike
from .node_columns import NodeView, RawScores
from .nominated import ExpectedPods
from .normalized import Normalized
from .status_codes import Codes, Numbering

Column = npt.NDArray[np.int64]
Positions = npt.NDArray[np.intp]

_BYTES_A_CLASS = 16_384
MAX_PRIORITIES = 16
"""Priorities for which a class is kept as seen with nominated pods."""


def as_positions(mask: npt.NDArray[np.bool_]) -> Positions:
    """Where *mask* is true, ascending."""
    return mask.nonzero()[0]


def _sparse_copy(codes: Codes) -> Codes:
    """A copy that leaves zeros alone if most are: memory that nobody wrote to is not there yet."""
    others = codes.nonzero()[0]
    if 4 * len(others) > len(codes):
        return codes.copy()
    copy: Codes = np.zeros(len(codes), codes.dtype)
    copy[others] = codes[others]
    return copy


class PodClass:
    """Verdicts and totals of all rows for one class of pods.

    ``refresh`` catches up with the rows touched since the last visit: O(touched rows), plus O(rows) when
    the highest raw score of a normalised plugin moved. Memory: 12 bytes a row beside those of the view, and 8
    for each normalised plugin that looks at the pods of a row.
    """

    def __init__(
        self,
        framework: Framework,
        parts: SplitPlan,
        pod: Pod,
        objects: ObjectStore,
        view: NodeView | None = None,
        *,
        outline: bool = True,
    ) -> None:
        self.framework = framework
        self.parts = parts
        self.pod = pod
        self.table = framework.handle.table
        self.view = NodeView(framework, parts, pod, objects) if view is None else view
        self.view.users += 1
        self.usable = False
        """Whether the class can be used; not if a plugin failed, rejects the pod outright or names nodes."""
        self.recent = True
        """Whether it was used since classes were last dropped."""
        self.forgotten = False
        """Whether the class was dropped: whoever still holds it must look it up again."""
        self.builds = 0
        """How often everything was made anew."""
        self._expected: dict[int, ExpectedPods] = {}
        self._objects = objects
        self.alike: BestAlike | Seat = self._by_groups()
        if not self._outline(by_groups=outline):
            self._build()

    def _clear(self) -> None:
        self.state = CycleState()
        self.new_state = self.state.template()
        self.codes: Codes = np.empty(0, np.int32)
        """Per row: 0 passes, *k* is rejected with ``statuses[k - 1]``, -1 has no node."""
        self.feasible = 0
        self._passing: LazyRows | None = None
        self._verdicts: Verdicts | None = None
        self.maxima = BlockedMaxima(np.empty(0, np.int64), 0)
        self.groupings = Groupings()
        self.normalized: tuple[Normalized, ...] = ()
        self.moving: list[Normalized] = []
        """Those of ``normalized`` whose raw scores depend on the pods of a row, at its end."""
        self.base: Column = np.empty(0, np.int64)
        """What the plugins of the view give each row."""
        self.flat = False
        """Whether ``base`` is 0 everywhere."""
        self.pod_filters: list[tuple[FilterEntry, int]] = []
        self.pod_scores: list[ScoreEntry] = []
        self._counts: list[int] = [0]
        self.one_by_one = OneByOne(self)
        self.alike.stop()
        self.alike = self._by_groups()
        self.outlined = False
        """Whether nothing is known by row so far, only what groups of rows are worth: see ``alike``."""
        self.changes: tuple[int, ...] = ()
        """:func:`all_changes` as of the last visit, one object as long as it is the same."""
        self._read_versions: tuple[int, ...] = ()
        self.amounts_only = False
        """Whether rows that the view lets pass are the same for the class if their amounts are."""
        self._row_wise = False
        """Whether all its plugins have a per-node form."""
        self.columnar = False
        """Whether all its filters have a columnar form."""
        self._version = self._node_version = self._view_builds = -1

    # ---- looking -----------------------------------------------------------------------------------------

    @property
    def numbering(self) -> Numbering:
        """What the codes mean."""
        return self.view.numbering

    @property
    def statuses(self) -> list[Status]:
        """By code, from 1 on."""
        return self.view.numbering.statuses

    @property
    def nbytes(self) -> int:
        """About how much memory it takes, in bytes, without the columns of the view."""
        codes = [self.codes, *(expected.codes for expected in self._expected.values())]
        arrays = sum(column.nbytes for column in codes) + sum(column.raw.nbytes for column in self.moving)
        arrays += self.maxima.nbytes
        arrays += self.alike.nbytes + self.groupings.nbytes
        return arrays + _BYTES_A_CLASS

    def feasible_rows(self) -> Rows:
        """The rows that no remembered plugin rejects, found out if somebody asks."""
        if self._passing is None:
            self._passing = LazyRows(self.table, self.feasible, self._find_feasible)
        return self._passing

    def _find_feasible(self) -> Positions:
        return as_positions(self.codes[: self.table.size] == 0)

    def counts(self) -> list[tuple[Status, int]]:
        """Each status with the number of rows that it rejects; O(statuses)."""
        return [(s, n) for s, n in zip(self.statuses, self._counts[1:], strict=False) if n]

    def verdicts(self) -> Verdicts:
        """What the class says of all nodes; the same object as long as nothing of that changes."""
        if self._verdicts is None:
            rows = self.table.rows()
            self._verdicts = Verdicts.counted(rows, self.codes[rows.index], self.statuses, self.counts())
        return self._verdicts

    def all_counts(self) -> list[int]:
        """Number of rows by code, from 0 on."""
        return list(self._counts)

    def count(self, code: int, change: int) -> None:
        """So many rows more (or less) have *code*."""
        if code < 0:
            return
        while len(self._counts) <= code:
            self._counts.append(0)
        self._counts[code] += change
        self._verdicts = None
        if code == 0:
            self.feasible += change
            self._passing = None

    def count_anew(self, counts: list[int]) -> None:
        """So many rows have each code, from 0 on."""
        self._counts = counts
        self.feasible = counts[0] if counts else 0
        self._passing = self._verdicts = None

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
        self.view.users -= 1
        self._expected.clear()
        self._clear()

    # ---- catching up -------------------------------------------------------------------------------------

    def best_alike(self) -> bool:
        """Whether ``alike`` found the best rows, without :meth:`refresh`."""
        alike = self.alike
        if not alike.ready:
            return False
        changes = all_changes(self.table, self._objects)
        if changes != self.changes and not (self.outlined and self._still_holds(changes)):
            return False
        return alike.best()

    def refresh(self) -> bool:
        """Catch up with the table; whether the class can be used."""
        table = self.table
        changes = all_changes(table, self._objects)
        if self.outlined or (changes != self.changes and not self._still_holds(changes)):
            self._build()
            return self.usable
        version = table.row_log.version
        if self._version == version or not self.usable:
            return self.usable
        since, self._version = self._version, version
        changed = table.node_log.version != self._node_version
        self._node_version = table.node_log.version
        if changed:
            self.base = self._base()
        if not self._take_in(since, counting=not changed):
            self._build()
            return self.usable
        if self.usable:
            if changed:
                self._recount()
            self._follow_highest()
        return self.usable

    def _still_holds(self, changes: tuple[int, ...]) -> bool:
        """Whether none of these *changes* concerns what all rows have in common; the view is refreshed."""
        read = versions(self.parts.reads, self.table, self._objects)
        if not self.view.refresh() or self._view_builds != self.view.builds or self._read_versions != read:
            return False
        self.changes = changes
        return True

    def _take_in(self, since: int, *, counting: bool) -> bool:
        """Rows touched since then; ``False`` if that is too long ago to say which.

        *counting*: raw scores are counted as rows come and go; else that is done anew afterwards.
        """
        log = self.table.row_log
        missed = log.version - since
        if self._row_wise and missed <= MOST_ROWS:
            rows = log.since(since)
            if rows is not None:
                self.one_by_one.refresh(rows if missed == 1 else set(rows), counting=counting)
            return rows is not None
        positions = log.positions_since(since, self.table.size)
        if self.columnar and by_columns.all_rows_are_cheaper(missed, self.table.num_nodes):
            by_columns.refresh_all(self)
        elif positions is not None:
            by_columns.refresh_touched(self, positions, counting=counting)
        else:
            return False
        return True

    def _outline(self, *, by_groups: bool) -> bool:
        """Only what kinds of rows are worth, from nothing; ``False`` if that will not do. O(their number)."""
        view = self.view
        if not view.refresh():
            return False
        turns = view.takes_turns(view.users)
        groups = None if turns or not by_groups else view.alike_rows()
        if (groups is None and not turns) or not self._begin():
            return False
        passing = self.view.passing() if groups is None else groups.every()
        if run_pre_score(self.parts.remembered, self.state, self.pod, passing) is not None:
            return False
        self.new_state = self.state.template()
        self._plan_scores()
        if self.amounts_only and self._row_wise:
            self.outlined = self.sit_down(by_columns.worth) or (by_groups and self._begin_by_groups())
        return self.outlined

    def _begin_by_groups(self) -> bool:
        groups, alike = self.view.alike_rows(), self._by_groups()
        if groups is None or not alike.begin(groups):
            return False
        self.alike = alike
        return True

    def sit_down(self, by_row: Callable[[PodClass], Column | None]) -> bool:
        """Take turns with others on the board of the view, if they do so; whether that is done.

        *by_row*: tells what each row is worth, as :func:`.by_columns.worth` does.
        """
        view = self.view
        if not self.amounts_only or not self._row_wise or not view.takes_turns(view.users):
            return False
        worth = by_row(self)
        seat = None if worth is None else view.board().join(self, worth)
        if seat is not None:
            self.alike = seat
        return seat is not None

    def _by_groups(self) -> BestAlike:
        return BestAlike(self, crowd=crowd(self.table.size))

    def stand_up(self) -> None:
        """Find the best rows alone, for long."""
        self.alike = BestAlike(self, visits=-WAIT)

    def _begin(self) -> bool:
        """What goes for all rows; whether the class can be used."""
        table, parts, view = self.table, self.parts, self.view
        self._clear()
        self.builds += 1
        view.refresh()
        self._view_builds = view.builds
        self.changes = all_changes(table, self._objects)
        self._read_versions = versions(parts.reads, table, self._objects)
        self._version, self._node_version = table.row_log.version, table.node_log.version
        self.usable = view.usable and self._comparable()
        if not self.usable:
            return False
        outcome = run_pre_filter(parts.remembered, self.state, self.pod, table.rows())
        self.usable = outcome.status is None and outcome.node_names is None
        skipped = self.state.skip_filter_plugins
        self.pod_filters = [(e, parts.order[e.name]) for e in parts.pod_plan.filter if e.name not in skipped]
        return self.usable

    def _build(self) -> None:
        """Everything from nothing; O(rows)."""
        if not self._begin():
            return
        table, parts = self.table, self.parts
        self.codes = _sparse_copy(self.view.codes)
        found = [by_columns.judge(self, part) for part in table.rows().portions(PORTION)]
        status = run_pre_score(parts.remembered, self.state, self.pod, self.feasible_rows())
        self.usable = self.usable and status is None
        self.new_state = self.state.template()
        self._plan_scores()
        self.maxima = BlockedMaxima(np.full(len(self.codes), OUT, np.int64), 0)
        if self.usable:
            for part in found:
                by_columns.score(self, part)
            self.maxima.rebuild(table.size)
            self._recount()
            self._follow_highest()

    def _comparable(self) -> bool:
        """Whether every plugin can still tell what it reads of the pod, given what ``reads`` names now."""
        signatures = (*self.parts.node_signatures, *self.parts.pod_signatures)
        try:
            return all(signature(self.pod) is not None for signature in signatures)
        except Exception:  # noqa: BLE001 - as for a pod that has no class yet: it goes the long way
            return False

    def _plan_scores(self) -> None:
        asked = [e for e in self.parts.pod_plan.score if e.name not in self.state.skip_score_plugins]
        self.pod_scores = [entry for entry in asked if entry.normalization is None]
        self.moving = [
            Normalized(RawScores(entry, entry.normalization, np.zeros(len(self.codes), np.int64)))
            for entry in asked
            if entry.normalization is not None
        ]
        self.normalized = (*map(Normalized, self.view.normalized), *self.moving)
        self.base = self._base()
        entries: list[Any] = [entry for entry, _ in self.pod_filters]
        names = {entry.name for entry in (*entries, *asked)}
        self.amounts_only = names <= self.parts.amounts_only and not self.moving
        self.columnar = all(entry.filter_rows is not None for entry in entries)
        self._row_wise = all(entry.filter is not None for entry in entries) and all(
            entry.score is not None for entry in asked
        )

    # ---- what is highest ---------------------------------------------------------------------------------

    def _base(self) -> Column:
        highest = tuple(column.highest for column in self.normalized[: len(self.view.normalized)])
        self.flat = self.view.is_flat(highest)
        return self.view.totals(highest)

    def _recount(self) -> None:
        """Nodes have other raw scores; O(rows) for plugins that give any."""
        feasible = self.feasible_rows()
        for column in self.normalized:
            column.recount(feasible)

    def _follow_highest(self) -> None:
        """Normalise anew if the highest raw score of a plugin moved; O(rows) then."""
        for column in self.normalized:
            if column.moved:
                column.moved = False
                if column.highest != column.present_highest():
                    self._normalize()

    def _normalize(self) -> None:
        size = self.table.size
        feasible = self._find_feasible()
        totals = self.maxima.values[feasible] - self.base[feasible]
        for column in self.moving:
            totals -= column.weighted_rows(column.raw[feasible], column.highest)
        for column in self.normalized:
            column.highest = column.present_highest()
        self.base = self._base()
        totals += self.base[feasible]
        for column in self.moving:
            totals += column.weighted_rows(column.raw[feasible], column.highest)
        self.maxima.values[feasible] = totals
        self.maxima.rebuild(size)
