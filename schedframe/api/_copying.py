"""Fast copies of frozen values that differ in one field.

``attrs.evolve`` goes through ``__init__`` and sets every field by name, 0.1 µs each. A copy needs none of
that: the values are known to be good. A twin class with the same slots and ordinary assignment is filled, and
then made an instance of the frozen class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

T = TypeVar("T")


def compile_copy(cls: type[T], changed: str, fixed: Mapping[str, Any] | None = None) -> Callable[[T, Any], T]:
    """``copy(old, value)``: *old* with the attribute *changed* set to *value*, the *fixed* ones as given, all
    others shared. *cls* is an attrs class with slots and nothing but ``object`` and slotless classes above
    it.
    """
    slots = tuple(slot for slot in cast("Any", cls).__slots__ if not slot.startswith("__"))
    fixed = dict(fixed or {})
    twin = type(f"_{cls.__name__}Draft", cls.__bases__, {"__slots__": slots, "__hash__": None})
    lines = ["def copy(old, value):", "    new = make(twin)"]
    for slot in slots:
        source = "value" if slot == changed else f"fixed_{slot}" if slot in fixed else f"old.{slot}"
        lines.append(f"    new.{slot} = {source}")
    lines += ["    new.__class__ = cls", "    return new"]
    scope: dict[str, Any] = {"make": object.__new__, "twin": twin, "cls": cls}
    scope.update({f"fixed_{slot}": value for slot, value in fixed.items()})
    exec("\n".join(lines), scope)
    return cast("Callable[[T, Any], T]", scope["copy"])
