"""Pods that are being bound give up their room for others, as long as bind has not begun."""

from __future__ import annotations

from ...framework import Status
from ..core import Attempt, Core
from .bind import turn_down


def stop_binding(core: Core, uid: str, reason: str) -> bool:
    """Let the attempt of that pod fail, so that it is tried again after its backoff; whether that can be.

    An attempt that is parked is ended by the next message of the inbox, one that is in pre_bind after that.
    """
    attempt = core.binding.get(uid)
    if attempt is None or attempt.gone or core.waiting.get(uid) is not None:
        return False
    if not attempt.pre_binders:
        # Handed to the executor for nothing but the bind.
        return False
    parked = core.parked.get(uid)
    if (parked is not None and parked.verify) or not attempt.stop(Status.unschedulable(reason)):
        return False
    if parked is not None:
        core.inbox.put(_end_parked, (core, attempt))
    return True


def _end_parked(message: tuple[Core, Attempt]) -> None:
    core, attempt = message
    assert attempt.assumed is not None
    assert attempt.stopped is not None
    parked = core.parked.get(attempt.assumed.uid)
    if parked is not None and parked.attempt is attempt:
        core.parked.leave(attempt.assumed.uid)
        turn_down(core, attempt, attempt.stopped)
