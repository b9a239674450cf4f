"""ClassKey: what pods of one equivalence class have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.plugin_faults import plugin_faults
from ..._base.value import record
from ...api import Pod
from .cacheability import CacheablePlan


@record(frozen=True, cache_hash=True)
class ClassKey:
    """Profile and signatures of all cached plugins. The hash covers all that they read, so it is kept."""

    profile: str
    node_signature: tuple[Any, ...]
    """Of the plugins that look at the node object alone."""
    pod_signature: tuple[Any, ...]
    """Of the others."""


def class_key(
    profile: str, plan: CacheablePlan, pod: Pod, on_failure: Callable[[], None] | None = None
) -> ClassKey | None:
    """Return the key of *pod*; ``None`` if a plugin cannot compare it, and such pods have no class.

    *on_failure* is called if a plugin fails to, or gives what cannot be hashed.
    """
    values: list[Any] = []
    try:
        for hook in (*plan.node_signatures, *plan.pod_signatures):
            value = hook(pod)
            # One plugin that cannot compare the pod decides for all: its answers could not be kept.
            if value is None:
                return None
            values.append(value)
        nodes = len(plan.node_signatures)
        key = ClassKey(profile, tuple(values[:nodes]), tuple(values[nodes:]))
        # Here, where a signature that cannot be hashed counts as a fault of its plugin.
        hash(key)
    except plugin_faults():  # as "cannot say": the full search needs no signature
        if on_failure is not None:
            on_failure()
        return None
    return key
