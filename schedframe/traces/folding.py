"""Pods from events: many rows of one pod (submitted, started, ended) become one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._base.value import record
from .columns import Array, Ints
from .trace import FOREVER

SUBMIT, START, END = 1, 2, 3
"""Codes of events."""
_NEVER = np.iinfo(np.int64).max


@record(frozen=True, eq=False)
class Folded:
    """Times of the pods, and the row of each that has its requests."""

    rows: Ints
    submit: Ints
    start: Ints
    run: Ints
    treated: Mapping[str, int]


def fold(key: Array, event: Array, time: Ints) -> Folded:
    """Return the pods of events, in the order of their first rows. O(events log events).

    A pod arrives at its first submission and runs from its last start to the first end behind that: earlier
    starts were cut short, and the trace has no more than the last one. Without an end it never ends. Pods
    that never started, or have no submission, are left out.
    """
    kept = (event != 0) & (key >= 0)
    rows = np.flatnonzero(kept)
    order = rows[np.lexsort((rows, event[rows], time[rows], key[rows]))]
    pods, ids = np.unique(key[order], return_inverse=True)
    count, at, what = len(pods), time[order], event[order]
    submitted, started = what == SUBMIT, what == START
    submit = np.full(count, _NEVER)
    np.minimum.at(submit, ids[submitted], at[submitted])
    row = np.full(count, _NEVER)
    first = submitted & (at == submit[ids])
    np.minimum.at(row, ids[first], order[first])
    start = np.full(count, -1, np.int64)
    np.maximum.at(start, ids[started], at[started])
    end = np.full(count, _NEVER)
    ended = (what == END) & (at >= start[ids]) & (start[ids] >= 0)
    np.minimum.at(end, ids[ended], at[ended])
    run = np.where(end == _NEVER, FOREVER, end - start)
    usable = (submit != _NEVER) & (start >= 0)
    starts = np.bincount(ids[started], minlength=count)
    treated = {
        "left out: never submitted": int(np.count_nonzero(submit == _NEVER)),
        "left out: never started": int(np.count_nonzero((submit != _NEVER) & (start < 0))),
        "started several times: the last start counts": int(np.count_nonzero(usable & (starts > 1))),
        "without an end: never end": int(np.count_nonzero(usable & (end == _NEVER))),
    }
    by_row = np.argsort(np.where(usable, row, _NEVER), kind="stable")[: int(np.count_nonzero(usable))]
    return Folded(row[by_row], submit[by_row], start[by_row], run[by_row], treated)
