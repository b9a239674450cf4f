"""Merge the answers of filter plugins: of several rejections of a row the first in the profile counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from ...api import Pod
from ...framework import Code, CycleState, RowVerdicts, Verdicts
from ...framework.filtering import call_columnar, rejections
from ...framework.plan import FilterEntry
from ...state import Rows

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@frozen
class FilterAnswer:
    """What one plugin says of many rows, some of which it rejects."""

    entry: FilterEntry
    order: int
    """Position of the plugin in the profile."""
    verdicts: RowVerdicts

    @property
    def fails(self) -> bool:
        """Whether an error is among the statuses."""
        return any(status.code is Code.ERROR for status in self.verdicts.statuses)


def run_columnar_filters(
    entries: Sequence[FilterEntry], order: dict[str, int], state: CycleState, pod: Pod, rows: Rows
) -> list[FilterAnswer]:
    """Return the answers of plugins with a columnar form about *rows*, without those that let all pass.

    A plugin that raises, or gives an invalid answer, rejects the rows concerned with an error.
    """
    answers = []
    for entry in entries:
        verdicts = call_columnar(entry, state, pod, rows)
        if verdicts is None:
            continue
        answers.append(FilterAnswer(entry, order[entry.name], verdicts))
    return answers


def passing(codes: npt.NDArray[np.int32], rejecting: bool, answers: Sequence[FilterAnswer]) -> Mask:
    """Return the rows that no plugin rejects.

    *codes*: 0 where no cached plugin rejects the row, which is everywhere unless *rejecting*.
    """
    mask: Mask | None = codes == 0 if rejecting else None
    for answer in answers:
        passed: Mask = answer.verdicts.codes == 0
        mask = passed if mask is None else np.logical_and(mask, passed, out=mask)
    assert mask is not None, "without rejections all rows pass"
    return mask


def merge_answer(answer: FilterAnswer, verdicts: Verdicts, positions: Positions) -> None:
    """Let *answer* reject the rows that no plugin before it in the profile rejects.

    *positions*, kept up to date: by row the position in the profile of the plugin that rejects it so far.
    """
    codes, statuses = answer.verdicts.codes, answer.verdicts.statuses
    chosen = ((codes != 0) & (positions > answer.order)).nonzero()[0]
    if len(chosen):
        numbers = [0, *(verdicts.number_of(status.with_plugin(answer.entry.name)) for status in statuses)]
        verdicts.codes[chosen] = np.array(numbers, np.int32)[codes[chosen]]
        positions[chosen] = answer.order


def run_filter(
    entry: FilterEntry,
    order: int,
    state: CycleState,
    pod: Pod,
    verdicts: Verdicts,
    positions: Positions,
    decided: Mask | None = None,
) -> None:
    """Call one plugin and merge its answer; *order* is its position in the profile.

    A plugin without columnar form is called for exactly the rows that the plugins before it let pass, except
    those that are *decided*.
    """
    rows = verdicts.rows
    if entry.filter_rows is not None:
        for answer in run_columnar_filters((entry,), {entry.name: order}, state, pod, rows):
            merge_answer(answer, verdicts, positions)
        return
    waiting = positions > order
    passed = (waiting if decided is None else waiting & ~decided).nonzero()[0]
    for index, status in rejections(entry, state, pod, rows.table, rows.positions[passed].tolist()):
        position = int(passed[index])
        verdicts.reject(position, status)
        positions[position] = order
