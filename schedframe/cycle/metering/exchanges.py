"""Calls of plugins that are exchanged for measured ones while cycles are measured.

In the other cycles a plan has its plain calls: wrappers that only look whether they are to measure would take
0.2 µs of each call, 4 % of the time of a pod with required spreading.
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
    """One call of a plan."""

    entry: Any
    field: str
    """Where the entry has the call."""
    plain: Call
    measured: Call

    def use(self, *, measured: bool) -> None:
        """Let the plan have the measured call, or the plain one."""
        # Entries are frozen for everybody else: what they call does the same either way.
        object.__setattr__(self.entry, self.field, self.measured if measured else self.plain)


def exchanges(plan: Plan, measured: Callable[[Call, str, str], Call]) -> tuple[Exchange, ...]:
    """Return the exchanges for *plan*; ``measured(call, hook, plugin)`` returns the measured form."""
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
        if score.normalization is None:  # else it is none of the plugin's calls
            yield score, "normalize", "normalize_scores"
