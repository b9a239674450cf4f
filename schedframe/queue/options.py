"""Options of the scheduling queue."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import field

from .._base.value import record
from ..api import Pod
from .counting import QueueCounts
from .hints import FaultFn, QueueProfile, log_fault
from .in_flight import DEFAULT_MAX_EVENTS
from .queued_pod import QueuedPodInfo


@record(frozen=True, kw_only=True, eq=False)
class QueueOptions:
    """Options of a :class:`PriorityQueue`. At most one of ``sort_key`` and ``less``; times are seconds.

    An order that fails for a pod is reported to ``on_fault``, and the pod goes behind all others.
    """

    sort_key: Callable[[QueuedPodInfo], Any] | None = None
    """The smallest key is popped first; :func:`by_priority` without ``less`` either."""
    less: Callable[[QueuedPodInfo, QueuedPodInfo], bool] | None = None
    """Whether the first of two pods is popped before the second; for orders without a key, and slower."""
    sorter: str = "queueSort"
    """Name of the plugin with this order, for ``on_fault``."""
    profiles: Mapping[str, QueueProfile] = field(factory=dict)
    """By scheduler name. Pods of another one have no gates, and each event that counts queues them again."""
    clock: Callable[[], float] = time.time
    initial_backoff: float = 1.0
    """After the first failed attempt; doubled with each further one."""
    max_backoff: float = 10.0
    """0: no backoff."""
    max_in_unschedulable: float = 300.0
    """After this time a pod is tried again without any event."""
    pod_lister: Callable[[str], Pod | None] | None = None
    """The cluster's present version of a pod by key. With it, deleted and bound pods are not nominated."""
    on_ready: Callable[[], None] | None = None
    """Called when a pod arrived that :meth:`PriorityQueue.pop` may return."""
    on_fault: FaultFn = log_fault
    """Called with each fault of a plugin. The pod is queued (hints), held back (pre_enqueue) or put last."""
    tolerance: float = 0.0
    """Seconds within which failures of pods that are equal in order count as being of one moment, the first:
    a real clock moves on between two attempts. See :mod:`.moments`.
    """
    max_in_flight_events: int = DEFAULT_MAX_EVENTS
    """Events kept for pods in flight; see :class:`InFlight`."""
    counts: QueueCounts | None = None
    """Where to count pods that enter and hints that run; ``None``: nothing is counted."""
