"""Instrumentation of a plan, switched on and off: timed calls take the place of the calls of plugins.

Between two cycles the calls of a plan are either all plain or all timed: plain from its addition to the next
switch, and after its removal. Otherwise calls would be missing in the histograms, or be timed in all cycles.
A wrapper that stays and tests a flag would take 0.2 µs of each call, 4 % of the time of a pod with required
spreading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from attrs import frozen

from ...framework.hook_calls import Call
from ...framework.plan import Plan

_POINTS: Final = ("pre_filter", "post_filter", "pre_score", "reserve", "unreserve", "permit", "post_bind")
"""Fields of a plan with entries of that hook."""


@frozen
class Exchange:
    """One call of a plan, plain and timed."""

    entry: Any
    field: str
    """Where the entry has the call."""
    plain: Call
    measured: Call

    def use(self, *, measured: bool) -> None:
        """Set the timed call, or the plain one, in the plan."""
        # An entry is frozen, since it must not get other plugins; both calls do the same.
        object.__setattr__(self.entry, self.field, self.measured if measured else self.plain)


def exchanges(plan: Plan, measured: Callable[[Call, str, str], Call]) -> tuple[Exchange, ...]:
    """Return the exchanges for *plan*; ``measured(call, hook, plugin)`` returns the timed form of a call."""
    return tuple(
        Exchange(entry, field, plain, measured(plain, hook, entry.name))
        for entry, field, hook in _calls(plan)
        if (plain := getattr(entry, field)) is not None
    )


def _calls(plan: Plan) -> Iterator[tuple[Any, str, str]]:
    """Yield entries of *plan* with the name of a field that may have a call, and its hook."""
    for hook in _POINTS:
        for entry in getattr(plan, hook):
            yield entry, "call", hook
    for entry in plan.pre_flight.values():
        yield entry, "call", "pre_bind_pre_flight"
    for hooks in plan.pod_hooks:
        yield hooks, "add_pod", "add_pod"
        yield hooks, "remove_pod", "remove_pod"
    for score in plan.score:
        if score.normalization is None:  # else the framework normalises, not the plugin
            yield score, "normalize", "normalize_scores"
