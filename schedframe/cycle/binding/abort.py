"""Abort attempts that have not begun to bind: their room is needed, or their node is gone."""

from __future__ import annotations

from ...framework import Status
from ..core import Core
from ..messages import StoppedBinding
from .attempt import Attempt
from .bind import reject


def stop_binding(core: Core, uid: str, reason: str) -> bool:
    """Let the attempt of that pod fail, so that it is tried again after its backoff; ``False``: too late.

    An attempt that is paused is ended by the next message of the inbox, one that is in pre_bind after that.
    """
    attempt = core.binding.get(uid)
    if attempt is None or attempt.deleted or core.waiting.get(uid) is not None:
        return False
    if not _abort(core, attempt, uid, Status.unschedulable(reason)):
        return False
    if core.paused.get(uid) is not None:
        core.inbox.put(StoppedBinding(uid))
    return True


def leave_node(core: Core, node_name: str) -> None:
    """End the attempts for a node that is gone, also if another one has its name now.

    They were decided for what that node had. Those that wait in permit or are paused end at once, those in
    pre_bind after it; the cluster refuses what is handed to it already. O(attempts that bind).
    """
    status = Status.unschedulable(f"node {node_name} is gone")
    for uid, attempt in [each for each in core.binding.items() if each[1].node_name == node_name]:
        if attempt.deleted:
            continue
        if core.waiting.leave(uid) is not None:
            reject(core, attempt, status)
        elif _abort(core, attempt, uid, status):
            end_paused(core, uid)


def _abort(core: Core, attempt: Attempt, uid: str, status: Status) -> bool:
    """Let the attempt end with *status*; ``False`` if it may be on its way to the node."""
    paused = core.paused.get(uid)
    if paused is None and not attempt.pre_binders:
        return False  # handed to the executor for nothing but the bind
    return not (paused is not None and paused.verify) and attempt.abort(status)


def end_paused(core: Core, uid: str) -> None:
    """End the attempt of that pod if it is paused and was stopped."""
    paused = core.paused.get(uid)
    if paused is not None and (status := paused.attempt.abort_status) is not None:
        core.paused.leave(uid)
        reject(core, paused.attempt, status)
