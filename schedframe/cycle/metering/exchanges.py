"""Instrumentation of a plan, switched on and off: timed calls take the place of the calls of plugins.

Between two cycles the calls of a plan are either all plain or all timed: plain from its addition to the next
switch, and after its removal. Otherwise calls would be missing in the histograms, or be timed in all cycles.
A wrapper that stays and tests a flag would take 0.2 µs of each call, 4 % of the time of a pod with required
spreading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from ...framework.hook_calls import Call
from ...framework.plan import Plan

_POINTS: Final = ("pre_filter", "post_filter", "pre_score", "reserve", "unreserve", "permit", "post_bind")
"""Fields of a plan with entries of that hook."""


class Exchange(NamedTuple):
    """One call of a plan, plain and timed."""

    place: Callable[[Any, Call], None]
    """Sets the call of an entry: the slot of its class, in a third of the time of ``object.__setattr__``."""
    entry: Any
    plain: Call
    timed: Call


def exchanges(plan: Plan, timed: Callable[[Call, str, str], Call]) -> tuple[Exchange, ...]:
    """Return the exchanges for *plan*; ``timed(call, hook, plugin)`` returns the timed form of a call."""
    return tuple(
        Exchange(getattr(type(entry), field).__set__, entry, plain, timed(plain, hook, entry.name))
        for entry, field, hook in _calls(plan)
        if (plain := getattr(entry, field)) is not None
    )


def switch(exchanges: Iterable[Exchange], *, timed: bool) -> None:
    """Set the timed calls, or the plain ones, in the plan."""
    # An entry is frozen, since it must not get other plugins; both calls do the same.
    for place, entry, plain, timed_call in exchanges:
        place(entry, timed_call if timed else plain)


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
