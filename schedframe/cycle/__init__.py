"""The scheduler: the loop that takes pods from the queue to their nodes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .binding.activation import PODS_TO_ACTIVATE
from .binding.attempt import Attempt
from .events import EventRecorder, EventSeries
from .latency import Distribution, Latency
from .observer import SchedulerObserver, observing
from .options import SchedulerOptions, SharedOptions
from .outcomes import AttemptOutcome, AttemptResult, PassedOver
from .pending import PendingPods
from .runtime.clock import Clock, SystemClock, VirtualClock
from .runtime.executors import Executor, InlineExecutor, ThreadExecutor
from .scheduler import Scheduler
from .search.decision import Decision
from .tuning import Tuning
from .watchdog import SlowHook, Watchdog

if TYPE_CHECKING:
    from .metering.families import Metric, MetricFamily, MetricKind
    from .metering.meter import Meter
    from .metering.statistics import ProfileStatistics, Statistics
    from .runtime.asyncio_executor import AsyncioExecutor

__all__ = [
    "PODS_TO_ACTIVATE",
    "AsyncioExecutor",
    "Attempt",
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
    "Meter",
    "Metric",
    "MetricFamily",
    "MetricKind",
    "PassedOver",
    "PendingPods",
    "ProfileStatistics",
    "Scheduler",
    "SchedulerObserver",
    "SchedulerOptions",
    "SharedOptions",
    "SlowHook",
    "Statistics",
    "SystemClock",
    "ThreadExecutor",
    "Tuning",
    "VirtualClock",
    "Watchdog",
    "observing",
]


_LATER: Final = {
    **dict.fromkeys(("Metric", "MetricFamily", "MetricKind"), ".metering.families"),
    **dict.fromkeys(("ProfileStatistics", "Statistics"), ".metering.statistics"),
    "Meter": ".metering.meter",
    "AsyncioExecutor": ".runtime.asyncio_executor",  # loads asyncio and ssl, 6 MB
}
"""Name → module that most schedulers do not need."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
