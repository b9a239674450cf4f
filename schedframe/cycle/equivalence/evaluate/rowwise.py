"""Refresh a remembered class a row at a time, by the per-node forms of its plugins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field

from ....framework import MAX_SCORE, MIN_SCORE, Code, Status
from ....framework.plan import FilterEntry, ScoreEntry
from ..index.blocked_max import OUT
from ..status_codes import NO_NODE

if TYPE_CHECKING:
    from ..equivalence_class import PodClass

MOST_ROWS: Final = 48
"""Dirty rows that are evaluated one by one at most; columns cost less for more of them."""
_SUCCESS: Final = Code.SUCCESS

Judge = tuple[Callable[[int], Status | None], int, str]
"""What a plugin says of a row, its place in the profile, its name."""
Scorer = tuple[Callable[[int], int], int]
"""Raw score of a row, weight."""


@define(eq=False)
class OneByOne:
    """Catches up row by row: a few microseconds each, where columns cost some tens for any number of rows."""

    _found: PodClass
    _prepared_for: tuple[int, int] = (-1, -1)
    _filters: list[Judge] = field(factory=list)
    _scores: list[Scorer] = field(factory=list)
    _raw: list[Callable[[int], int]] = field(factory=list)
    """Raw scores of the normalised plugins that look at pods, in their order."""

    def refresh(self, rows: Collection[int], *, counting: bool) -> None:
        """Take in that pods came to *rows* or left them, or that they have other nodes.

        The view must be up to date. *counting*: raw scores are counted as rows come and go. A plugin that
        fails makes the class unusable: its pods go the long way, where that is reported.
        """
        found = self._found
        try:
            if self._prepared_for != (found.builds, found.table.layout):
                self._prepare()
            self._refresh(rows, counting)
        except Exception:  # noqa: BLE001 - met again on the long way, and reported there
            found.usable = False

    def _refresh(self, rows: Collection[int], counting: bool) -> None:
        """Where most of the time goes when classes take turns: so there are as few calls as can be."""
        found = self._found
        # One element of a memoryview costs a third of what it does in an array.
        codes, view_codes, base = found.codes.data, found.view.codes.data, found.base.data
        moving, changes = found.moving, []
        for row in rows:
            old, new = codes[row], view_codes[row]
            if new:
                new, total = self._judged(row, new), OUT
            else:
                answer = self._ask(row)
                if answer < 0:
                    new, total = -answer, OUT
                else:
                    total = base[row] + answer
            if new != old:
                codes[row] = new
                self._moves(row, old, new, counting)
            if moving:
                total += self._normalized(row, old, new, counting)
            changes.append((row, total))
        found.maxima.update(changes)

    def ask(self, rows: Sequence[int]) -> list[int]:
        """What the class gives to each of *rows*, which the view passes: the weighted sum of the scores that
        are not normalised, or the negative of the code by which it is rejected.
        """
        found = self._found
        try:
            if self._prepared_for != (found.builds, found.table.layout):
                self._prepare()
            ask = self._ask
            return [ask(row) for row in rows]
        except Exception:  # noqa: BLE001 - met again on the long way, and reported there
            found.usable = False
            return [0] * len(rows)

    def _ask(self, row: int) -> int:
        for judge, _, name in self._filters:
            status = judge(row)
            if status is not None and status.code is not _SUCCESS:
                return -self._code_of(status, name)
        total = 0
        for score, weight in self._scores:
            value = score(row)
            if not MIN_SCORE <= value <= MAX_SCORE:
                self._found.usable = False
            total += value * weight
        return total

    def _judged(self, row: int, code: int) -> int:
        """The code of the first plugin that rejects the row, if it comes before the one behind *code*."""
        if code == NO_NODE:
            return code
        limit = self._found.numbering.place_of(code)
        for judge, place, name in self._filters:
            if place > limit:
                break
            status = judge(row)
            if status is not None and status.code is not _SUCCESS:
                return self._code_of(status, name)
        return code

    def _code_of(self, status: Status, plugin: str) -> int:
        if status.code is Code.ERROR:
            self._found.usable = False
        return self._found.numbering.number_of(status.with_plugin(plugin))

    def _moves(self, row: int, old: int, new: int, counting: bool) -> None:
        """The row has another code."""
        found = self._found
        found.count(old, -1)
        found.count(new, 1)
        if counting and (old == 0 or new == 0):
            of_view = found.normalized[: len(found.view.normalized)]
            for column in of_view:
                column.count(int(column.raw[row]), -1 if old == 0 else 1)

    def _normalized(self, row: int, old: int, new: int, counting: bool) -> int:
        """What the normalised plugins give that look at the pods of the row; counts their raw scores."""
        total = 0
        for column, score in zip(self._found.moving, self._raw, strict=True):
            if old == 0 and counting:
                column.count(int(column.raw[row]), -1)
            if new == 0:
                raw = column.raw[row] = score(row)
                if counting:
                    column.count(raw, 1)
                total += column.weighted(raw if column.highest else 0)
        return total

    # ---- preparing ---------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        found = self._found
        self._filters = [self._judge(*placed) for placed in found.pod_filters]
        self._scores = [(self._scorer(entry), entry.weight) for entry in found.pod_scores]
        self._raw = [self._scorer(column.scores.entry) for column in found.moving]
        self._prepared_for = (found.builds, found.table.layout)

    def _judge(self, entry: FilterEntry, place: int) -> Judge:
        return by_row(self._found, entry.filter), place, entry.name

    def _scorer(self, entry: ScoreEntry) -> Callable[[int], int]:
        scorer: Callable[[int], int] = by_row(self._found, entry.score)
        return scorer


def by_row(found: PodClass, call: Any) -> Any:
    """The per-node form *call* of a plugin for the pods of a class, by row number."""
    state, pod, info = found.state, found.pod, found.table.info
    return lambda row: call(state, pod, info(row))
