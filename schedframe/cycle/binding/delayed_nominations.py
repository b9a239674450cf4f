"""Nominations of pods that are being bound: kept back, because most pods are bound a moment later.

A nomination shows other planners, and the next scheduler, where a pod is going to be while a volume is made
for it or its group is gathered. The bind clears it, so the nomination of a pod that is bound soon only costs
requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from attrs import evolve, field

from ..._base.value import record
from .attempt import Attempt, Phase


@record(frozen=True, eq=False)
class DelayedNomination:
    """The node of one attempt, not written yet."""

    attempt: Attempt
    plugin: str
    """The first plugin that the pod waits for."""
    due: float
    """Seconds of the clock."""
    is_last: bool = False
    """Whether it was put off once because bind had begun."""


@record(eq=False)
class DelayedNominations:
    """Nominations in the order in which they are due. Each operation is amortized O(1)."""

    delay: float = 0.0
    """Seconds; 0: they are written at once."""
    is_timed: bool = False
    """Whether a call at the time of the first one was asked for."""
    _later: deque[DelayedNomination] = field(factory=deque)

    def add(self, attempt: Attempt, plugin: str, now: float) -> None:
        """Keep the nomination back until :attr:`delay` seconds from *now*."""
        self._later.append(DelayedNomination(attempt, plugin, now + self.delay))

    def due(self, now: float, is_under_way: Callable[[Attempt], bool]) -> Iterator[DelayedNomination]:
        """Take out, one by one, those that are due and whose attempt is under way.

        Those of ended attempts are dropped, also before they are due. One whose bind has begun is put off
        once: the answer may come any moment.
        """
        later = self._later
        while later:
            first = later[0]
            if not is_under_way(first.attempt):
                later.popleft()
                continue
            if first.due > now:
                return
            later.popleft()
            if first.attempt.phase is Phase.BINDING and not first.is_last:
                later.append(evolve(first, due=now + self.delay, is_last=True))
            else:
                yield first

    def take_all(self, is_under_way: Callable[[Attempt], bool]) -> list[DelayedNomination]:
        """Take out all those whose attempt is under way; the others are dropped."""
        later = [each for each in self._later if is_under_way(each.attempt)]
        self._later.clear()
        return later

    def next_deadline(self) -> float | None:
        """Return when the first one is due, ``None`` if there is none."""
        return self._later[0].due if self._later else None
