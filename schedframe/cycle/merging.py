"""Let filter plugins reject rows that no plugin before them in the profile rejects."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..api import Pod
from ..framework import CycleState, RowVerdicts, Status, Verdicts
from ..framework.filtering import filter_node
from ..framework.plan import FilterEntry

Places = npt.NDArray[np.int64]


def ask(
    entry: FilterEntry, place: int, state: CycleState, pod: Pod, verdicts: Verdicts, places: Places
) -> None:
    """Merge what one plugin says into *verdicts*.

    *place* is the plugin's place in the profile, *places* that of the plugin which rejects each row so far
    (large where none does); both are brought up to date. A plugin without columnar form is called for
    exactly the rows that the plugins before it let pass. A plugin that fails gives an ERROR status.
    """
    rows = verdicts.rows
    if entry.filter_rows is None:
        for position in (places > place).nonzero()[0].tolist():
            row = int(rows.positions[position])
            status = filter_node(entry, state, pod, rows.table.info(row), rows.table)
            if status is not None:
                verdicts.reject(position, status)
                places[position] = place
        return
    answer: Any
    try:
        answer = entry.filter_rows(state, pod, rows)
    except Exception as error:  # noqa: BLE001 - an ERROR sends the pod the long way, where it is reported
        answer = RowVerdicts(np.ones(len(rows), np.int8), (Status.from_error(error, entry.name),))
    if answer is None:
        return
    chosen = ((answer.codes != 0) & (places > place)).nonzero()[0]
    if len(chosen):
        numbers = [0, *(verdicts.number_of(status.with_plugin(entry.name)) for status in answer.statuses)]
        verdicts.codes[chosen] = np.array(numbers, np.int32)[answer.codes[chosen]]
        places[chosen] = place
