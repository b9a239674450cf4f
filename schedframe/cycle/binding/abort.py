"""Abort attempts that have not begun to bind, so that other pods get their room."""

from __future__ import annotations

from ...framework import Status
from ..core import Core
from .attempt import Attempt
from .bind import reject


def stop_binding(core: Core, uid: str, reason: str) -> bool:
    """Let the attempt of that pod fail, so that it is tried again after its backoff; ``False``: too late.

    An attempt that is parked is ended by the next message of the inbox, one that is in pre_bind after that.
    """
    attempt = core.binding.get(uid)
    if attempt is None or attempt.deleted or core.waiting.get(uid) is not None:
        return False
    if not attempt.pre_binders:
        # Handed to the executor for nothing but the bind.
        return False
    parked = core.paused.get(uid)
    if (parked is not None and parked.verify) or not attempt.abort(Status.unschedulable(reason)):
        return False
    if parked is not None:
        core.inbox.put(_end_parked, (core, attempt))
    return True


def _end_parked(message: tuple[Core, Attempt]) -> None:
    core, attempt = message
    assert attempt.assumed is not None
    assert attempt.abort_status is not None
    parked = core.paused.get(attempt.assumed.uid)
    if parked is not None and parked.attempt is attempt:
        core.paused.leave(attempt.assumed.uid)
        reject(core, attempt, attempt.abort_status)
