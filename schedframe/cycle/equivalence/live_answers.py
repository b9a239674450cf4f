"""What filter plugins that are asked for every pod add to what is remembered of its class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from ...api import Pod
from ...framework import Code, CycleState, RowVerdicts, Verdicts
from ...framework.filtering import ask_columnar, rejections
from ...framework.plan import FilterEntry
from ...state import Rows

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@frozen
class Answer:
    """What one plugin says of many rows; it rejects some of them."""

    entry: FilterEntry
    place: int
    """Of the plugin in the profile."""
    verdicts: RowVerdicts

    @property
    def fails(self) -> bool:
        """Whether an error is among the statuses."""
        return any(status.code is Code.ERROR for status in self.verdicts.statuses)


def ask_all(
    entries: Sequence[FilterEntry], order: dict[str, int], state: CycleState, pod: Pod, rows: Rows
) -> list[Answer]:
    """What plugins with a columnar form say of *rows*; those that let all pass are left out.

    One that fails or talks nonsense rejects the rows that this concerns with an error.
    """
    answers = []
    for entry in entries:
        found = ask_columnar(entry, state, pod, rows)
        if found is None:
            continue
        answers.append(Answer(entry, order[entry.name], found))
    return answers


def passing(codes: npt.NDArray[np.int32], rejecting: bool, answers: Sequence[Answer]) -> Mask:
    """The rows that nobody rejects; *codes* are 0 where no remembered plugin does, everywhere unless
    *rejecting*.
    """
    mask: Mask | None = codes == 0 if rejecting else None
    for answer in answers:
        passed: Mask = answer.verdicts.codes == 0
        mask = passed if mask is None else np.logical_and(mask, passed, out=mask)
    assert mask is not None, "somebody rejects something"
    return mask


def merge(answer: Answer, verdicts: Verdicts, places: Places) -> None:
    """Let *answer* reject the rows that no plugin before it in the profile rejects.

    *places* is the place of the plugin that rejects each row so far, large where none does; kept up to date.
    """
    codes, statuses = answer.verdicts.codes, answer.verdicts.statuses
    chosen = ((codes != 0) & (places > answer.place)).nonzero()[0]
    if len(chosen):
        numbers = [0, *(verdicts.number_of(status.with_plugin(answer.entry.name)) for status in statuses)]
        verdicts.codes[chosen] = np.array(numbers, np.int32)[codes[chosen]]
        places[chosen] = answer.place


def ask(
    entry: FilterEntry, place: int, state: CycleState, pod: Pod, verdicts: Verdicts, places: Places
) -> None:
    """Ask one plugin and merge what it says; *place* is its place in the profile.

    A plugin without columnar form is called for exactly the rows that the plugins before it let pass.
    """
    rows = verdicts.rows
    if entry.filter_rows is not None:
        for answer in ask_all((entry,), {entry.name: place}, state, pod, rows):
            merge(answer, verdicts, places)
        return
    positions = (places > place).nonzero()[0]
    numbers = rows.positions[positions].tolist()
    for index, status in rejections(entry, state, pod, rows.table, numbers):
        position = int(positions[index])
        verdicts.reject(position, status)
        places[position] = place
