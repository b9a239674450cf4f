"""The scheduler: the loop that takes pods from the queue to their nodes."""

from __future__ import annotations

from .binding.activation import PODS_TO_ACTIVATE
from .events import EventRecorder, EventSeries
from .latency import Distribution, Latency
from .metering.families import Metric, MetricFamily, MetricKind, MetricsSink
from .options import SchedulerOptions
from .outcomes import AttemptOutcome, AttemptResult, SchedulerObserver
from .pending import PendingPods
from .runtime.clock import Clock, SystemClock, VirtualClock
from .runtime.executors import AsyncioExecutor, Executor, InlineExecutor, ThreadExecutor
from .scheduler import Scheduler
from .search.decision import Decision
from .statistics import ProfileStatistics, Statistics
from .watchdog import SlowHook, Watchdog

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
