"""Calls of plugins that are timed in some cycles: which cycles, and the wrappers.

Which cycles are sampled is drawn at random, so that no pattern in the order of pods hides a slow call.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from time import perf_counter
from typing import Any, Final

from attrs import field

from .._base.plugin_faults import plugin_faults
from .._base.value import record
from ..framework.hook_calls import Call

draw: Final = Random().random
"""Apart from the scheduler's generator, whose draws are the same with and without observers."""
Ended = Callable[[float, Any], object]
"""Called with the seconds of a call and its answer, or what it raised."""


def random_gap(mean: int) -> int:
    """Return a number from 1 to 2 * *mean* - 1."""
    return 1 + int(draw() * (2 * mean - 1))


@record(eq=False)
class SampledCycles:
    """Sampling of scheduling cycles: one in *mean*. The core's thread writes, others may read."""

    mean: int
    now: bool = field(init=False)
    """Whether the cycle under way, or the last one, is sampled."""
    _left: int = field(init=False)
    """Cycles up to the next one that is sampled; at least 1 between cycles."""

    def __attrs_post_init__(self) -> None:
        self.now, self._left = self.mean == 1, random_gap(self.mean)

    def begin(self) -> None:
        """Choose whether the cycle that begins is sampled."""
        self._left -= 1
        self.now = not self._left
        if self.now:
            self._left = random_gap(self.mean)


def timed(call: Call, ended: Ended) -> Call:
    """Return a function that does what *call* does, and times it."""

    def timed(*arguments: Any) -> Any:
        start = perf_counter()
        try:
            answer = call(*arguments)
        except plugin_faults() as error:
            ended(perf_counter() - start, error)
            raise
        ended(perf_counter() - start, answer)
        return answer

    return timed


def sampled(call: Call, timed: Call, cycles: SampledCycles) -> Call:
    """Return a function that calls *timed* in sampled cycles, and *call* in the others."""
    if cycles.mean == 1:
        return timed

    def sampled(*arguments: Any) -> Any:
        return timed(*arguments) if cycles.now else call(*arguments)

    return sampled


@record(eq=False)
class TimedCalls:
    """The calls of one profile for an observer; a :class:`~schedframe.framework.hook_calls.Guard`."""

    profile: str
    called: Callable[[str, str, str, float, Any], object]
    """See :meth:`.SchedulerObserver.plugin_called`."""
    cycles: SampledCycles

    def guarded(self, call: Call, hook: str, plugin: str) -> Call:
        """Return a function that does what *call* does; the observer is called with it in sampled cycles."""
        called, profile = self.called, self.profile

        def ended(seconds: float, result: Any) -> None:
            called(profile, hook, plugin, seconds, result)

        return sampled(call, timed(call, ended), self.cycles)
