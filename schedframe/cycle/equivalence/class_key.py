"""ClassKey: what pods of one equivalence class have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from attrs import frozen

from ..._plugin_faults import plugin_faults
from ...api import Pod
from .cacheability import CacheablePlan


@frozen(cache_hash=True)
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

    *on_failure* is called if a plugin fails to.
    """
    node = signature(plan.node_signatures, pod, on_failure)
    other = None if node is None else signature(plan.pod_signatures, pod, on_failure)
    return None if node is None or other is None else ClassKey(profile, node, other)


def signature(
    hooks: Iterable[Any], pod: Pod, on_failure: Callable[[], None] | None = None
) -> tuple[Any, ...] | None:
    """Return what the plugins of these ``pod_signature`` hooks read of *pod*; ``None`` if one cannot say."""
    values = []
    for hook in hooks:
        try:
            value = hook(pod)
            hash(value)
        except plugin_faults():  # as "cannot say": the full search needs no signature
            if on_failure is not None:
                on_failure()
            return None
        if value is None:
            return None
        values.append(value)
    return tuple(values)
