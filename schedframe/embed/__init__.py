"""Schedule anything that has a key, requests and labels: the framework for other orchestrators."""

from __future__ import annotations

from .amounts import Amount, Amounts, resource_name
from .asyncio import AsyncDriver
from .embedding import Embedding
from .profile import Strategy, configuration
from .retry import Backoff
from .translation import Translator
from .values import (
    Apart,
    Limits,
    Needs,
    NotStarted,
    Spread,
    Task,
    TaskLike,
    TaskState,
    Together,
    Waiting,
    Why,
    Worker,
    WorkerLike,
)

__all__ = [
    "Amount",
    "Amounts",
    "Apart",
    "AsyncDriver",
    "Backoff",
    "Embedding",
    "Limits",
    "Needs",
    "NotStarted",
    "Spread",
    "Strategy",
    "Task",
    "TaskLike",
    "TaskState",
    "Together",
    "Translator",
    "Waiting",
    "Why",
    "Worker",
    "WorkerLike",
    "configuration",
    "resource_name",
]
