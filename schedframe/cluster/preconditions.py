"""Preconditions of requests that change a pod, as the API server checks them."""

from __future__ import annotations

from ..api import Pod
from .port import BindConflict, BindRefused


def check_bindable(current: Pod, pod: Pod, node_name: str) -> None:
    """Raise :class:`BindRefused` unless *current*, the stored pod, is *pod* and may be bound to the node."""
    if pod.uid != current.uid and pod.uid:
        raise BindConflict(
            f"Pod {pod.key} has uid {current.uid} now, not {pod.uid}: deleted and created again"
        )
    if not node_name:
        raise BindRefused(f"Pod {pod.key} cannot be bound to a node without a name")
    if current.spec.node_name:
        raise BindConflict(f"Pod {pod.key} is on {current.spec.node_name} already")
    if current.metadata.deletion_timestamp is not None:
        raise BindConflict(f"Pod {pod.key} is being deleted")
    if current.spec.scheduling_gates:
        raise BindConflict(f"Pod {pod.key} is held back by scheduling gates")
