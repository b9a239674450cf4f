"""The scheduler: the loop that takes pods from the queue to their nodes."""

from __future__ import annotations

from .binding.activation import PODS_TO_ACTIVATE
from .options import SchedulerOptions
from .pending import PendingPods
from .runtime.clock import Clock, SystemClock, VirtualClock
from .runtime.executors import AsyncioExecutor, Executor, InlineExecutor, ThreadExecutor
from .scheduler import Scheduler
from .search.decision import Decision

__all__ = [
    "PODS_TO_ACTIVATE",
    "AsyncioExecutor",
    "Clock",
    "Decision",
    "Executor",
    "InlineExecutor",
    "PendingPods",
    "Scheduler",
    "SchedulerOptions",
    "SystemClock",
    "ThreadExecutor",
    "VirtualClock",
]
