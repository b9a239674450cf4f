"""What is counted while pods are scheduled: cheap appends on the path of a pod, sums only when read.

Any thread may read; apart from the calls of plugins, only the core adds. Durations are of the machine, the
age of a pod and its wait in permit are of the scheduler's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from time import perf_counter
from typing import Final

from attrs import field

from ..._value import record
from ...cluster import WatchEvent
from ...framework import Framework, PostFilterResult, Status
from ...framework.preemption import Preemption
from ...queue import EventResource, resource_of
from ...queue.counting import QueueCounts
from ..binding.attempt import Attempt
from ..latency import Histogram, Histograms
from ..runtime.clock import Clock
from . import catalogue
from .exchanges import Exchange, switch
from .gaps import MeasuredCycles, random_gap_of_events
from .plugin_calls import SUCCESS
from .profile_meter import ProfileMeter
from .reloads import ReloadCounts

_CHECKED_EACH: Final = 4
"""Switches to measured cycles, and measured events, for each look at all series. A look at some 100 series
takes 20 µs, as long as a pod of ``basic`` does.
"""
_ACTIONS: Final = {"ADDED": "Add", "MODIFIED": "Update", "DELETED": "Delete"}


@record(eq=False)
class Meter:
    """Counts of one scheduler."""

    clock: Clock
    since: float = field(init=False)
    """When counting began, in seconds of the scheduler's clock."""
    cycles: MeasuredCycles = field(factory=MeasuredCycles)
    profiles: dict[str, ProfileMeter] = field(factory=dict)
    """By scheduler name."""
    queue: QueueCounts = field(init=False)
    hints: Histograms = field(factory=lambda: Histograms(catalogue.HINT_SECONDS.bounds))
    """By plugin, event and answer."""
    events: Histograms = field(factory=lambda: Histograms(catalogue.EVENT_SECONDS.bounds))
    permits: Histograms = field(factory=lambda: Histograms(catalogue.PERMIT_SECONDS.bounds))
    """By result."""
    writes: Histograms = field(factory=lambda: Histograms(catalogue.WRITE_SECONDS.bounds))
    """By kind of call and result."""
    victims: Histogram = field(factory=lambda: Histogram(catalogue.VICTIMS.bounds))
    preemption_attempts: int = 0
    groups: Histograms = field(factory=lambda: Histograms(catalogue.GROUP_SECONDS.bounds))
    """Attempts for pod groups by result and profile."""
    group_searches: Histogram = field(factory=lambda: Histogram(catalogue.GROUP_SEARCH_SECONDS.bounds))
    reloads: ReloadCounts = field(factory=ReloadCounts)
    _exchanges: dict[Framework, tuple[Exchange, ...]] = field(factory=dict)
    _until_check: int = 1
    """Times up to the next look at all series."""

    def __attrs_post_init__(self) -> None:
        self.since = self.clock()
        self.cycles.turned = self._turned
        self.queue = QueueCounts(self._hint_timer)

    def of_profile(self, profile: str) -> ProfileMeter:
        """Return the counts of that profile."""
        counts = self.profiles.get(profile)
        if counts is None:  # setdefault alone would make the histograms of a profile at each call
            counts = self.profiles.setdefault(profile, ProfileMeter(self.cycles))
        return counts

    def add_framework(self, framework: Framework) -> None:
        """Count the attempts that *framework* makes from now on."""
        counts, plan = self.of_profile(framework.profile_name), framework.plan
        self._exchanges[framework] = counts.calls.add_plan(plan)

    def remove_framework(self, framework: Framework) -> None:
        """Forget a framework that makes no attempt any more; what it did stays counted."""
        switch(self._exchanges.pop(framework, ()), timed=False)
        self.of_profile(framework.profile_name).calls.remove_plan(framework.plan)

    def _turned(self, measured: bool) -> None:
        for exchanges in list(self._exchanges.values()):
            switch(exchanges, timed=measured)
        if measured:
            self._fold_series()

    def _hint_timer(self, plugin: str, event: str, answer: str) -> Callable[[float], None]:
        return self.hints[plugin, event, answer].later

    def bound(self, attempt: Attempt) -> None:
        """Count an attempt that bound its pod."""
        info, ended = attempt.info, attempt.ended
        assert info.initial_attempt is not None  # it was in the active pool
        counts = self.profiles[attempt.framework.profile_name]
        counts.scheduled.add(ended - attempt.started)
        counts.search.add(attempt.searched - attempt.started)
        counts.pod_bound(self.clock() - info.initial_attempt, info.attempts, info.flushed)

    def failed(self, attempt: Attempt, rejected: bool, plugins: Set[str]) -> None:
        """Count an attempt that did not bind its pod; *plugins* rejected it, if it was *rejected*."""
        counts, started = self.profiles[attempt.framework.profile.scheduler_name], attempt.started
        counts.searched(attempt.searched - started)
        (counts.rejected if rejected else counts.failed.add)(perf_counter() - started)
        for plugin in plugins:
            counts.rejections[plugin] += 1

    def group_ended(self, framework: Framework, result: str, seconds: float) -> None:
        """Count an attempt for a pod group."""
        self.groups[result, framework.profile_name].add(seconds)

    def _fold_series(self) -> None:
        """Each :data:`_CHECKED_EACH` th time count what series have, where that is much."""
        self._until_check -= 1
        if self._until_check:
            return
        self._until_check = _CHECKED_EACH
        for profile in list(self.profiles.values()):
            profile.fold_if_full()
        for durations in list(self.hints.values()):
            durations.fold_if_full()

    def permit_ended(self, status: Status | None, seconds: float) -> None:
        """Count a wait in permit; ``None``: the pod was allowed."""
        self.permits[SUCCESS if status is None else status.code.label].add(seconds)

    def write_ended(self, call: str, failed: bool, seconds: float) -> None:
        """Count a write to the cluster."""
        self.writes[call, "error" if failed else "success"].add(seconds)

    def post_filter_ended(self, result: PostFilterResult | None) -> None:
        """Count a run of post_filter, and its victims if it was a preemption that found some."""
        self.preemption_attempts += 1
        if result is None:
            return
        details = result.details
        if isinstance(details, Preemption) and details.chosen is not None:
            self.victims.add(len(details.chosen.victims))

    def timed(self, handle: Callable[[WatchEvent], None]) -> Callable[[WatchEvent], None]:
        """Return a function that handles events by *handle*, and measures some. The core's thread only."""
        known: dict[tuple[str, str, bool, bool], Histogram] = {}
        left = 1

        def timed(event: WatchEvent) -> None:
            nonlocal left
            left -= 1
            if left:
                handle(event)
                return
            left = random_gap_of_events()
            start = perf_counter()
            handle(event)
            seconds = perf_counter() - start
            self._fold_series()  # here and where cycles turn, so that it costs nothing for each pod
            kind, old, new = event.kind, event.old, event.new
            if kind == "Pod":
                before = old is not None and bool(old.spec.node_name)
                after = new is not None and bool(new.spec.node_name)
                key = (kind, event.type, before, after)
            else:
                key = (kind, event.type, False, False)
            durations = known.get(key)
            if durations is None:
                durations = known[key] = self.events[_event_label(*key)]
            durations.add(seconds)

        return timed


def _event_label(kind: str, change: str, before: bool, after: bool) -> str:
    """Return the label of an event as in kube-scheduler; *before* and *after*: whether the pod has a node."""
    if kind != "Pod":
        return f"{resource_of(kind)}{_ACTIONS[change]}"
    resource = EventResource.ASSIGNED_POD if before or after else EventResource.UNSCHEDULABLE_POD
    return f"{resource}{_ACTIONS['ADDED' if change == 'MODIFIED' and after and not before else change]}"
