"""Moments of failure: the order of pods that the queue sort plugin does not tell apart.

Pods with an equal sort key leave the queue in the order in which their last attempts failed, and in the order
of their arrival if they have not failed. Numbering every failure would do for that. But pods that fail one
after another in their present order keep it: they share the number of the *moment*, and their places decide.
Those that fail in another order are shifted behind the others, all by the same distance. Only so can pods
wait together: moment and distance are set once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..._base.value import record
from ..queued_pod import QueuedPodInfo

_Order = tuple[int, float, int]
"""What pods have in common that leave the queue in the order of their places."""


def common_order(info: QueuedPodInfo) -> _Order:
    """Return the order of *info* in the queue, without its place."""
    return -info.pod.priority, info.timestamp, info.moment


def keyed_order(sort_key: Callable[[QueuedPodInfo], Any]) -> Callable[[QueuedPodInfo], tuple[Any, ...]]:
    """Return the sort key of the queue: the plugin's, then moment and place."""

    def order(info: QueuedPodInfo) -> tuple[Any, ...]:
        key = sort_key(info)
        then = info.moment, info.place
        # Once for each pod: adding tuples takes half the time of unpacking them.
        return key + then if type(key) is tuple else (key, *then)

    return order


def less_order(
    less: Callable[[QueuedPodInfo, QueuedPodInfo], bool],
) -> Callable[[QueuedPodInfo, QueuedPodInfo], bool]:
    """Return the order of the queue: the plugin's, then by moment and place."""

    def goes_first(one: QueuedPodInfo, other: QueuedPodInfo) -> bool:
        if less(one, other):
            return True
        earlier = (one.moment, one.place) < (other.moment, other.place)
        return earlier and not less(other, one)

    return goes_first


class Moment(NamedTuple):
    """Time at which a pod failed, and its effect on the pod's place."""

    time: float
    number: int
    shift: int
    """To be added to its place."""


@record(eq=False)
class Moments:
    """Numbers the times at which pods fail, and keeps those of one time in the order of their failures.

    *tolerance*: seconds within which failures count as being of one time, that of the first. A real clock
    moves on between two attempts; without tolerance pods of several classes would no longer take turns.
    """

    tolerance: float = 0.0
    cycle: int = 0
    """Number of attempts so far."""
    _time: float = float("-inf")
    number: int = 0
    """Of the last moment; read-only."""
    _highest: int = 0
    """Place of all pods that failed at the present moment, shifted."""
    _order: _Order | None = None
    """Of the last pod that failed, as its place was then."""
    _place: int = 0
    _shift: int = 0

    def of(self, info: QueuedPodInfo, now: float) -> Moment:
        """Return the moment at which *info* fails, given as it was when it was popped. O(1)."""
        return self.of_range(common_order(info), info.place, info.place, now)

    def is_now(self, at: Moment, now: float) -> bool:
        """Return whether pods that fail at *now* do so at that moment. O(1)."""
        return at.number == self.number and 0 <= now - self._time <= self.tolerance

    def of_range(self, order: _Order, first: int, last: int, now: float) -> Moment:
        """As :meth:`of` for pods of one order that fail in turn, with places from *first* to *last*."""
        if not 0 <= now - self._time <= self.tolerance:
            self._time, self._highest, self._shift = now, last, 0
            self.number += 1
        else:
            if order != self._order or first <= self._place:
                self._shift = max(0, self._highest + 1 - first)
            self._highest = max(self._highest, last + self._shift)
        self._order, self._place = order, last
        return Moment(self._time, self.number, self._shift)
