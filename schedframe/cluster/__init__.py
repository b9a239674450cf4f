"""The cluster outside: the port the scheduler talks to, and clusters in memory behind it."""

from __future__ import annotations

from .flaky import FlakyCluster, FlakyWatch
from .memory import InMemoryCluster
from .port import (
    BindConflict,
    BindNotFound,
    BindRefused,
    ClusterPort,
    Conflict,
    EventType,
    NotFound,
    OutcomeUnknown,
    RemoteCluster,
    Subscription,
    ViewChange,
    WatchEvent,
    WatchHandler,
)
from .recorded_event import RecordedEvent

__all__ = [
    "BindConflict",
    "BindNotFound",
    "BindRefused",
    "ClusterPort",
    "Conflict",
    "EventType",
    "FlakyCluster",
    "FlakyWatch",
    "InMemoryCluster",
    "NotFound",
    "OutcomeUnknown",
    "RecordedEvent",
    "RemoteCluster",
    "Subscription",
    "ViewChange",
    "WatchEvent",
    "WatchHandler",
]
