"""Merge the rejections of a node by several filters, for profiles that run all filters."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record
from .results import RowVerdicts
from .status import Code, Status
from .verdicts import Verdicts

_PRECEDENCE: Final = (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING, Code.UNSCHEDULABLE)
"""Of two rejections, the code that comes first here is that of both."""


@record(frozen=True, weakref_slot=False)
class MergedStatus(Status):
    """The rejection of a node by several plugins; ``plugin`` is the one whose code it has."""

    parts: tuple[Status, ...] = field(default=(), eq=False, kw_only=True)
    """The rejection of each plugin, in the order of the calls."""

    __hash__ = Status.__hash__


def merged(first: Status, second: Status) -> Status:
    """Return one status with the reasons of both, and the code and plugin of the one that takes precedence.

    An error takes precedence over any rejection and stays alone; a rejection that preemption cannot help
    takes precedence over one that it can. Of equal ones *first* does.
    """
    if first.code is Code.ERROR:
        return first
    return second if second.code is Code.ERROR else _merged_rejection(first, second)


def parts_of(status: Status) -> tuple[Status, ...]:
    """Return the rejections that *status* was merged from, each with its plugin; *status* itself if none."""
    return status.parts if isinstance(status, MergedStatus) else (status,)


@lru_cache(maxsize=4096)
def _merged_rejection(first: Status, second: Status) -> Status:
    leading = min(first, second, key=lambda status: _PRECEDENCE.index(status.code))
    return MergedStatus(
        leading.code,
        first.reasons + second.reasons,
        leading.plugin,
        details={**(first.details or {}), **(second.details or {})} or None,
        parts=parts_of(first) + parts_of(second),
    )


def merge_all(verdicts: Verdicts, plugin: str, answer: RowVerdicts) -> None:
    """Merge the answer of *plugin* into *verdicts*, also for rows that are rejected already; O(rows)."""
    hit = answer.codes.nonzero()[0]
    pairs: npt.NDArray[np.int64] = (
        verdicts.codes[hit] * np.int64(len(answer.statuses) + 1) + answer.codes[hit]
    )
    distinct, inverse = np.unique(pairs, return_inverse=True)
    numbers = []
    for pair in distinct.tolist():
        before, code = divmod(pair, len(answer.statuses) + 1)
        status = answer.statuses[code - 1].with_plugin(plugin)
        if before:
            status = merged(verdicts.statuses[before - 1], status)
        numbers.append(verdicts.number_of(status))
    verdicts.codes[hit] = np.array(numbers, np.int32)[inverse]
