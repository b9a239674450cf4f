"""The scheduler: the loop that takes pods from the queue to their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .binding.activation import PODS_TO_ACTIVATE
from .events import EventRecorder, EventSeries
from .latency import Distribution, Latency
from .metering.families import Metric, MetricFamily, MetricKind, MetricsSink
from .options import SchedulerOptions
from .outcomes import AttemptOutcome, AttemptResult, SchedulerObserver
from .pending import PendingPods
from .runtime.clock import Clock, SystemClock, VirtualClock
from .runtime.executors import Executor, InlineExecutor, ThreadExecutor
from .scheduler import Scheduler
from .search.decision import Decision
from .statistics import ProfileStatistics, Statistics
from .watchdog import SlowHook, Watchdog

if TYPE_CHECKING:
    from .runtime.asyncio_executor import AsyncioExecutor

__all__ = [
    "PODS_TO_ACTIVATE",
    "AsyncioExecutor",
    "AttemptOutcome",
    "AttemptResult",
    "Clock",
    "Decision",
    "Distribution",
    "EventRecorder",
    "EventSeries",
    "Executor",
    "InlineExecutor",
    "Latency",
    "Metric",
    "MetricFamily",
    "MetricKind",
    "MetricsSink",
    "PendingPods",
    "ProfileStatistics",
    "Scheduler",
    "SchedulerObserver",
    "SchedulerOptions",
    "SlowHook",
    "Statistics",
    "SystemClock",
    "ThreadExecutor",
    "VirtualClock",
    "Watchdog",
]


def __getattr__(name: str) -> Any:
    if name == "AsyncioExecutor":  # loads asyncio and ssl, 6 MB that a cluster in memory does not need
        from .runtime.asyncio_executor import AsyncioExecutor

        return AsyncioExecutor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
