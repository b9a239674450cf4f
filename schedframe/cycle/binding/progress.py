"""Waits of pods that have a node and are not bound yet, for people."""

from __future__ import annotations

from ..._base.value import record
from ..core import Core
from .attempt import Attempt


@record(frozen=True)
class Progress:
    """The wait of an attempt."""

    message: str
    alike: str
    """The message without node and time, which pods that wait for the same have in common."""
    wake_at: float | None = None
    """When it goes on, or fails, by itself, in seconds of the core's clock; ``None``: nothing is due."""


def progress_of(core: Core, uid: str) -> Progress | None:
    """Return what the pod of that uid waits for in permit or binding, ``None`` if it is in neither.

    O(plugins that it waits for).
    """
    now = core.clock()
    waiting = core.waiting.get(uid)
    if waiting is not None:
        deadline = min(waiting.deadlines.values())
        plugins = ", ".join(waiting.pending_plugins)
        alike = f"waits in permit for {plugins}"
        text = f"{alike}, at most {max(0.0, deadline - now):.1f} s more"
        return Progress(f"{text}; its node is {waiting.node_name}", alike, deadline)
    attempt = core.binding.get(uid)
    if attempt is None:
        placed = core.cache.get_pod(uid) if core.cache.is_assumed(uid) else None
        if placed is None:
            return None
        alike = "was bound to a node, which the cluster has not confirmed"
        return Progress(f"was bound to node {placed.node_name}, which the cluster has not confirmed", alike)
    paused = core.paused.get(uid)
    if paused is None:
        return Progress(f"is being bound to node {attempt.node_name}", "is being bound")
    if paused.held:
        why = core.view.description()
        return Progress(f"is not bound to {attempt.node_name} yet: {why}", f"is not bound yet: {why}")
    text = "asks the cluster what became of its bind" if paused.verify else f"waits in {_step(attempt)}"
    seconds = f"at most {max(0.0, paused.deadline - now):.1f} s more"
    return Progress(f"{text}, {seconds}; its node is {attempt.node_name}", text, paused.deadline)


def _step(attempt: Attempt) -> str:
    if attempt.pre_bound < len(attempt.pre_binders):
        return f"pre_bind of {attempt.pre_binders[attempt.pre_bound]}"
    return "bind"
