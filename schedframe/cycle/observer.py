"""Observer of a scheduler: one base class, whose methods do nothing.

:mod:`.observing` calls only the methods that an observer overrides. docs/explanation/observers.md lists what
is made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.wording import unknown_keyword
from ..api import Pod
from ..cluster import WatchEvent
from ..framework import PostFilterResult, Status
from ..framework.hook_calls import Guard
from ..queue import QueuedPodInfo
from ..queue.counting import QueueCounts
from .binding.attempt import Attempt
from .outcomes import AttemptOutcome, GroupAttempt, PassedOver
from .search.decision import Decision


class SchedulerObserver:
    """Override what you want to see: ``Scheduler(cluster, observers=[MyObserver()])``.

    What is not overridden costs nothing. Methods run in the thread of the scheduler, ``plugin_called`` of
    pre_bind and bind in any thread. What a method raises is reported as a fault with the name of the
    observer, once for each method, and changes nothing for any pod.
    """

    each_attempt: bool = False
    """Whether it must see an attempt of each pod: then no pods wait together, see ``passed_over``."""
    cycles_per_sample: int = 1
    """``plugin_called`` is called in one of that many scheduling cycles, drawn at random; 1: in all."""
    continues_after_fault: bool = True
    """Whether it goes on being called after one of its methods raised."""

    # ---- attempts ----------------------------------------------------------------------------------------

    def attempt_began(self, profile: str, info: QueuedPodInfo, started: float) -> None:
        """A pod was popped at *started* (``perf_counter``); members of a group: once their search is over."""

    def decided(self, profile: str, info: QueuedPodInfo, decision: Decision) -> None:
        """The search for a node is over, and nothing was done about it: the cluster is as it was searched."""

    def cycle_ended(self, attempt: Attempt) -> None:
        """The scheduling cycle of a pod is over; it may wait in permit or be binding now."""

    def permit_ended(self, attempt: Attempt, status: Status | None, seconds: float) -> None:
        """The wait in permit is over, after *seconds* of the clock; ``None``: the pod was allowed."""

    def attempt_ended(self, attempt: Attempt, outcome: AttemptOutcome) -> None:
        """An attempt ended, binding included."""

    def group_ended(self, attempt: GroupAttempt) -> None:
        """An attempt for a pod group ended; those of its members are attempts of their own."""

    def passed_over(self, passed: PassedOver) -> None:
        """Equal pods wait together for what an attempt for one of them has shown.

        Once for each class when its reason or number of pods changed, and not for each pod; while
        :meth:`Scheduler.run` is at work, at most once a second.
        """

    # ---- plugins -----------------------------------------------------------------------------------------

    def plugin_called(self, profile: str, hook: str, plugin: str, seconds: float, result: Any) -> None:
        """*plugin* returned *result* after *seconds*, or raised it. Answers from a cache are no calls."""

    def point_ended(self, profile: str, point: str, seconds: float, status: Status | None) -> None:
        """All plugins at an extension point took *seconds*; ``None`` is success.

        *point* is named as in profiles: those in the core from preFilter to permit, and postBind. preBind and
        bind are seen as calls of plugins.
        """

    def post_filter_ended(self, pod: Pod, result: PostFilterResult | None) -> None:
        """post_filter ran for *pod*; *result* says which room it makes, if any."""

    # ---- the rest ----------------------------------------------------------------------------------------

    def write_ended(self, call: str, failed: bool, seconds: float) -> None:
        """A status was written to the cluster off the core."""

    def reloaded(self, accepted: bool) -> None:
        """Another configuration was given, and accepted or refused. Any thread."""

    def faulted(self, status: Status, pod: Pod | None) -> None:
        """A fault of a plugin, of the cluster or of an observer was logged; *pod*: the one it is about."""

    def began(self) -> None:
        """The scheduler begins to follow the cluster."""

    def closed(self) -> None:
        """The scheduler was closed."""

    # ---- for observers that keep something for each scheduler --------------------------------------------

    def attach(self, core: Any) -> SchedulerObserver:
        """Return the observer of one scheduler, by default this object; called once, before all others.

        *core* is the state of the scheduler, which may change with any version.
        """
        return self

    def guard_of(self, profile: str) -> Guard | None:
        """Return what wraps the calls of plugins in *profile*; ``None``: nothing.

        For observers that have to act before a call as well. What a guard raises counts as the plugin's.
        """
        return None

    @property
    def queue_counts(self) -> QueueCounts | None:
        """Counts that the queue adds to; ``None``: it counts nothing."""
        return None

    def event_handler(self, handle: Callable[[WatchEvent], None]) -> Callable[[WatchEvent], None]:
        """Return *handle*, which takes in one event of the cluster, or a function that does the same."""
        return handle


def observing(**methods: Callable[..., object]) -> SchedulerObserver:
    """Return an observer made of functions, by method: ``observing(faulted=print)``.

    Raises :class:`TypeError` for a method that observers do not have, with a similar one.
    """
    known = [name for name in vars(SchedulerObserver) if callable(getattr(SchedulerObserver, name))]
    for name in methods:
        if name not in known:
            raise unknown_keyword("observers have no method", name, known)
    body = {name: staticmethod(function) for name, function in methods.items()}
    made: SchedulerObserver = type("observing", (SchedulerObserver,), body)()
    return made
