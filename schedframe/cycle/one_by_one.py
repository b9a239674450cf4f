"""Refresh a remembered class a row at a time, by the per-node forms of its plugins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from attrs import define, field

from ..framework import MAX_SCORE, MIN_SCORE, Code, Status
from ..framework.plan import FilterEntry, ScoreEntry
from .maxima import OUT

if TYPE_CHECKING:
    from .remembered import PodClass

NO_NODE = -1
"""The code of a row without a node."""

NOBODY = 1 << 30
"""Stands for "no plugin rejects this row" among the places in the profile's order."""
_SUCCESS: Final = Code.SUCCESS

Judge = tuple[Callable[[int], Status | None], int, str]
"""What a plugin says of a row, its place in the profile, its name."""
Scorer = tuple[Callable[[int], int], int]
"""Raw score of a row, weight."""


class Cells(NamedTuple):
    """The columns of a class as memoryviews: one element of one costs a third of what it does in an array."""

    codes: memoryview[int]
    node_codes: memoryview[int]
    fixed: memoryview[int]
    base: memoryview[int]
    standing: memoryview[int]


@define(eq=False)
class OneByOne:
    """Catches up row by row: a few microseconds each, where columns cost some tens for any number of rows.

    What plugins prepare for this (``row_filter``, ``row_score``) is kept until the class is built anew or the
    table lays its columns anew.
    """

    _found: PodClass
    _prepared_for: tuple[int, int] = (-1, -1)
    _cells: Cells = field(init=False)
    _node_filters: list[Judge] = field(factory=list)
    _pod_filters: list[Judge] = field(factory=list)
    _node_scores: list[Scorer] = field(factory=list)
    _pod_scores: list[Scorer] = field(factory=list)
    _raw: list[Callable[[int], int]] = field(factory=list)
    """Raw scores of the normalised plugins, in their order."""

    def refresh(self, rows: Iterable[int], changed: Collection[int]) -> None:
        """Take in that pods came to *rows* or left them, and that the nodes of *changed* are not the same.

        A plugin that fails makes the class unusable: its pods go the long way, where that is reported.
        """
        found = self._found
        try:
            if self._prepared_for != (found.builds, found.table.layout):
                self._prepare()
            if not changed and not found.moving:
                self._refresh_pods(rows)
                return
            for row in rows:
                if row in changed:
                    self._refresh_node(row)
                else:
                    self._refresh_moving(row)
        except Exception:  # noqa: BLE001 - met again on the long way, and reported there
            found.usable = False

    # ---- the usual case: the pods of a row are others ----------------------------------------------------

    def _refresh_pods(self, rows: Iterable[int]) -> None:
        """Where most of the time goes when classes take turns: so there is no call but those of plugins."""
        found, cells = self._found, self._cells
        codes, node_codes, fixed, base, standing = cells
        update, filters, scores = found.maxima.update, self._pod_filters, self._pod_scores
        for row in rows:
            old = codes[row]
            if old < 0:
                continue  # pods of a node that is not there
            new = node_codes[row]
            limit = found.place_of(new) if new else NOBODY
            for judge, place, name in filters:
                if place > limit:
                    break
                status = judge(row)
                if status is not None and status.code is not _SUCCESS:
                    new = found.number_of(status.with_plugin(name))
                    break
            if new:
                total = OUT
            else:
                total = fixed[row]
                for score, weight in scores:
                    value = score(row)
                    if not MIN_SCORE <= value <= MAX_SCORE:
                        found.usable = False
                    total += value * weight
                base[row] = total
                total += standing[row]
            if new != old:
                self._moves(row, old, new)
            update(row, total)

    def _judged(self, row: int, code: int) -> int:
        """The code of the first plugin that rejects the row, if it comes before the one behind *code*."""
        limit = self._found.place_of(code)
        for judge, place, name in self._pod_filters:
            if place > limit:
                break
            status = judge(row)
            if status is not None and status.code is not _SUCCESS:
                return self._found.number_of(status.with_plugin(name))
        return code

    def _total(self, row: int) -> int:
        cells = self._cells
        total = cells.fixed[row]
        for score, weight in self._pod_scores:
            value = score(row)
            if not MIN_SCORE <= value <= MAX_SCORE:
                self._found.usable = False
            total += value * weight
        cells.base[row] = total
        return total + cells.standing[row]

    def _moves(self, row: int, old: int, new: int) -> None:
        """The row has another code."""
        found = self._found
        self._cells.codes[row] = new
        found.count(old, -1)
        found.count(new, 1)
        if old == 0:
            self._count_raw(row, -1)
        elif new == 0:
            self._count_raw(row, 1)

    def _count_raw(self, row: int, sign: int) -> None:
        for column in self._found.normalized:
            column.count(int(column.raw[row]), sign)

    # ---- more than that may be new -----------------------------------------------------------------------

    def _refresh_node(self, row: int) -> None:
        """The node came, went or changed."""
        found, cells = self._found, self._cells
        alive = bool(found.table.alive[row])
        code = NO_NODE
        if alive:
            code = 0
            for judge, _, name in self._node_filters:
                status = judge(row)
                if status is not None and status.code is not _SUCCESS:
                    code = found.number_of(status.with_plugin(name))
                    break
        old = cells.codes[row]
        if old == 0:
            self._count_raw(row, -1)
        cells.node_codes[row] = code
        if code == 0:
            self._score_node(row)
        self._settle(row, old, self._judged(row, code) if alive else NO_NODE)

    def _score_node(self, row: int) -> None:
        found, cells = self._found, self._cells
        cells.fixed[row] = sum(score(row) * weight for score, weight in self._node_scores)
        standing = 0
        for column, raw in zip(found.normalized, self._raw, strict=True):
            if column.node_only:
                value = raw(row)
                column.raw[row] = value
                standing += column.weighted(value if column.highest else 0)
        cells.standing[row] = standing

    def _refresh_moving(self, row: int) -> None:
        """A normalised score depends on the pods of the row."""
        old = self._cells.codes[row]
        if old < 0:
            return
        new = self._judged(row, self._cells.node_codes[row])
        if old == 0:
            self._count_raw(row, -1)
        self._settle(row, old, new)

    def _settle(self, row: int, old: int, new: int) -> None:
        """The row, taken out of the counts of raw scores, has this code now."""
        found = self._found
        total = OUT
        if new == 0:
            for column, raw in zip(found.normalized, self._raw, strict=True):
                if not column.node_only:
                    column.raw[row] = raw(row)
            total = self._total(row)
            for column in found.moving:
                total += column.weighted(int(column.raw[row]) if column.highest else 0)
            self._count_raw(row, 1)
        if new != old:
            self._cells.codes[row] = new
            found.count(old, -1)
            found.count(new, 1)
        found.maxima.update(row, total)

    # ---- preparing ---------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        found = self._found
        columns = (found.codes, found.node_codes, found.fixed, found.base, found.standing)
        self._cells = Cells(*(column.data for column in columns))
        self._node_filters = [self._judge(*placed) for placed in found.node_filters]
        self._pod_filters = [self._judge(*placed) for placed in found.pod_filters]
        self._node_scores = [(self._scorer(entry), entry.weight) for entry in found.node_scores]
        self._pod_scores = [(self._scorer(entry), entry.weight) for entry in found.pod_scores]
        self._raw = [self._scorer(column.entry) for column in found.normalized]
        self._prepared_for = (found.builds, found.table.layout)

    def _judge(self, entry: FilterEntry, place: int) -> Judge:
        return self._by_row(entry.row_filter, entry.filter), place, entry.name

    def _scorer(self, entry: ScoreEntry) -> Callable[[int], int]:
        scorer: Callable[[int], int] = self._by_row(entry.row_score, entry.score)
        return scorer

    def _by_row(self, prepare: Any, call: Any) -> Any:
        found = self._found
        state, pod, info = found.state, found.pod, found.table.info
        prepared = None if prepare is None else prepare(state, pod, found.table)
        return prepared if prepared is not None else lambda row: call(state, pod, info(row))
