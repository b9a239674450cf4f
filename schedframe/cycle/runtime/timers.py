"""Calls that plugins asked for at a later time, made in the core when it is due."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import field
from sortedcontainers import SortedList

from ..._base.value import record

Action = Callable[[], object]


@record(eq=False)
class Timers:
    """Calls by time, those of one time in the order in which they were asked for; operations are O(log n)."""

    _calls: SortedList[tuple[float, int]] = field(factory=SortedList)
    actions: dict[int, Action] = field(factory=dict)
    """Those that are not due yet, by number; to be looked at only."""
    _count: int = 0

    def add(self, moment: float, action: Action) -> None:
        """Call *action* at *moment*, in seconds of the core's clock."""
        self._count += 1
        self._calls.add((moment, self._count))
        self.actions[self._count] = action

    def next_deadline(self) -> float | None:
        """Return when the next call is due."""
        return self._calls[0][0] if self._calls else None

    def due(self, now: float) -> Iterator[Action]:
        """Take out, one by one, the calls that are due, including those that are added while it runs."""
        while self._calls and self._calls[0][0] <= now:
            _, number = self._calls.pop(0)
            yield self.actions.pop(number)
