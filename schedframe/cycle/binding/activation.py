"""Pods that plugins ask to have tried again as soon as a cycle is over."""

from __future__ import annotations

from ...api import Pod
from ...framework import CycleState, StateKey
from ..core import Core

PODS_TO_ACTIVATE: StateKey[dict[str, Pod]] = StateKey("PodsToActivate")
"""Plugins put pods (by key) here that are to be tried again as soon as this cycle is over."""


def activate_requested(core: Core, state: CycleState) -> None:
    """Move the pods that plugins of this cycle asked for to the active pool."""
    pods = state.get(PODS_TO_ACTIVATE)
    if pods:
        core.queue.activate(list(pods.values()))
        pods.clear()
