"""Tables about hooks, all derived from the specifications in :mod:`.hookspecs`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partialmethod, singledispatchmethod
from types import MemberDescriptorType
from typing import Any, Final

from .._base.value import record
from .hookspecs import Hookspecs, Spec, Tier
from .markers import PROJECT

_MARKER: Final = f"{PROJECT}_impl"


@record(frozen=True)
class Hook:
    """One hook: its name, its arguments in order, and what its specification says of it."""

    name: str
    arguments: tuple[str, ...]
    spec: Spec


def _hooks() -> dict[str, Hook]:
    hooks = {}
    for name, function in vars(Hookspecs).items():
        if getattr(function, f"{PROJECT}_spec", None) is not None:
            arguments = tuple(each for each in inspect.signature(function).parameters if each != "self")
            hooks[name] = Hook(name, arguments, getattr(function, Spec.ATTRIBUTE))
    return hooks


HOOKS: dict[str, Hook] = _hooks()
"""Every hook by name, in the order in which a pod meets them."""

HOOK_ARGUMENTS: dict[str, tuple[str, ...]] = {name: hook.arguments for name, hook in HOOKS.items()}
"""Hook → names of its arguments, in order."""


def _hooks_of_point() -> dict[str, tuple[str, ...]]:
    points = dict.fromkeys(hook.spec.points[0] for hook in HOOKS.values() if not hook.spec.auxiliary)
    return {
        point: tuple(
            name for name, hook in HOOKS.items() if point in hook.spec.points and not hook.spec.auxiliary
        )
        for point in points
    }


HOOKS_OF_POINT: dict[str, tuple[str, ...]] = _hooks_of_point()
"""Point → hooks; a plugin implements the point if it implements one of them."""

HOT_HOOKS: frozenset[str] = frozenset(name for name, hook in HOOKS.items() if hook.spec.hot)
"""Hooks that run for every pod or node."""


ASYNC_HOOKS: frozenset[str] = frozenset(
    name for name in HOOKS if "Awaitable" in str(getattr(Hookspecs, name).__annotations__.get("return"))
)
"""Hooks that may be ``async``: they run off the core."""


def hooks_of_tier(tier: Tier) -> tuple[str, ...]:
    """Return the hooks of one tier, in the order in which a pod meets them."""
    return tuple(name for name, hook in HOOKS.items() if hook.spec.tier is tier)


def hooks_of(plugin: object) -> dict[str, dict[str, Any]]:
    """Return the methods of a plugin, or plugin class, marked with ``@hookimpl``, with the options.

    By name. Attributes are found without calling code of the plugin, such as properties. O(attributes).
    """
    markers: dict[str, dict[str, Any]] = {}
    for attributes in _namespaces(plugin):
        for name, value in attributes.items():
            if name.startswith("__"):
                continue
            marker = getattr(getattr(value, "__func__", value), _MARKER, None)
            if isinstance(marker, dict):
                markers[name] = marker
            else:
                markers.pop(name, None)  # what is not marked hides what a base class has
    return dict(sorted(markers.items()))


def has_own_hooks(plugin: object) -> bool:
    """Return whether an instance has hooks, or marked functions, beside those of its class.

    O(attributes of the instance).
    """
    if isinstance(plugin, type):
        return False
    own = getattr(plugin, "__dict__", {})
    marked = any(isinstance(getattr(value, _MARKER, None), dict) for value in own.values())
    return marked or not HOOKS.keys().isdisjoint(own)


def has_hooks_of_class(plugin: object) -> bool:
    """Return whether a plugin, or plugin class, has the hooks of each other instance of its class."""
    return not has_own_hooks(plugin) and not _has_slots_for_hooks(
        plugin if isinstance(plugin, type) else type(plugin)
    )


def _has_slots_for_hooks(cls: type) -> bool:
    """Return whether instances have slots named like hooks, each of which may hold another function."""
    return any(
        isinstance(value, MemberDescriptorType)
        for base in cls.__mro__[:-1]
        for name, value in vars(base).items()
        if name in HOOKS
    )


def unmarked_of(plugin: object) -> list[str]:
    """Return the names of hooks that a plugin, or plugin class, has as methods without the mark.

    So are fields of an instance that hold something to call. What a protocol declares is left out, and data:
    a field or property may have the name of a hook. No code of the plugin is called. O(classes).
    """
    found: dict[str, Any] = {}
    for attributes in _namespaces(plugin):
        names = attributes.keys() & HOOKS.keys()
        declared = attributes.get("_is_protocol") is True
        found |= {name: None if declared else attributes[name] for name in names}
    return [name for name in HOOKS if name in found and _is_unmarked(plugin, found[name])]


def _is_unmarked(plugin: object, value: Any) -> bool:
    if isinstance(value, MemberDescriptorType):
        if isinstance(plugin, type):
            return False
        with suppress(AttributeError):  # it has no value yet
            value = value.__get__(plugin, type(plugin))
    if isinstance(getattr(getattr(value, "__func__", value), _MARKER, None), dict):
        return False
    is_method = isinstance(value, staticmethod | classmethod | partialmethod | singledispatchmethod)
    return is_method or (callable(value) and not isinstance(value, type))


def _namespaces(plugin: object) -> Iterator[Mapping[str, Any]]:
    """Yield the attributes of the base classes of a plugin, or plugin class, then its own."""
    cls = plugin if isinstance(plugin, type) else type(plugin)
    for base in reversed(cls.__mro__[:-1]):
        yield vars(base)
    if cls is not plugin:
        with suppress(AttributeError):  # it has slots only
            yield object.__getattribute__(plugin, "__dict__")


def points_of(plugin: object) -> tuple[str, ...]:
    """Return the extension points that a plugin, or plugin class, implements, in cycle order."""
    hooks = hooks_of(plugin)
    return tuple(point for point, names in HOOKS_OF_POINT.items() if any(name in hooks for name in names))
