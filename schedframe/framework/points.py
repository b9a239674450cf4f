"""Extension points as configuration spells them, and the hooks that make one up."""

from __future__ import annotations

import inspect
from typing import Any

from .hookspecs import PROJECT, Hookspecs

HOOKS_OF_POINT: dict[str, tuple[str, ...]] = {
    "preEnqueue": ("pre_enqueue",),
    "queueSort": ("queue_sort_key", "queue_sort_less"),
    "preFilter": ("pre_filter", "add_pod", "remove_pod"),
    "filter": ("filter", "filter_rows"),
    "postFilter": ("post_filter",),
    "preScore": ("pre_score",),
    "score": ("score", "score_rows", "normalize_scores"),
    "reserve": ("reserve", "unreserve"),
    "permit": ("permit",),
    "preBind": ("pre_bind_pre_flight", "pre_bind"),
    "bind": ("bind",),
    "postBind": ("post_bind",),
}
"""Point → hooks; a plugin implements the point if it implements one of them."""

HOT_HOOKS = frozenset(
    {
        "filter",
        "filter_rows",
        "score",
        "score_rows",
        "normalize_scores",
        "pre_filter",
        "pre_score",
        "pod_signature",
    }
)
"""Hooks that run for every pod or node; wrappers are refused there."""


def _arguments(function: Any) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(function).parameters if name != "self")


HOOK_ARGUMENTS: dict[str, tuple[str, ...]] = {
    name: _arguments(function)
    for name, function in vars(Hookspecs).items()
    if getattr(function, f"{PROJECT}_spec", None) is not None
}
"""Hook → names of its arguments, in order."""


def hooks_of(plugin: object) -> dict[str, dict[str, Any]]:
    """The methods of a plugin, or plugin class, marked with ``@hookimpl``, with the marker's options."""
    found: dict[str, dict[str, Any]] = {}
    for name in dir(plugin):
        if name.startswith("__"):
            continue
        try:
            method = inspect.getattr_static(plugin, name)
        except AttributeError:
            continue
        marker = getattr(getattr(method, "__func__", method), f"{PROJECT}_impl", None)
        if isinstance(marker, dict):
            found[name] = marker
    return found


def points_of(plugin: object) -> tuple[str, ...]:
    """The extension points that a plugin, or plugin class, implements, in cycle order."""
    hooks = hooks_of(plugin)
    return tuple(point for point, names in HOOKS_OF_POINT.items() if any(name in hooks for name in names))
