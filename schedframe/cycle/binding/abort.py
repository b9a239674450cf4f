"""Abort attempts that have not begun to bind, so that other pods get their room."""

from __future__ import annotations

from ...framework import Status
from ..core import Core
from .attempt import Attempt
from .bind import reject


def stop_binding(core: Core, uid: str, reason: str) -> bool:
    """Let the attempt of that pod fail, so that it is tried again after its backoff; ``False``: too late.

    An attempt that is paused is ended by the next message of the inbox, one that is in pre_bind after that.
    """
    attempt = core.binding.get(uid)
    if attempt is None or attempt.deleted or core.waiting.get(uid) is not None:
        return False
    if not attempt.pre_binders:
        # Handed to the executor for nothing but the bind.
        return False
    paused = core.paused.get(uid)
    if (paused is not None and paused.verify) or not attempt.abort(Status.unschedulable(reason)):
        return False
    if paused is not None:
        core.inbox.put(_end_paused, (core, attempt))
    return True


def _end_paused(message: tuple[Core, Attempt]) -> None:
    core, attempt = message
    assert attempt.assumed is not None
    assert attempt.abort_status is not None
    paused = core.paused.get(attempt.assumed.uid)
    if paused is not None and paused.attempt is attempt:
        core.paused.leave(attempt.assumed.uid)
        reject(core, attempt, attempt.abort_status)
