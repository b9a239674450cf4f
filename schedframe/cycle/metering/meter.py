"""What is counted while pods are scheduled: appends on the path of a pod, sums only when read.

Any thread may read; apart from pre_bind, bind and reloads, only the core adds. Durations are of the machine,
the age of a pod and its wait in permit are of the scheduler's clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Set
from threading import Lock
from time import perf_counter
from typing import Final

from attrs import field

from ..._base.value import record
from ...cluster import WatchEvent
from ...framework import Framework, PostFilterResult, Status
from ...framework.preemption import Preemption
from ...queue import EventResource, resource_of
from ...queue.counting import QueueCounts
from ..binding.attempt import Attempt
from ..latency import Histogram, Histograms
from ..runtime.clock import Clock
from . import catalogue
from .calls import SUCCESS, MeasuredCycles, PluginCalls, random_gap

MOST_ATTEMPTS: Final = 15
"""Pods with that many attempts or more share a label, as in kube-scheduler."""
EVENTS_FOR_EACH_MEASURED: Final = 100
"""Events for each one that is measured, on the average; to measure one takes 2 µs."""
ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"
_ACTIONS: Final = {"ADDED": "Add", "MODIFIED": "Update", "DELETED": "Delete"}


def _attempt_histogram() -> Histogram:
    return Histogram(catalogue.ATTEMPT_SECONDS.bounds)


@record(eq=False)
class ProfileMeter:
    """Counts of one profile; a :class:`~schedframe.framework.observing.PointTimer`."""

    cycles: MeasuredCycles
    """In which the calls of plugins are measured; of all profiles."""
    scheduled: Histogram = field(factory=_attempt_histogram)
    unschedulable: Histogram = field(factory=_attempt_histogram)
    failed: Histogram = field(factory=_attempt_histogram)
    search: Histogram = field(factory=lambda: Histogram(catalogue.SEARCH_SECONDS.bounds))
    pod_seconds: Histograms = field(factory=lambda: Histograms(catalogue.POD_SECONDS.bounds))
    """By number of attempts, at most :data:`MOST_ATTEMPTS`."""
    many_attempts: Counter[int] = field(factory=Counter)
    """Number of attempts, at least :data:`MOST_ATTEMPTS` → pods that were bound with as many."""
    rejections: Counter[str] = field(factory=Counter)
    """Plugin → attempts that it rejected."""
    after_flush: int = 0
    points: Histograms = field(factory=lambda: Histograms(catalogue.POINT_SECONDS.bounds))
    """Runs by extension point and status."""
    calls: PluginCalls = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.calls = PluginCalls(self.cycles, self.points)

    def appended(self) -> list[Histogram]:
        """Return the histograms that only :meth:`Meter.fold_if_full` keeps short."""
        binds = [self.points[point, SUCCESS] for point in ("PreBind", "Bind")]
        calls = [each.durations[SUCCESS] for each in list(self.calls.series.values())]
        return [self.scheduled, self.search, *list(self.pod_seconds.values()), *binds, *calls]

    def attempts(self) -> Counter[int]:
        """Return number of attempts → pods that were bound with as many. Any thread."""
        few = {n: each.count for n, each in list(self.pod_seconds.items()) if n < MOST_ATTEMPTS}
        return Counter(few | dict(self.many_attempts))

    def point_ended(self, point: str, seconds: float, status: Status | None) -> None:
        """Count a run of an extension point."""
        label = SUCCESS if status is None else status.code.label
        self.points[point[0].upper() + point[1:], label].add(seconds)


@record(eq=False)
class ReloadCounts:
    """Reloads of the configuration, which any thread counts."""

    by_result: Counter[str] = field(factory=lambda: Counter({ACCEPTED: 0, REFUSED: 0}))
    last_accepted: bool = True
    """Whether the last configuration that was given is in use; the first one is."""
    _lock: Lock = field(factory=Lock, init=False)

    def add(self, *, accepted: bool) -> None:
        """Count a reload."""
        with self._lock:
            self.by_result[ACCEPTED if accepted else REFUSED] += 1
            self.last_accepted = accepted


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

    def __attrs_post_init__(self) -> None:
        self.since = self.clock()
        self.queue = QueueCounts(lambda *labels: self.hints[labels].add)
        self.cycles.fold = self.fold_if_full

    def of_profile(self, profile: str) -> ProfileMeter:
        """Return the counts of that profile, which outlive its frameworks. Core only."""
        if profile not in self.profiles:
            self.profiles[profile] = ProfileMeter(self.cycles)
        return self.profiles[profile]

    def fold_if_full(self) -> None:
        """Count the durations of pods that were bound, where there are many. O(series)."""
        for profile in list(self.profiles.values()):
            for durations in profile.appended():
                durations.fold_if_full()

    # ---- attempts ----------------------------------------------------------------------------------------

    def bound(self, attempt: Attempt, now: float) -> None:
        """Count an attempt that bound its pod, at *now* of the scheduler's clock."""
        info, counts = attempt.info, self.profiles[attempt.framework.profile.scheduler_name]
        number, entered, started = info.attempts, info.initial_attempt, attempt.started
        assert entered is not None  # it was in the active pool
        if number >= MOST_ATTEMPTS:
            counts.many_attempts[number] += 1
            number = MOST_ATTEMPTS
        counts.scheduled.append(attempt.ended - started)
        counts.search.append(attempt.searched - started)
        counts.pod_seconds[number].append(now - entered)
        if info.flushed:
            counts.after_flush += 1

    def failed(self, attempt: Attempt, rejected: bool, plugins: Set[str]) -> None:
        """Count an attempt that did not bind its pod; *plugins* rejected it, if it was *rejected*."""
        counts, started = self.profiles[attempt.framework.profile.scheduler_name], attempt.started
        counts.search.add(attempt.searched - started)
        (counts.unschedulable if rejected else counts.failed).add(perf_counter() - started)
        for plugin in plugins:
            counts.rejections[plugin] += 1

    def group_ended(self, framework: Framework, result: str, seconds: float) -> None:
        """Count an attempt for a pod group."""
        self.groups[result, framework.profile_name].add(seconds)

    def permit_ended(self, status: Status | None, seconds: float) -> None:
        """Count a wait in permit; ``None``: the pod was allowed."""
        self.permits[SUCCESS if status is None else status.code.label].add(seconds)

    def post_filter_ended(self, result: PostFilterResult | None) -> None:
        """Count a run of post_filter, and its victims if it was a preemption that found some."""
        self.preemption_attempts += 1
        details = None if result is None else result.details
        if isinstance(details, Preemption) and details.chosen is not None:
            self.victims.add(len(details.chosen.victims))

    # ---- the cluster -------------------------------------------------------------------------------------

    def write_ended(self, call: str, failed: bool, seconds: float) -> None:
        """Count a write to the cluster."""
        self.writes[call, "error" if failed else "success"].add(seconds)

    def timed(self, handle: Callable[[WatchEvent], None]) -> Callable[[WatchEvent], None]:
        """Return a function that handles events by *handle*, and measures some, the first one included."""
        left = 1

        def timed(event: WatchEvent) -> None:
            nonlocal left
            left -= 1
            if left:
                handle(event)
                return
            left = random_gap(EVENTS_FOR_EACH_MEASURED)
            start = perf_counter()
            handle(event)
            self.events[_event_label(event)].add(perf_counter() - start)

        return timed


def _event_label(event: WatchEvent) -> str:
    """Return the label of *event* as in kube-scheduler, where a pod that gets its node is an addition."""
    if event.kind != "Pod":
        return f"{resource_of(event.kind)}{_ACTIONS[event.type]}"
    before, after = (each is not None and bool(each.spec.node_name) for each in (event.old, event.new))
    change = "ADDED" if event.type == "MODIFIED" and after and not before else event.type
    resource = EventResource.ASSIGNED_POD if before or after else EventResource.UNSCHEDULABLE_POD
    return f"{resource}{_ACTIONS[change]}"
