"""A pod in the queue, and its view for observers."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Final

from .._base.checked import check_arguments
from .._base.value import record
from ..api import Pod
from ..api._copying import compile_copy
from .together.known_outcomes import PodClass

NO_PLUGINS: frozenset[str] = frozenset()


@lru_cache(maxsize=4096)
def interned(plugins: frozenset[str]) -> frozenset[str]:
    """Return one object for all equal sets: there are few combinations of plugins and many pods."""
    return plugins


def identity(pod: Pod) -> str:
    """Return what identifies a pod: its uid, or its key if it has none."""
    try:
        return pod.metadata.uid or pod.key
    except AttributeError:
        check_arguments(identity, pod)
        raise


class Pool(StrEnum):
    """Place of a pod in the queue."""

    ACTIVE = "active"
    """Next to be popped, in the order of the queue sort plugin."""
    BACKOFF = "backoff"
    """Rejected recently; popped early if no pod is active and the cluster changed since."""
    ERROR_BACKOFF = "error_backoff"
    """Failed by an error recently; never popped early."""
    UNSCHEDULABLE = "unschedulable"
    """Rejected, waiting for an event that may help."""
    GATED = "gated"
    """Held back by a pre_enqueue plugin."""
    IN_FLIGHT = "in_flight"
    """Popped and not yet done: being scheduled, waiting on permit or binding."""


@record(eq=False, weakref_slot=False, init=False)
class QueuedPodInfo:
    """A pod and its history with the scheduler. Times are seconds of the queue's clock.

    The queue owns it until it is popped, the caller of :meth:`PriorityQueue.pop` after that. About 400 bytes
    in a queue, the pod itself not counted.
    """

    pod: Pod
    timestamp: float
    """When it was added, or when its last attempt failed; a move between pools does not change it."""
    key: str
    """``namespace/name``."""
    uid: str
    """The uid of the pod, or its key if it has none: what :meth:`PriorityQueue.done` takes."""
    pool: Pool | None
    initial_attempt: float | None
    """When it was first let into the active pool."""
    attempts: int
    """How often it was popped."""
    popped: int
    """Number of its last pop among all pops of the queue, from 1 on; 0: never popped."""
    unschedulable_count: int
    """Attempts that ended with a rejection."""
    error_count: int
    """Errors in a row since the last rejection."""
    failure: str
    """What the last error says, with the plugin that failed; out of date if ``error_count`` is 0."""
    unschedulable_plugins: frozenset[str]
    """Plugins that rejected it last time, and every plugin that gated it since."""
    pending_plugins: frozenset[str]
    """Plugins that returned Pending last time: a QUEUE from one of these skips the backoff."""
    gating_plugin: str
    """The pre_enqueue plugin that holds it back."""
    backoff_expiry: int | None
    """The second in which its backoff ends, since the last failure; ``None``: not computed yet."""
    not_before: int
    """The second of the clock up to which it rests after an attempt that took long; over: nothing."""
    flushed: bool
    """Whether it was moved, or would have been but for its gate, because it waited too long."""
    moment: int
    """Number of the moment at which its last attempt failed, see :mod:`.moments`; 0: it did not fail yet."""
    place: int
    """Order of arrival: its place among pods with an equal sort key whose attempts failed at one moment."""
    pod_class: PodClass | None
    """Of which it was when it was rejected; ``None``: it has to be tried."""
    line: object | None
    """What :func:`.line_of` returns: where it waits with others; ``None``: it waits alone."""
    cohort: object | None
    """What :func:`.cohort_of` returns: for which pods it stands; ``None``: it is a pod."""

    def __init__(self, pod: Pod, timestamp: float, place: int = 0) -> None:
        # By hand: one of attrs takes half as long again for twenty defaults, and copies are compiled anyway.
        self.pod, self.timestamp, self.place = pod, timestamp, place
        self.key = key = pod.key
        self.uid = pod.uid or key
        self.pool = self.initial_attempt = self.backoff_expiry = None
        self.pod_class = self.line = self.cohort = None
        self.attempts = self.popped = self.unschedulable_count = self.error_count = self.moment = (
            self.not_before
        ) = 0
        self.unschedulable_plugins = self.pending_plugins = NO_PLUGINS
        self.gating_plugin = self.failure = ""
        self.flushed = False

    @property
    def profile(self) -> str:
        """The scheduler name of the pod: the profile whose plugins decide about it."""
        return self.pod.spec.scheduler_name

    def as_new(self) -> QueuedPodInfo:
        """Return the same history without what the last attempt found, in no pool."""
        new = copied(self)
        new.pool = new.backoff_expiry = new.pod_class = new.line = new.cohort = None
        new.unschedulable_plugins = new.pending_plugins = NO_PLUGINS
        new.gating_plugin, new.flushed = "", False
        return new

    def with_pod(self, pod: Pod) -> QueuedPodInfo:
        """Return the same history with another version of the pod."""
        new = copied(self)
        new.pod = pod
        return new


copied: Final = compile_copy(QueuedPodInfo)
"""Return a copy of a ``QueuedPodInfo``."""


def by_priority(info: QueuedPodInfo) -> tuple[int, float]:
    """Return the sort key of the default queue sort plugin: higher priority first, then the longest wait."""
    return (-info.pod.priority, info.timestamp)


@record(frozen=True)
class PendingPod:
    """View of a queued or in-flight pod for observers; times in seconds of the queue's clock."""

    key: str
    uid: str
    pool: Pool
    attempts: int
    unschedulable_plugins: tuple[str, ...]
    """Sorted; plugins that answered Pending included."""
    gating_plugin: str
    since: float
    """When it was added, or when its last attempt failed."""
    wake_at: float | None
    """When it moves without an event: the end of its backoff, or of its time in the unschedulable pool."""
    failure: str = ""
    """What failed at the last attempt, with the plugin; empty unless that ended with an error."""
    rests: bool = False
    """Whether it waits longer than others because its last attempt took long."""


@record(frozen=True)
class Requeued:
    """Place of a pod after a failed attempt."""

    pool: Pool | None
    """Its pool now; ``None``: it is no longer to be scheduled."""
    already: bool = False
    """Whether it was queued before: nothing changed, except that it is no longer in flight."""
