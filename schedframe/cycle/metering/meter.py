"""What is counted while pods are scheduled: cheap appends on the path of a pod, sums only when read.

Any thread may read; apart from the calls of plugins, only the core adds. Durations are of the machine, the
age of a pod and its wait in permit are of the scheduler's clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from struct import Struct
from threading import Lock
from time import perf_counter
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ...cluster import WatchEvent
from ...framework import Framework, PostFilterResult, Status
from ...framework.preemption import Preemption
from ...queue import EventResource, QueuedPodInfo, resource_of
from ...queue.counting import QueueCounts
from ..binding.attempt import Attempt
from ..latency import BATCH, Histogram, Histograms
from ..outcomes import AttemptResult
from ..runtime.clock import Clock, SystemClock
from ..runtime.inbox import SamplingInbox
from . import catalogue
from .gaps import random_gap_of_events
from .plugin_calls import POINT_OF_HOOK, SUCCESS, CallCounts, RunHistogram, SampledCalls
from .reloads import ReloadCounts

_ACTIONS: Final = {"ADDED": "Add", "MODIFIED": "Update", "DELETED": "Delete"}
_FIGURES: Final = Struct("5d")
"""What is kept of a bound pod: when it was popped, searched for, passed to bind, bound, and when it came."""
_KEPT: Final = 16 * BATCH * _FIGURES.size
"""Bytes of figures that are counted together, 320 KiB: a fourth of it costs 0.1 µs more for each pod."""
_packed: Final = _FIGURES.pack
LAST_LABEL: Final = "15+"
"""Label of pods with that number of attempts or more, as in kube-scheduler."""
_MOST_ATTEMPTS: Final = int(LAST_LABEL[:-1])


def _attempt_histogram() -> Histogram:
    return Histogram(catalogue.ATTEMPT_SECONDS.bounds)


@define(eq=False)
class ProfileMeter:
    """Counts of one profile."""

    scheduled: Histogram = field(factory=_attempt_histogram)
    unschedulable: Histogram = field(factory=_attempt_histogram)
    failed: Histogram = field(factory=_attempt_histogram)
    search: Histogram = field(factory=lambda: Histogram(catalogue.SEARCH_SECONDS.bounds))
    pod_seconds: Histograms = field(factory=lambda: Histograms(catalogue.POD_SECONDS.bounds))
    """By label of the number of attempts."""
    attempts: Counter[int] = field(factory=Counter)
    """Number of attempts → pods that were bound with as many."""
    rejections: Counter[str] = field(factory=Counter)
    """Plugin → attempts that it rejected."""
    after_flush: int = 0
    points: Histograms = field(factory=lambda: Histograms(catalogue.POINT_SECONDS.bounds))
    """By extension point and status."""
    passed: dict[str, Histogram] = field(factory=dict)
    """Those of ``points`` with success, by extension point as profiles name it."""
    calls: SampledCalls = field(factory=lambda: SampledCalls(CallCounts(catalogue.CALL_SECONDS.bounds)))
    offset: float = 0.0
    """Seconds of ``perf_counter`` at 0 of the times at which pods came."""
    lock: Lock = field(factory=Lock, init=False)
    """Held while figures of bound pods are counted."""

    def runs(self) -> Iterator[tuple[tuple[str, str], Histogram]]:
        """Yield the measured runs of extension points by point and status, which may come more than once."""
        yield from list(self.points.items())
        yield from self.calls.counts.runs()

    def point_ended(self, point: str, seconds: float, status: Status | None) -> None:
        """Count a run of an extension point."""
        if status is None:
            durations = self.passed.get(point)
            if durations is None:
                durations = self.passed[point] = self.points[point_label(point), SUCCESS]
        else:
            durations = self.points[point_label(point), status.code.label]
        durations.add(seconds)

    def count_ages(self, ages: npt.NDArray[np.float64], attempts: int) -> None:
        """Count pods that were bound in that number of attempts, with the time that each waited in all."""
        self.attempts[attempts] += len(ages)
        self.pod_seconds[str(attempts) if attempts < _MOST_ATTEMPTS else LAST_LABEL].add_all(ages)


@define(eq=False)
class BoundPods:
    """The pods that one framework bound: their figures are appended one by one and counted together."""

    counts: ProfileMeter
    """Of its profile."""
    binds: RunHistogram
    """Successful calls of its only bind plugin."""
    new: bytearray = field(factory=bytearray, init=False)
    """Figures, not counted yet, of pods that were bound in their first attempt."""
    _others: dict[tuple[int, bool], bytearray] = field(factory=dict, init=False)
    """Those of other pods: (attempts, whether the timeout caused the last one) → figures."""

    def others(self, info: QueuedPodInfo) -> bytearray:
        """Return the figures of pods with the history of *info*."""
        return self._others.setdefault((info.attempts, info.flushed), bytearray())

    def fold_if_full(self) -> None:
        """Count the figures that are kept if there are many. O(1) amortised."""
        if len(self.new) + sum(map(len, self._others.values())) >= _KEPT:
            self.fold()

    def fold(self) -> None:
        """Count the figures that are kept. O(pods bound since the last time). Any thread."""
        with self.counts.lock:
            self._count(self.new, 1, False)
            for (attempts, flushed), new in list(self._others.items()):
                self._count(new, attempts, flushed)

    def _count(self, new: bytearray, attempts: int, flushed: bool) -> None:
        size = len(new)  # whole pods: the figures of a pod are appended at once
        if not size:
            return
        kept = new[:size]
        del new[:size]
        started, searched, bind_started, ended, entered = np.frombuffer(kept).reshape(-1, 5).T
        counts = self.counts
        counts.scheduled.add_all(ended - started)
        counts.search.add_all(searched - started)
        counts.count_ages(np.maximum(ended - counts.offset - entered, 0), attempts)
        if flushed:
            counts.after_flush += len(ended)
        timed = bind_started > 0
        if timed.any():
            self.binds.add_all((ended - bind_started)[timed])


def point_label(point: str) -> str:
    """Return an extension point as metrics name it: ``PreFilter`` for ``preFilter``."""
    return point[0].upper() + point[1:]


@define(eq=False)
class Meter:
    """Counts of one scheduler."""

    clock: Clock
    since: float = field(init=False)
    """When counting began, in seconds of the scheduler's clock."""
    profiles: dict[str, ProfileMeter] = field(factory=dict)
    """By scheduler name."""
    queue: QueueCounts = field(init=False)
    inbox: SamplingInbox = field(factory=lambda: SamplingInbox(gap=random_gap_of_events))
    """The inbox of the scheduler: some events are measured."""
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
    record: Callable[[object, Attempt, float, float], None] = field(init=False)
    """``record(_, attempt, bind_started, ended)`` counts an attempt that bound its pod. O(1) amortised.
    Any thread if ``counts_in_threads``, else the core's."""
    _bound: dict[Framework, BoundPods] = field(factory=dict)
    _offset: float | None = field(init=False)
    """Seconds of ``perf_counter`` at 0 of the scheduler's clock, if the machine moves both; else ``None``."""

    def __attrs_post_init__(self) -> None:
        self.since = self.clock()
        self._offset = perf_counter() - self.since if isinstance(self.clock, SystemClock) else None
        self.queue = QueueCounts(self._hint_ended)
        self.record = self._recorder()

    def of_profile(self, profile: str) -> ProfileMeter:
        """Return the counts of that profile."""
        counts = self.profiles.get(profile)
        if counts is None:  # setdefault alone would make the histograms of a profile at each call
            counts = self.profiles.setdefault(profile, ProfileMeter(offset=self._offset or 0.0))
        return counts

    def add_framework(self, framework: Framework) -> None:
        """Count the attempts that *framework* makes from now on."""
        counts = self.of_profile(framework.profile_name)
        binder = next(iter(framework.plan.bind), None)
        series = counts.calls.counts.of("" if binder is None else binder.name, POINT_OF_HOOK["bind"])
        self._bound[framework] = BoundPods(counts, series.runs_with(SUCCESS))

    def remove_framework(self, framework: Framework) -> None:
        """Forget a framework that makes no attempt any more; what it did stays counted."""
        bound = self._bound.pop(framework, None)
        if bound is not None:
            bound.fold()

    def _hint_ended(self, plugin: str, event: str, answer: str, seconds: float) -> None:
        self.hints[plugin, event, answer].add(seconds)

    @property
    def counts_in_threads(self) -> bool:
        """Whether any thread may ``record``."""
        return self._offset is not None

    def _recorder(self) -> Callable[[object, Attempt, float, float], None]:
        """Return ``record``: a closure, which reads its names faster than a method reads attributes."""
        bound_by, clock, machine_time = self._bound, self.clock, self._offset is not None

        def record(_: object, attempt: Attempt, bind_started: float, ended: float) -> None:
            info, own = attempt.info, bound_by[attempt.framework]
            entered = info.initial_attempt
            if not machine_time:
                assert entered is not None  # it was in the active pool
                entered = ended - (clock() - entered)
            new = own.new if info.attempts == 1 and not info.flushed else own.others(info)
            new += _packed(attempt.started, attempt.searched, bind_started, ended, entered)
            attempt.started = 0.0

        return record

    def bound(self, attempt: Attempt) -> None:
        """Count an attempt that bound its pod, if its task did not."""
        started = attempt.started
        self.record(None, attempt, attempt.bind_started, attempt.ended or perf_counter())
        attempt.started = started  # observers read it

    def binding_call_ended(
        self, framework: Framework, hook: str, plugin: str, seconds: float, status: Status | None
    ) -> None:
        """Count a call of pre_bind or bind. Any thread."""
        series = self.of_profile(framework.profile_name).calls.counts.of(plugin, POINT_OF_HOOK[hook])
        series.runs_with(SUCCESS if status is None else status.code.label).add(seconds)

    def failed(self, attempt: Attempt, result: AttemptResult, rejected_by: tuple[str, ...]) -> None:
        """Count an attempt that did not bind its pod, and the plugins that rejected it."""
        counts = self.profiles[attempt.framework.profile_name]
        counts.search.add(attempt.searched - attempt.started)
        durations = counts.unschedulable if result is AttemptResult.UNSCHEDULABLE else counts.failed
        durations.add(perf_counter() - attempt.started)
        counts.rejections.update(rejected_by)

    def group_ended(self, framework: Framework, result: str, seconds: float) -> None:
        """Count an attempt for a pod group."""
        self.groups[result, framework.profile_name].add(seconds)

    def fold(self) -> None:
        """Count all pods that were bound so far. Any thread."""
        for bound in list(self._bound.values()):
            bound.fold()

    def permit_ended(self, status: Status | None, seconds: float) -> None:
        """Count a wait in permit; ``None``: the pod was allowed."""
        self.permits[SUCCESS if status is None else status.code.label].add(seconds)

    def write_ended(self, call: str, failed: bool, seconds: float) -> None:
        """Count a write to the cluster."""
        self.writes[call, "error" if failed else "success"].add(seconds)

    def post_filter_ended(self, result: PostFilterResult | None) -> None:
        """Count a run of post_filter, and its victims if it was a preemption that found some."""
        self.preemption_attempts += 1
        details = None if result is None else result.details
        if isinstance(details, Preemption) and details.chosen is not None:
            self.victims.add(len(details.chosen.victims))

    def timed(self, handle: Callable[[WatchEvent], None]) -> Callable[[WatchEvent], None]:
        """Return *handle* for events that are measured. The core's thread only."""
        known: dict[tuple[str, str, bool, bool], Histogram] = {}

        def timed(event: WatchEvent) -> None:
            start = perf_counter()
            handle(event)
            seconds = perf_counter() - start
            for bound in self._bound.values():
                bound.fold_if_full()  # here, so that it costs nothing for each pod
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
