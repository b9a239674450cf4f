"""Handling of each message of the inbox: one function for each type."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..cluster import ViewChange, WatchEvent
from .binding.abort import end_paused
from .binding.bind import view_changed
from .binding.permit import PermitDesk
from .core import Core
from .handlers import EventHandlers
from .messages import (
    Activation,
    BindLimit,
    Fault,
    InterruptedQueueing,
    Question,
    Reload,
    Reported,
    Rest,
    StoppedBinding,
    Verdict,
    Withdrawal,
    WorkEnded,
)
from .reload import Reloader


def connect_inbox(core: Core, events: EventHandlers, permits: PermitDesk, reloader: Reloader) -> None:
    """Let the inbox of *core* handle every type of message."""
    handlers: dict[type, Callable[[Any], None]] = {
        WatchEvent: core.observers.event_handler(events.on_event),
        ViewChange: partial(view_changed, core),
        WorkEnded: core.work_ended,
        Verdict: permits.decide,
        Reported: core.receive,
        Activation: partial(_activate, core),
        Reload: reloader.requests.append,
        BindLimit: partial(_limit_binds, core),
        Rest: partial(_let_rest, core),
        Fault: lambda fault: core.report(fault.status, fault.pod, fault.where),
        Question: lambda question: question.look(),
        StoppedBinding: lambda message: end_paused(core, message.uid),
        Withdrawal: lambda message: core.queue.nominator.delete(message.pod),
        InterruptedQueueing: partial(_queue_again, core),
    }
    core.inbox.handlers |= handlers


def _activate(core: Core, message: Activation) -> None:
    core.queue.activate([*core.pending.values()] if message.pods is None else message.pods)


def _let_rest(core: Core, message: Rest) -> None:
    for pod in message.pods:
        core.queue.rest(pod, message.until)


def _limit_binds(core: Core, message: BindLimit) -> None:
    core.binding_limit = message.limit


def _queue_again(core: Core, message: InterruptedQueueing) -> None:
    pod = message.pod
    known = core.pending.get(pod.key)
    if known is not None and known.uid == pod.uid:
        core.queue.activate([known])
        core.queue.update(known, known)
