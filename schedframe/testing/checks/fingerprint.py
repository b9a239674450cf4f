"""Contents of objects, deep down, in a form that can be compared later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import attrs
import numpy as np

from ...state import NodeTable

_DEEPEST = 12


_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})


def contents(value: Any, depth: int = _DEEPEST) -> Any:
    """*value* as nested tuples; what it is not known how to look into counts by identity."""
    cls = value.__class__
    if cls in _PLAIN:
        return value
    if depth == 0:
        return id(value)
    if cls is tuple or cls is list:
        return tuple([contents(item, depth - 1) for item in value]) if value else ()
    if cls is dict:
        return tuple([(key, contents(item, depth - 1)) for key, item in value.items()]) if value else ()
    names = _fields(cls)
    if names is not None:
        return tuple([contents(getattr(value, name), depth - 1) for name in names])
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return tuple((key, contents(item, depth - 1)) for key, item in value.items())
    if isinstance(value, Set):
        return frozenset(contents(item, depth - 1) for item in value)
    return value if isinstance(value, str | int) else id(value)


_KNOWN: dict[type, tuple[str, ...] | None] = {}


def _fields(cls: type) -> tuple[str, ...] | None:
    """Attributes that make up a value; scratch space and other derived things are left out."""
    try:
        return _KNOWN[cls]
    except KeyError:
        names = None
        if attrs.has(cls):
            wanted = (a for a in attrs.fields(cls) if a.eq and (a.init or not a.name.startswith("_")))
            names = tuple(a.name for a in wanted)
        _KNOWN[cls] = names
        return names


def columns(table: NodeTable) -> Any:
    """Return all that the table says of rows, nodes and pods."""
    names = sorted(table.resources())
    arrays = [
        table.alive,
        table.pod_count,
        table.allowed_pods,
        table.unschedulable,
        *(table.allocatable(name) for name in names),
        *(table.requested(name) for name in names),
        *(table.non_zero_requested(name) for name in ("cpu", "memory")),
    ]
    infos = [
        (
            info.name,
            id(info.node),
            tuple(map(id, info.pods.values())),
            tuple(sorted(info.requested.items())),
            (info.non_zero_cpu, info.non_zero_memory),
            contents(info.used_ports),
        )
        for info in table.rows()
    ]
    return [array.tobytes() for array in arrays], infos


def memory_of(plugin: Any, aside: frozenset[str]) -> dict[str, Any]:
    """Attributes of a plugin's instance; entries of dictionaries that are zero or empty do not count."""
    names = set(getattr(plugin, "__dict__", {}))
    for cls in type(plugin).__mro__:
        slots = vars(cls).get("__slots__", ())
        names.update([slots] if isinstance(slots, str) else slots)
    wanted = sorted(name for name in names - aside if not name.startswith("__") and hasattr(plugin, name))
    return {name: _kept(getattr(plugin, name)) for name in wanted}


def _kept(value: Any) -> Any:
    if isinstance(value, Mapping):
        return frozenset((repr(key), _kept(item)) for key, item in value.items() if item)
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Set):
        return frozenset(map(repr, value))
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, Sequence):
        return tuple(map(repr, value))
    return "?"
