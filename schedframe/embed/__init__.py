"""Schedule anything that has a key, requests and labels: the framework for other orchestrators."""

from __future__ import annotations

from .amounts import Amount, Amounts, resource_name
from .asyncio import AsyncDriver
from .embedding import Embedding
from .options import EmbeddingOptions
from .profile import Strategy, configuration
from .retry import Backoff
from .translation import Translator
from .values import (
    Affinity,
    AntiAffinity,
    Group,
    Limits,
    NotStarted,
    PlacementFailure,
    Requirements,
    Spread,
    Task,
    TaskLike,
    TaskState,
    Waiting,
    Worker,
    WorkerLike,
)

__all__ = [
    "Affinity",
    "Amount",
    "Amounts",
    "AntiAffinity",
    "AsyncDriver",
    "Backoff",
    "Embedding",
    "EmbeddingOptions",
    "Group",
    "Limits",
    "NotStarted",
    "PlacementFailure",
    "Requirements",
    "Spread",
    "Strategy",
    "Task",
    "TaskLike",
    "TaskState",
    "Translator",
    "Waiting",
    "Worker",
    "WorkerLike",
    "configuration",
    "resource_name",
]
