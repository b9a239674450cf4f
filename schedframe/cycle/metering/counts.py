"""Counts while pods are scheduled: appends on the path of a pod, sums only when read.

Any thread may read; apart from pre_bind, bind and reloads, only the core adds. Durations are of the machine,
the age of a pod and its wait in permit are of the scheduler's clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Lock
from time import perf_counter
from typing import Final, Self

from attrs import field
from typing_extensions import override

from ..._base.value import record
from ...api import Pod
from ...cluster import WatchEvent
from ...errors import InputError
from ...framework import PostFilterResult, Status
from ...framework.preemption import Preemption
from ...queue import EventResource, resource_of
from ...queue.counting import QueueCounts
from ..binding.attempt import Attempt
from ..core import Core
from ..latency import Histogram, Histograms
from ..observer import SchedulerObserver
from ..outcomes import BOUND, AttemptOutcome, AttemptResult, GroupAttempt
from ..sampled_calls import SampledCycles, random_gap
from . import catalogue
from .calls import SAMPLED, SUCCESS, PluginCalls

MOST_ATTEMPTS: Final = 15
"""Pods with that many attempts or more share a label, as in kube-scheduler."""
EVENTS_FOR_EACH_MEASURED: Final = 100
"""Events for each one that is measured, on the average; to measure one takes 2 µs."""
FOLDED: Final = 5
"""Measured events for each look at all series, which takes 20 µs, as long as a pod of ``basic`` does."""
ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"
_ACTIONS: Final = {"ADDED": "Add", "MODIFIED": "Update", "DELETED": "Delete"}


def _attempt_histogram() -> Histogram:
    return Histogram(catalogue.ATTEMPT_SECONDS.bounds)


@record(eq=False)
class ProfileMeter:
    """Counts of one profile."""

    cycles: SampledCycles
    """In which the calls of plugins are timed; of all profiles."""
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
        """Return the histograms that only :meth:`Counts.fold_if_full` keeps short."""
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
class Counts(SchedulerObserver):
    """Counts of one scheduler, from when it is attached."""

    cycles_per_sample: int = SAMPLED
    since: float = field(default=0.0, init=False)
    """When counting began, in seconds of the scheduler's clock."""
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
    core: Core = field(init=False)
    """The scheduler that is counted."""
    is_attached: bool = field(default=False, init=False)
    _until_fold: int = field(default=FOLDED, init=False)

    @override
    def attach(self, core: Core) -> Self:
        if self.is_attached and self.core.frameworks:  # else its plugins could not be made
            raise InputError("observers", "this meter counts for another scheduler", "make one for each")
        self.core, self.since, self.is_attached = core, core.clock(), True
        first = core.observers.find(Counts)
        if isinstance(first, Counts):  # a queue has one timer of hints
            self.queue, self.hints = first.queue, first.hints
        else:
            self.queue = QueueCounts(lambda *labels: self.hints[labels].add)
        return self

    @override
    def guard_of(self, profile: str) -> PluginCalls:
        return self.of_profile(profile).calls

    @property
    @override
    def queue_counts(self) -> QueueCounts:
        return self.queue

    def of_profile(self, profile: str) -> ProfileMeter:
        """Return the counts of that profile, which outlive its frameworks. Core only."""
        if profile not in self.profiles:
            self.profiles[profile] = ProfileMeter(self.core.observers.cycles_of(self.cycles_per_sample))
        return self.profiles[profile]

    def fold_if_full(self) -> None:
        """Count the durations of pods that were bound, where there are many. O(series)."""
        for profile in list(self.profiles.values()):
            for durations in profile.appended():
                durations.fold_if_full()

    # ---- attempts ----------------------------------------------------------------------------------------

    @override
    def attempt_ended(self, attempt: Attempt, outcome: AttemptOutcome) -> None:
        info, counts = attempt.info, self.profiles[attempt.framework.profile.scheduler_name]
        if outcome is not BOUND:
            counts.search.add(attempt.searched - attempt.started)
            rejected = outcome.result is AttemptResult.UNSCHEDULABLE
            (counts.unschedulable if rejected else counts.failed).add(attempt.ended - attempt.started)
            for plugin in outcome.plugins:
                counts.rejections[plugin] += 1
            return
        number, entered, started = info.attempts, info.initial_attempt, attempt.started
        assert entered is not None  # it was in the active pool
        if number >= MOST_ATTEMPTS:
            counts.many_attempts[number] += 1
            number = MOST_ATTEMPTS
        counts.scheduled.append(attempt.ended - started)
        counts.search.append(attempt.searched - started)
        counts.pod_seconds[number].append(self.core.now - entered)
        if info.flushed:
            counts.after_flush += 1

    @override
    def group_ended(self, attempt: GroupAttempt) -> None:
        if not attempt.result:
            return
        self.groups[attempt.result, attempt.profile].add(attempt.seconds)
        if attempt.search_seconds is not None:
            self.group_searches.add(attempt.search_seconds)

    @override
    def permit_ended(self, attempt: Attempt, status: Status | None, seconds: float) -> None:
        self.permits[SUCCESS if status is None else status.code.label].add(seconds)

    @override
    def point_ended(self, profile: str, point: str, seconds: float, status: Status | None) -> None:
        self.profiles[profile].point_ended(point, seconds, status)

    @override
    def post_filter_ended(self, pod: Pod, result: PostFilterResult | None) -> None:
        self.preemption_attempts += 1
        details = None if result is None else result.details
        if isinstance(details, Preemption) and details.chosen is not None:
            self.victims.add(len(details.chosen.victims))

    # ---- the cluster -------------------------------------------------------------------------------------

    @override
    def write_ended(self, call: str, failed: bool, seconds: float) -> None:
        self.writes[call, "error" if failed else "success"].add(seconds)

    @override
    def reloaded(self, accepted: bool) -> None:
        self.reloads.add(accepted=accepted)

    @override
    def event_handler(self, handle: Callable[[WatchEvent], None]) -> Callable[[WatchEvent], None]:
        """Return a function that handles events by *handle*, and times some, the first one included."""
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
            self._until_fold -= 1
            if not self._until_fold:  # here, and not where pods are bound: each of them has an event
                self._until_fold = FOLDED
                self.fold_if_full()

        return timed


def _event_label(event: WatchEvent) -> str:
    """Return the label of *event* as in kube-scheduler, where a pod that gets its node is an addition."""
    if event.kind != "Pod":
        return f"{resource_of(event.kind)}{_ACTIONS[event.type]}"
    before, after = (each is not None and bool(each.spec.node_name) for each in (event.old, event.new))
    change = "ADDED" if event.type == "MODIFIED" and after and not before else event.type
    resource = EventResource.ASSIGNED_POD if before or after else EventResource.UNSCHEDULABLE_POD
    return f"{resource}{_ACTIONS[change]}"
