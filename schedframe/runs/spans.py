"""Spans of time between events: pods on nodes (stints), pods that wait, nodes that are up."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import Final

import numpy as np

from .._base.value import record
from ..traces.columns import Array, ColumnTable, Ints

NEVER: Final = np.iinfo(np.int64).max
_LOW_BITS: Final = 20


class RunEvent(IntEnum):
    """Kind of an event in a run."""

    SUBMITTED = 0
    """A pod arrives."""
    STARTED = 1
    """It gets a node."""
    ENDED = 2
    """It ran to its end."""
    PREEMPTED = 3
    """It gives way to a pod of higher priority, and waits again."""
    LOST = 4
    """Its node failed; it waits again."""
    DRAINED = 5
    """Its node was drained; it waits again."""
    REJECTED = 6
    """It was dropped, since it fitted nowhere."""
    NODE_JOINED = 7
    """A node takes pods from now on."""
    NODE_DRAINED = 8
    """A node leaves after its pods were evicted."""
    NODE_FAILED = 9
    """A node is lost."""
    NODE_REPAIRED = 10
    """A node is back."""


EVICTIONS: Final = (RunEvent.PREEMPTED, RunEvent.LOST, RunEvent.DRAINED)


@record(frozen=True, eq=False)
class Spans:
    """Spans of entities: from an event that opens one to the next event of the entity that closes it."""

    entity: Array
    start: Ints
    stop: Ints
    """The end of the run for spans that are open then."""
    opened: Array
    """Row of the event that opens the span."""
    closed: Array
    """Row of the event that closes the span; −1 if it is open at the end of the run."""

    def __len__(self) -> int:
        return len(self.start)

    def within(self, start: int, stop: int) -> Ints:
        """Return the length of each span in a window, 0 outside of it."""
        result: Ints = np.maximum(np.minimum(self.stop, stop) - np.maximum(self.start, start), 0)
        return result

    def stops(self) -> Ints:
        """Return when each span stops; never for those that are open at the end of the run."""
        result: Ints = np.where(self.closed < 0, NEVER, self.stop)
        return result

    def most(self, start: int, stop: int) -> int:
        """Return the largest number of spans that are open at the end of an instant in a window."""
        times, steps = _steps(self)
        level = np.cumsum(steps)
        first = int(np.searchsorted(times, start, "right")) - 1
        last = int(np.searchsorted(times, stop, "left"))
        before = int(level[first]) if first >= 0 else 0
        return max(before, int(level[first + 1 : last].max(initial=0)))

    def open_at(self, times: Ints) -> Ints:
        """Return how many spans are open at the end of each instant."""
        started = np.searchsorted(np.sort(self.start), times, "right")
        stopped = np.searchsorted(np.sort(self.stops()), times, "right")
        result: Ints = (started - stopped).astype(np.int64)
        return result


def spans(
    events: ColumnTable, column: str, opening: Collection[int], closing: Collection[int], end: int
) -> Spans:
    """Return the spans of the entities in a *column* of events. O(events log events)."""
    kind = events["event"]
    is_opening = np.isin(kind, list(opening))
    rows = np.flatnonzero((is_opening | np.isin(kind, list(closing))) & (events[column] >= 0))
    rows = rows[np.argsort(events[column][rows], kind="stable")]
    entity = events[column][rows]
    at = np.flatnonzero(is_opening[rows])
    behind = np.minimum(at + 1, len(rows) - 1)
    has_next = (at + 1 < len(rows)) & (entity[behind] == entity[at])
    time = events["time"][rows]
    return Spans(
        entity[at],
        time[at],
        np.where(has_next, time[behind], end),
        rows[at],
        np.where(has_next, rows[behind], -1),
    )


def sums_by(keys: Array, values: Ints, count: int) -> list[int]:
    """Return the exact sum of *values* for each key below *count*, in Python's integers."""
    high, low = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.add.at(high, keys, values >> _LOW_BITS)
    np.add.at(low, keys, values & ((1 << _LOW_BITS) - 1))
    return [(h << _LOW_BITS) + each for h, each in zip(high.tolist(), low.tolist(), strict=True)]


def _steps(each: Spans) -> tuple[Ints, Ints]:
    """Return instants, and by how much the number of open spans changes in them."""
    moments = np.concatenate([each.start, each.stops()])
    steps = np.concatenate([np.ones(len(each), np.int64), -np.ones(len(each), np.int64)])
    times, place = np.unique(moments, return_inverse=True)
    total = np.zeros(len(times), np.int64)
    np.add.at(total, place, steps)
    return times, total
