"""Where the operations of a workload happen: a cluster, its scheduler, and what goes on meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from time import perf_counter_ns, process_time_ns
from typing import Any

from attrs import define, field

from ...api import Namespace, ObjectMeta, Pod
from ...cluster import InMemoryCluster, WatchEvent
from ...cycle import Scheduler
from ...errors import SchedframeError
from ..clock import SkippingClock
from ..memory import settle
from ..workload import Measured, Progress

TIMEOUT = 600.0
"""Seconds of the scheduler's clock without a placement after which scheduler_perf gives up too."""


class StalledError(SchedframeError):
    """Pods that the workload waits for are not scheduled, and nothing will change that."""


class NotDeliveredError(SchedframeError):
    """The workload needs something that this release does not have."""


@define(eq=False)
class Pace:
    """Something that is done again and again, at an interval in seconds."""

    interval: float
    act: Callable[[], bool]
    """Do it once; False if that was the last time."""
    due: float


@define(eq=False)
class Collection:
    """Which pods count, and how many were placed so far."""

    namespaces: frozenset[str]
    """All if empty."""
    labels: Mapping[str, str]
    placed: int = 0
    created: int = 0

    def counts(self, pod: Pod) -> bool:
        """Whether *pod* is one of those that are measured."""
        return (not self.namespaces or pod.namespace in self.namespaces) and has_labels(pod, self.labels)


def has_labels(pod: Pod, labels: Mapping[str, str]) -> bool:
    """Whether the pod has all of *labels*."""
    there = pod.labels
    return all(there.get(key) == value for key, value in labels.items())


@define(eq=False)
class Stage:
    """Carries out waits: schedules pods, and lets happen what is due meanwhile. Idle time is skipped."""

    cluster: InMemoryCluster
    scheduler: Scheduler
    clock: SkippingClock
    progress: Progress
    measured: Measured = field(factory=Measured)
    waited: int = 0
    """Nanoseconds of ``measured.elapsed`` in which there was nothing to do."""
    collection: Collection | None = None
    """Of the pods that are measured at present, or were last."""
    collecting: bool = False
    pending: dict[str, Pod] = field(factory=dict)
    """Pods without a node, by key."""
    _awaited: set[str] = field(factory=set)
    _paces: list[Pace] = field(factory=list)
    _next_due: float | None = None
    _last_placed: float = 0.0
    _counter: int = 0

    def __attrs_post_init__(self) -> None:
        self.cluster.watch(self._on_pod, ("Pod",))

    # ---- what operations do ------------------------------------------------------------------------------

    def create(self, objects: Iterable[Any]) -> list[str]:
        """Put *objects* into the cluster; their keys."""
        return [self.cluster.create(obj).key for obj in objects]

    def number(self) -> int:
        """Another one each time, for names."""
        self._counter += 1
        return self._counter

    def ensure_namespace(self, name: str) -> None:
        """Create the namespace unless it is there."""
        if self.cluster.get("Namespace", name) is None:
            self.cluster.create(Namespace(ObjectMeta(name)))

    def collect(self, namespaces: Iterable[str], labels: Mapping[str, str]) -> None:
        """From now on count and time what is placed."""
        self.collection = Collection(frozenset(namespaces), labels)
        self.collecting = True

    def stop_collecting(self) -> None:
        """That was it."""
        self.collecting = False

    def begin(self, interval: float, act: Callable[[], bool]) -> Pace:
        """Do *act* every *interval* seconds from now on, whenever a wait gets to it."""
        pace = Pace(interval, act, self.clock.now() + interval)
        self._paces.append(pace)
        self._next_due = min(pace.due for pace in self._paces)
        return pace

    def finish(self, pace: Pace) -> None:
        """Wait until the pace has come to its end."""
        self._drive(lambda: pace not in self._paces, "an operation to finish")

    def await_pods(self, keys: Iterable[str]) -> None:
        """Wait until these pods are scheduled, or gone; :class:`StalledError` if they never are."""
        awaited = self._awaited = {key for key in keys if key in self.pending}
        self._drive(lambda: not awaited, "pods to be scheduled")

    def steady(self, next_batch: Callable[[], Iterable[str]], seconds: float) -> None:
        """For so long, as soon as all pods of a batch are scheduled, go on to the next one.

        What *next_batch* does, which gives the keys of its pods, counts as well.
        """
        end = self.clock.now() + seconds

        def done() -> bool:
            if not self._awaited:
                if self.clock.now() >= end:
                    return True
                self._awaited = {key for key in next_batch() if key in self.pending}
            return False

        self._drive(done, "pods to be scheduled")

    def attempt_all(self) -> None:
        """Wait until every pod was tried once, and the queue is empty."""
        self._drive(None, "pods to be attempted")

    def pass_time(self, seconds: float) -> None:
        """Let the scheduler run for so long."""
        end = self.clock.now() + seconds
        self.begin(seconds, lambda: False)
        self._drive(lambda: self.clock.now() >= end, "time to pass")

    # ---- the loop ----------------------------------------------------------------------------------------

    def _drive(self, done: Callable[[], bool] | None, what: str) -> None:
        """Schedule until *done*, or until nothing is ready any more; on the clock while collecting."""
        if not self.collecting:
            self._loop(done, what)
            return
        with ExitStack() as around:
            with self.clock.stopped():
                around.enter_context(settle())
            skipped = self.clock.skipped
            cpu, started = process_time_ns(), perf_counter_ns()
            try:
                self._loop(done, what)
            finally:
                self.measured.cpu += process_time_ns() - cpu
                waited = self.clock.skipped - skipped
                self.waited += waited
                self.measured.elapsed += perf_counter_ns() - started + waited

    def _loop(self, done: Callable[[], bool] | None, what: str) -> None:
        scheduler, now, attempts = self.scheduler, self.clock.now, self.measured.attempts
        self._last_placed = now()
        scheduler.sync()
        while done is None or not done():
            if self._next_due is not None and now() >= self._next_due:
                self._act()
            before = perf_counter_ns()
            if scheduler.schedule_one() is not None:
                if self.collecting:
                    attempts.append(perf_counter_ns() - before)
            elif done is None:
                break
            elif not done():
                self._skip(what)

    def _skip(self, what: str) -> None:
        """Nothing is ready: on to the next moment at which something happens."""
        moments = [m for m in (self._next_due, self.scheduler.next_deadline()) if m is not None]
        if not moments or min(moments) - self._last_placed > TIMEOUT:
            raise StalledError(f"waiting for {what}, but {len(self._awaited)} of them never will be")
        self.clock.skip_to(min(moments))

    def _act(self) -> None:
        """Do what is due. What was missed is not made up for, as with a ticker of Go."""
        now = self.clock.now()
        for pace in list(self._paces):
            if pace.due <= now:
                pace.due = max(pace.due + pace.interval, now)
                if not pace.act():
                    self._paces.remove(pace)
        self._next_due = min((pace.due for pace in self._paces), default=None)

    def _on_pod(self, event: WatchEvent) -> None:
        old: Any = event.old
        new: Any = event.new
        if new is None:
            self.pending.pop(old.key, None)
            self._awaited.discard(old.key)
        elif not new.spec.node_name:
            if event.type == "ADDED" and self.collecting and self.collection and self.collection.counts(new):
                self.collection.created += 1
            self.pending[new.key] = new
        elif self.pending.pop(new.key, None) is not None:
            self._awaited.discard(new.key)
            self._last_placed = self.clock.now()
            if self.collecting and self.collection is not None and self.collection.counts(new):
                self.collection.placed += 1
