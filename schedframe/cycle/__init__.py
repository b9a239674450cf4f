"""The scheduler: the loop that takes pods from the queue to their nodes."""

from __future__ import annotations

from .clock import Clock, SystemClock, VirtualClock
from .core import PODS_TO_ACTIVATE
from .decision import Decision
from .executors import AsyncioExecutor, Executor, InlineExecutor, ThreadExecutor
from .pending import PendingPods
from .scheduler import Scheduler

__all__ = [
    "PODS_TO_ACTIVATE",
    "AsyncioExecutor",
    "Clock",
    "Decision",
    "Executor",
    "InlineExecutor",
    "PendingPods",
    "Scheduler",
    "SystemClock",
    "ThreadExecutor",
    "VirtualClock",
]
