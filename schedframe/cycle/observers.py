"""The observers of one scheduler, compiled: for each event what to call, ``None`` where nothing is.

A call site tests one local, so an event without observers costs that. Observers are contained: what they
raise is reported with their names, and changes nothing for any pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from attrs import field

from .._base.plugin_faults import plugin_faults
from .._base.value import record
from ..framework import Status
from ..framework.hook_calls import Guard, LoopGuard
from ..framework.observing import PointTimer
from ..queue.counting import QueueCounts
from .messages import Fault, Message
from .observer import SchedulerObserver
from .runtime.inbox import Inbox
from .sampled_calls import SampledCycles, TimedCalls

_Call = Callable[..., None]
EVENTS: Final = (
    *("attempt_began", "decided", "cycle_ended", "permit_ended", "attempt_ended", "group_ended"),
    *("passed_over", "plugin_called", "point_ended", "post_filter_ended"),
    *("write_ended", "reloaded", "faulted", "began", "closed"),
)
"""Methods of :class:`SchedulerObserver` that are events."""
_OF_ATTEMPTS: Final = (
    "attempt_began",
    "decided",
    "cycle_ended",
    "permit_ended",
    "attempt_ended",
    "group_ended",
)


@record(eq=False)
class Observers:
    """Calls to make at each event; see :class:`SchedulerObserver`."""

    attempt_began: _Call | None = None
    decided: _Call | None = None
    cycle_ended: _Call | None = None
    permit_ended: _Call | None = None
    attempt_ended: _Call | None = None
    group_ended: _Call | None = None
    passed_over: _Call | None = None
    plugin_called: _Call | None = None
    point_ended: _Call | None = None
    post_filter_ended: _Call | None = None
    write_ended: _Call | None = None
    reloaded: _Call | None = None
    faulted: _Call | None = None
    began: _Call | None = None
    closed: _Call | None = None
    begin_cycle: Callable[[], None] | None = None
    """Chooses whether calls are sampled in the cycle that begins."""
    each_attempt: bool = False
    """Whether an observer must see an attempt of each pod."""
    _attached: list[_Contained] = field(factory=list, init=False)
    _cycles: dict[int, SampledCycles] = field(factory=dict, init=False)
    """By mean."""

    def attach(self, core: Any, observers: Iterable[SchedulerObserver]) -> None:
        """Let *observers* follow the scheduler with the state *core*. Once, before its plugins are made."""
        for each in observers:
            self._attached.append(_Contained(each.attach(core), type(each).__name__, core.inbox))
        for event in EVENTS:
            calls = [each.call_of(event) for each in self._attached if each.overrides(event)]
            setattr(self, event, _one(calls))
        self.each_attempt = any(each.observer.each_attempt for each in self._attached)

    @property
    def follow_attempts(self) -> bool:
        """Return whether attempts are timed: an observer sees them, or chooses cycles whose calls it sees."""
        return self.begin_cycle is not None or any(getattr(self, event) is not None for event in _OF_ATTEMPTS)

    def find(self, kind: type[SchedulerObserver]) -> SchedulerObserver | None:
        """Return the first observer of that class."""
        return next((each.observer for each in self._attached if isinstance(each.observer, kind)), None)

    def cycles_of(self, mean: int) -> SampledCycles:
        """Return the sampling of one cycle in *mean*, which observers share."""
        if mean not in self._cycles:
            self._cycles[mean] = SampledCycles(mean)
            self.begin_cycle = _one([each.begin for each in self._cycles.values() if each.mean > 1])
        return self._cycles[mean]

    # ---- what is compiled into plans, the queue and the inbox --------------------------------------------

    def guards_of(self, profile: str) -> list[Guard]:
        """Return what wraps the calls of plugins in *profile*, those that see loops as one outermost."""
        found: list[Guard] = []
        for each in self._attached:
            guard = each.observer.guard_of(profile)
            if guard is not None:
                found.append(guard)
            if each.overrides("plugin_called"):
                cycles = self.cycles_of(each.observer.cycles_per_sample)
                found.append(TimedCalls(profile, each.call_of("plugin_called"), cycles))
        return sorted(found, key=lambda guard: isinstance(guard, LoopGuard))

    def timer_of(self, profile: str) -> PointTimer | None:
        """Return what to call with each run of an extension point in *profile*."""
        return None if self.point_ended is None else partial(self.point_ended, profile)

    @property
    def queue_counts(self) -> QueueCounts | None:
        """Counts of the first observer that has some."""
        counts = (each.observer.queue_counts for each in self._attached)
        return next((each for each in counts if each is not None), None)

    def event_handler(self, handle: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return *handle* as all observers wrap it."""
        for each in self._attached:
            handle = each.observer.event_handler(handle)
        return handle


@record(eq=False)
class _Contained:
    """An observer whose exceptions are reported, once for each method."""

    observer: SchedulerObserver
    name: str
    inbox: Inbox[Message]
    is_off: bool = False
    """Whether it is not called any more."""
    _failed: set[str] = field(factory=set, init=False)
    """Methods that raised."""

    def overrides(self, event: str) -> bool:
        """Return whether the observer takes that event."""
        return getattr(type(self.observer), event) is not getattr(SchedulerObserver, event)

    def call_of(self, event: str) -> _Call:
        """Return the method for *event*, without its exceptions. Any thread."""
        call = getattr(self.observer, event)

        def contained(*arguments: Any) -> None:
            try:
                call(*arguments)
            except BaseException as error:  # noqa: BLE001 - observing must not change what happens
                self._report(event, error)

        def contained_pair(one: Any, other: Any) -> None:
            try:
                call(one, other)
            except BaseException as error:  # noqa: BLE001 - as above
                self._report(event, error)

        def until_fault(*arguments: Any) -> None:
            if not self.is_off:
                contained(*arguments)

        if not self.observer.continues_after_fault:
            return until_fault
        # It happens to each pod, and a call with a list of arguments takes twice as long.
        return contained_pair if event == "attempt_ended" else contained

    def _report(self, event: str, error: BaseException) -> None:
        if not isinstance(error, plugin_faults()):
            self.inbox.interrupt(error)  # as Ctrl-C: raised at the end of the step
            return
        self.is_off = not self.observer.continues_after_fault
        # Not each one: there may be hundreds of calls for a pod.
        if event not in self._failed:
            self._failed.add(event)
            status = Status.from_error(error).with_plugin(f"{self.name}.{event}")
            self.inbox.put(Fault(status, None, "observer"))


def _one(calls: Sequence[_Call]) -> _Call | None:
    """Return *calls* as one, ``None`` if there are none."""
    if len(calls) < 2:
        return calls[0] if calls else None

    def each(*arguments: Any) -> None:
        for call in calls:
            call(*arguments)

    return each
