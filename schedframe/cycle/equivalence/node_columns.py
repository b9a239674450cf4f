"""What plugins that look at the node object alone say of every row: the part that classes of pods share.

Pods of a thousand sizes that tolerate and prefer the same see the same nodes; only what depends on the pods
of a row is kept for each class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from weakref import ReferenceType, ref

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from ...api import Pod
from ...framework import CycleState, Framework, Normalization, Plan, Verdicts
from ...framework.filtering import run_pre_filter
from ...framework.plan import FilterEntry, ScoreEntry
from ...framework.scoring import run_pre_score
from ...state import AlikeRows, ObjectStore, Rows
from ...state.following import PORTION
from .cacheability import SplitPlan, all_changes, versions
from .evaluate.scorer import Scorer
from .index.score_matrix import Board, crowd
from .live_answers import ask
from .status_codes import NO_NODE, Codes, Numbering

Column = npt.NDArray[np.int64]
_LOOK_AGAIN = 1000
"""Rows must change so often, or as often as there are rows, before they are looked at again that differed."""
MAX_TOTALS = 8
"""Combinations of highest raw scores for which the sums are kept."""


@frozen(eq=False)
class RawScores:
    """Raw scores of one normalised plugin by row."""

    entry: ScoreEntry
    how: Normalization
    raw: Column

    def weighted_rows(self, raw: Column, highest: int) -> Column:
        """Normalised and weighted, where *highest* is the highest; a fresh array."""
        return self.how.scaled(raw, highest) * self.entry.weight


@define(eq=False)
class NodeView:
    """Codes and scores of all rows for pods with equal signatures for the ``node_only`` plugins.

    ``refresh`` is O(1) while no node changes, O(changed nodes) else. Memory: 20 bytes a row, 8 more for each
    normalised plugin and each combination of highest raw scores.
    """

    framework: Framework
    parts: SplitPlan
    pod: Pod
    objects: ObjectStore
    numbering: Numbering = field(init=False)
    usable: bool = False
    """Whether the view can be used; not if a plugin failed or rejects the pod outright."""
    users: int = 0
    """So many classes share it."""
    builds: int = 0
    """How often everything was made anew."""
    codes: Codes = field(init=False)
    normalized: tuple[RawScores, ...] = ()
    state: CycleState = field(init=False, repr=False)
    _filters: list[FilterEntry] = field(factory=list)
    _scores: list[ScoreEntry] = field(factory=list)
    _fixed: Column = field(init=False)
    """Weighted sum of the scores that are not normalised."""
    _totals: dict[tuple[int, ...], Column] = field(factory=dict)
    _flat: bool = True
    """Whether ``_fixed`` is surely 0 everywhere."""
    marks: tuple[Column, ...] = ()
    """The columns of scores, raw ones included, in which some row has, or had, another than 0."""
    _alike: ReferenceType[AlikeRows] | None = None
    _board: ReferenceType[Board] | None = None
    _alike_again: int = 0
    """Position in the table's log of row changes from which on it may be worth to look again."""
    _changes: tuple[int, ...] = ()
    _versions: tuple[int, ...] = ()
    _version: int = -1

    def __attrs_post_init__(self) -> None:
        self.numbering = Numbering(self.parts.order)
        self._build()

    @property
    def nbytes(self) -> int:
        """Memory of the columns, in bytes."""
        columns = [self._fixed, *(each.raw for each in self.normalized), *self._totals.values()]
        alike = None if self._alike is None else self._alike()
        board = None if self._board is None else self._board()
        groups = (0 if alike is None else alike.nbytes) + (0 if board is None else board.nbytes)
        return self.codes.nbytes + groups + sum(column.nbytes for column in columns)

    @property
    def has_groups(self) -> bool:
        """Whether somebody follows :meth:`alike_rows`."""
        return self._alike is not None and self._alike() is not None

    def totals(self, highest: tuple[int, ...]) -> Column:
        """Weighted sum of the scores of every row, given the highest raw score of each normalised plugin.

        What a plugin of which the highest is 0 gives to all rows alike is left out. Valid until the next
        :meth:`refresh`; not to be changed.
        """
        if not any(highest):
            return self._fixed
        found = self._totals.get(highest)
        if found is None:
            found = self._fixed.copy()
            for each, top in zip(self.normalized, highest, strict=True):
                if top:
                    found += each.weighted_rows(each.raw, top)
            if len(self._totals) >= MAX_TOTALS:
                self._totals.clear()
            self._totals[highest] = found
        return found

    def is_flat(self, highest: tuple[int, ...]) -> bool:
        """Whether :meth:`totals` is surely 0 everywhere."""
        return self._flat and not any(highest)

    def gains(self, marks: Sequence[tuple[int, ...]]) -> list[int]:
        """What rows with these marks are worth more than others, if these are the marks of feasible rows."""
        total = np.zeros(len(marks), np.int64)
        raw = {id(each.raw): each for each in self.normalized}
        for column, values in zip(self.marks, np.array(marks, np.int64).T, strict=True):
            scores = raw.get(id(column))
            if scores is None:
                total += values
            elif highest := int(values.max()):
                total += scores.weighted_rows(values, highest)
        gains: list[int] = total.tolist()
        return gains

    def alike_rows(self) -> AlikeRows | None:
        """The rows that pass, by amounts and marks, followed as long as somebody holds them; ``None`` if
        they differ too much. The view must be up to date.
        """
        found = None if self._alike is None else self._alike()
        if found is not None and found.usable and found.marks is self.marks:
            return found
        table = self.framework.handle.table
        if table.row_log.version < self._alike_again:
            return None
        found = AlikeRows(table, self.marks)
        if not found.rebuild(self.codes):
            self._alike_again = table.row_log.version + max(table.size, _LOOK_AGAIN)
            return None
        self._alike = ref(found)
        return found

    def board(self) -> Board:
        """Where classes that share this view take turns."""
        found = None if self._board is None else self._board()
        if found is None:
            found = Board(self)
            self._board = ref(found)
        return found

    def takes_turns(self, users: int) -> bool:
        """Whether so many classes would take turns on the board, and it has room for one."""
        return users >= crowd(self.framework.handle.table.size) and self.board().has_room()

    def passing(self) -> Rows:
        """The rows that are not rejected, ascending."""
        positions = (self.codes[: self.framework.handle.table.size] == 0).nonzero()[0]
        return Rows.ascending(self.framework.handle.table, positions)

    # ---- catching up -------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Catch up with the nodes; whether the view can be used."""
        table = self.framework.handle.table
        changes = all_changes(table, self.objects)
        if changes == self._changes:
            return self.usable
        changed = table.node_log.since(self._version)
        if (
            changed is None
            or len(self.codes) < table.size
            or self._versions != versions(self.parts.node_reads, table, self.objects)
        ):
            self._build()
            return self.usable
        self._changes, self._version = changes, table.node_log.version
        if changed and self.usable:
            self._refresh_rows(sorted(set(changed)))
        return self.usable

    def _build(self) -> None:
        """Everything from nothing; O(rows)."""
        table, plan = self.framework.handle.table, self.parts.node_plan
        self.builds += 1
        self._changes = all_changes(table, self.objects)
        self._versions = versions(self.parts.node_reads, table, self.objects)
        self._version = table.node_log.version
        # Room to grow, so that nodes that join are refreshed like any other row.
        size = max(table.capacity, 1)
        self.codes, self._fixed = np.zeros(size, np.int32), np.zeros(size, np.int64)
        self.codes[table.size :] = NO_NODE
        if table.num_nodes < table.size:
            self.codes[: table.size][~table.alive[: table.size]] = NO_NODE
        self._totals.clear()
        self._flat, self.marks = True, ()
        self._alike = None
        self.state = CycleState()
        rows = table.rows()
        outcome = run_pre_filter(plan, self.state, self.pod, rows)
        self.usable = outcome.status is None and outcome.node_names is None
        if self.usable:
            self.usable = run_pre_score(plan, self.state, self.pod, rows) is None
        if self.usable:
            self._plan(plan, size)
            for part in rows.portions(PORTION):
                self._fill(part, fresh=True)

    def _plan(self, plan: Plan, size: int) -> None:
        skipped = self.state.skip_score_plugins
        self._filters = [entry for entry in plan.filter if entry.name not in self.state.skip_filter_plugins]
        asked = [entry for entry in plan.score if entry.name not in skipped]
        self._scores = [entry for entry in asked if entry.normalization is None]
        self.normalized = tuple(
            RawScores(entry, entry.normalization, np.zeros(size, np.int64))
            for entry in asked
            if entry.normalization is not None
        )

    def _refresh_rows(self, rows: Iterable[int]) -> None:
        changed = np.fromiter(rows, np.intp)
        self.codes[changed] = NO_NODE
        table = self.framework.handle.table
        self._fill(Rows.ascending(table, changed[table.alive[changed]]), fresh=False)
        self._totals.clear()

    def _fill(self, rows: Rows, *, fresh: bool) -> None:
        """Judge and score these rows; *fresh*: what is kept of them is all zeros."""
        numbering = self.numbering
        codes = np.zeros(len(rows), np.int32)
        verdicts = Verdicts(rows, codes, numbering.statuses, numbering.numbers)
        places = numbering.places_of(codes)
        for entry in self._filters:
            ask(entry, self.parts.order[entry.name], self.state, self.pod, verdicts, places)
        self.usable &= numbering.register()
        passing = rows
        if codes.any():
            passing = rows.select(codes == 0)
            self.codes[rows.index] = codes
        elif not fresh:
            self.codes[rows.index] = 0
        scorer = Scorer(self.state, self.pod)
        kept = [(self._fixed, scorer.total(self._scores, passing))]
        kept += [(each.raw, scorer.raw(each.entry, passing)) for each in self.normalized]
        for column, scores in kept:
            # Memory that nobody wrote to is not there yet: to leave zeros alone spares most of it.
            some = bool(scores.any())
            if not fresh or some:
                column[passing.index] = scores
            if some and not any(column is marked for marked in self.marks):
                self.marks = (*self.marks, column)
                self._flat &= column is not self._fixed
        self.usable &= scorer.sound
