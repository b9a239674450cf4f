"""Judge and score many rows of a remembered class, by the columnar forms of its plugins where they have any.

All rows at once, or those that were touched: where many were, to take all is fewer passes than to pick some
out, and each pass costs less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ....framework import Verdicts
from ....state import Rows
from ..index.blocked_max import OUT
from ..live_answers import ask, ask_all, merge
from ..status_codes import Codes
from .scorer import Scorer

if TYPE_CHECKING:
    from ..equivalence_class import PodClass

Column = npt.NDArray[np.int64]
Positions = npt.NDArray[np.intp]

_GATHER_COST = 6
"""Cost of gathering one row, in rows that are scanned where they stand in the columns."""


def all_rows_are_cheaper(dirty: int, nodes: int) -> bool:
    """Whether to evaluate all rows of *nodes* rather than the *dirty* ones."""
    return dirty * _GATHER_COST >= nodes


def refresh_all(found: PodClass) -> None:
    """Judge and score all rows; its view and ``base`` are up to date. Its filters have a columnar form.

    O(rows). A plugin that fails makes the class unusable.
    """
    table, rows = found.table, found.table.rows()
    # Whether any is not 0, at half the cost of asking for that.
    all_passed = found.feasible == len(rows) and not np.count_nonzero(rows.take(found.codes))
    codes = _judged(found, rows)
    all_pass = not np.count_nonzero(codes)
    found.count_anew([len(codes)] if all_pass else np.bincount(codes).tolist())
    passing = rows if all_pass else rows.select(codes == 0)
    values, size = found.maxima.values, table.size
    if len(passing) < size:
        found.codes[:size] = found.view.codes[:size]
        values[:size] = OUT
    if not (all_pass and all_passed):
        found.codes[rows.index] = codes
    scorer = Scorer(found.state, found.pod)
    in_place = isinstance(passing.index, slice)
    totals = scorer.total(found.pod_scores, passing, values[passing.index] if in_place else None)
    if not found.flat:
        totals += passing.take(found.base)
    for column in found.moving:
        raw = column.raw[passing.index] = scorer.raw(column.scores.entry, passing)
        totals += column.weighted_rows(raw, column.highest)
    if not in_place:
        values[passing.index] = totals
    found.maxima.rebuild(size)
    found.usable &= scorer.sound
    for column in found.moving if all_pass and all_passed else found.normalized:
        column.recount(passing)


def worth(found: PodClass) -> Column | None:
    """What each row is worth to a class, whatever it knows: the sum of the scores that are not normalised;
    the code, negative, of a row that is rejected, any number below 0 if the view rejects it. O(rows).

    ``None`` if all are rejected, or plugins cannot tell it by columns.
    """
    if not found.columnar or any(entry.score_rows is None for entry in found.pod_scores):
        return None
    table, rows = found.table, found.table.rows()
    codes = _judged(found, rows)
    passing = rows.select(codes == 0) if np.count_nonzero(codes) else rows
    values: Column = np.full(table.size, -1, np.int64)
    values[rows.index] = -np.abs(codes)
    scorer = Scorer(found.state, found.pod)
    values[passing.index] = scorer.total(found.pod_scores, passing)
    found.usable &= scorer.sound
    return values if found.usable and int(values.max(initial=-1)) >= 0 else None


def known_worth(found: PodClass) -> Column | None:
    """As :func:`worth`, of a class whose columns are up to date."""
    codes, size = found.codes[: found.table.size], found.table.size
    values = np.where(codes == 0, found.maxima.values[:size] - found.base[:size], -np.abs(codes))
    return values if int(values.max(initial=-1)) >= 0 else None


def _judged(found: PodClass, rows: Rows) -> npt.NDArray[np.int32]:
    """The code of each row; a fresh array."""
    codes = rows.take(found.view.codes).copy()
    entries = [entry for entry, _ in found.pod_filters]
    answers = ask_all(entries, found.parts.order, found.state, found.pod, rows)
    if answers:
        numbering = found.numbering
        verdicts = Verdicts(rows, codes, numbering.statuses, numbering.numbers)
        places = numbering.places_of(codes)
        for answer in answers:
            merge(answer, verdicts, places)
        found.usable &= numbering.register()
    return codes


def refresh_touched(found: PodClass, positions: Positions, *, counting: bool) -> None:
    """Judge and score the rows at *positions*, whatever they were before; *counting*: as in ``refresh``."""
    codes, before = found.codes, found.codes[positions]
    if counting:
        for column in found.moving:
            column.count_rows(positions[before == 0], -1)
    for code, count in enumerate(np.bincount(before + 1)[1:].tolist()):
        found.count(code, -count)
    codes[positions] = found.view.codes[positions]
    found.maxima.values[positions] = OUT
    passing = judge(found, Rows.ascending(found.table, positions[codes[positions] >= 0]))
    if not found.usable:
        return
    score(found, passing)
    if counting:
        _count_moves(found, positions, before)
        for column in found.moving:
            column.count_rows(passing.positions, 1)
    found.maxima.rebuild(found.table.size)


def _count_moves(found: PodClass, positions: Positions, before: Codes) -> None:
    """Raw scores of the view for rows that were feasible and are not, or the other way round."""
    now, then = found.codes[positions] == 0, before == 0
    if (now == then).all():
        return
    for column in found.normalized[: len(found.view.normalized)]:
        column.count_rows(positions[then & ~now], -1)
        column.count_rows(positions[now & ~then], 1)


def judge(found: PodClass, rows: Rows) -> Rows:
    """What all say of rows whose codes are those of the view, and that are not counted so far; the rows that
    pass.
    """
    numbering = found.numbering
    codes = rows.take(found.codes)
    verdicts = Verdicts(rows, codes, numbering.statuses, numbering.numbers)
    places = numbering.places_of(codes)
    for entry, place in found.pod_filters:
        ask(entry, place, found.state, found.pod, verdicts, places)
    if not numbering.register():
        found.usable = False
    if not codes.any():
        found.count(0, len(codes))
        return rows
    found.codes[rows.index] = codes
    for code, count in enumerate(np.bincount(codes).tolist()):
        found.count(code, count)
    return rows.select(codes == 0)


def score(found: PodClass, rows: Rows) -> None:
    """Totals of feasible rows, by the highest raw scores of the last totals."""
    scorer = Scorer(found.state, found.pod)
    totals = scorer.total(found.pod_scores, rows)
    totals += rows.take(found.base)
    for column in found.moving:
        raw = column.raw[rows.index] = scorer.raw(column.scores.entry, rows)
        totals += column.weighted_rows(raw, column.highest)
    found.maxima.values[rows.index] = totals
    if not scorer.sound:
        found.usable = False
