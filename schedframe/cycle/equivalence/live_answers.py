"""Merge the answers of filter plugins: of several rejections of a row the first in the profile counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...api import Pod
from ...framework import Code, CycleState, RowVerdicts, Verdicts
from ...framework.filtering import call_columnar, rejections
from ...framework.plan import FilterEntry
from ...state import Rows

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


Answers = list[tuple[str, RowVerdicts]]
"""What plugins say of many rows, some of which each of them rejects."""


def run_columnar_filters(entries: Sequence[FilterEntry], state: CycleState, pod: Pod, rows: Rows) -> Answers:
    """Return the answers of plugins with a columnar form about *rows*, without those that let all pass.

    A plugin that raises, or gives an invalid answer, rejects the rows concerned with an error.
    """
    answers = [(entry.name, call_columnar(entry, state, pod, rows)) for entry in entries]
    return [(name, verdicts) for name, verdicts in answers if verdicts is not None]


def failed(answers: Answers) -> bool:
    """Return whether an error is among the statuses."""
    return any(status.code is Code.ERROR for _, verdicts in answers for status in verdicts.statuses)


def passing(codes: npt.NDArray[np.int32], rejecting: bool, answers: Answers) -> Mask:
    """Return the rows that no plugin rejects.

    *codes*: 0 where no cached plugin rejects the row, which is everywhere unless *rejecting*.
    """
    mask: Mask | None = codes == 0 if rejecting else None
    for _, verdicts in answers:
        passed: Mask = verdicts.codes == 0
        mask = passed if mask is None else np.logical_and(mask, passed, out=mask)
    assert mask is not None, "without rejections all rows pass"
    return mask


def merge_answer(
    plugin: str, order: int, answer: RowVerdicts, verdicts: Verdicts, positions: Positions
) -> None:
    """Let *answer* reject the rows that no plugin before *plugin* in the profile rejects.

    *order*: its position there; *positions*, kept up to date: that of the plugin which rejects a row so far.
    """
    chosen = ((answer.codes != 0) & (positions > order)).nonzero()[0]
    if len(chosen):
        numbers = [0, *(verdicts.number_of(status.with_plugin(plugin)) for status in answer.statuses)]
        verdicts.codes[chosen] = np.array(numbers, np.int32)[answer.codes[chosen]]
        positions[chosen] = order


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
        answer = call_columnar(entry, state, pod, rows)
        if answer is not None:
            merge_answer(entry.name, order, answer, verdicts, positions)
        return
    waiting = positions > order
    passed = (waiting if decided is None else waiting & ~decided).nonzero()[0]
    for index, status in rejections(entry, state, pod, rows.table, rows.positions[passed].tolist()):
        position = int(passed[index])
        verdicts.reject(position, status)
        positions[position] = order
