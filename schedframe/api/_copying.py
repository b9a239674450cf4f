"""Fast construction and copying of frozen values.

A frozen attrs class sets every field by name through ``object.__setattr__``: 50 ns each, and the spec of a
pod has 35. Here a *draft* is filled instead, an instance of a second class with the same slots and ordinary
assignment. Then its ``__class__`` is set to the frozen class, which costs a tenth. The result is frozen like
any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

import attrs

T = TypeVar("T")

become: Final = object.__setattr__
"""``become(new, "__class__", draft)`` opens a new frozen value for assignment."""


def draft_of(cls: type[Any]) -> type[Any]:
    """Return a class with the slots of *cls* that allows assignment; its bases are slotless."""
    return type(f"{cls.__name__}Draft", cls.__bases__, {"__slots__": _slots(cls), "__hash__": None})


def _slots(cls: type[Any]) -> tuple[str, ...]:
    return tuple(slot for slot in cls.__slots__ if not slot.startswith("__"))


def compile_copy(cls: type[T], *changed: str, fixed: Mapping[str, Any] | None = None) -> Callable[..., T]:
    """Return ``copy(old, *values)``, which sets the fields *changed* to *values*.

    Fields in *fixed* get the given values, all others are shared with *old*.
    """
    fixed = dict(fixed or {})
    values = [f"new_{slot}" for slot in changed]
    lines = [f"def copy(old, {', '.join(values)}):", "    new = draft()"]
    for slot in _slots(cls):
        source = f"new_{slot}" if slot in changed else f"fixed_{slot}" if slot in fixed else f"old.{slot}"
        lines.append(f"    new.{slot} = {source}")
    lines += ["    new.__class__ = cls", "    return new"]
    scope: dict[str, Any] = {f"fixed_{slot}": value for slot, value in fixed.items()}
    scope |= {"draft": draft_of(cls), "cls": cls}
    exec("\n".join(lines), scope)
    return cast("Callable[..., T]", scope["copy"])


def fast_init(cls: type[T]) -> type[T]:
    """Class decorator above ``@frozen`` for a faster ``__init__``. Subclasses keep the one of attrs.

    For classes without converters, validators, factories and post-init. The attribute ``make`` of the new
    ``__init__`` is a function that makes an instance of its keywords, for :func:`unchecked`.
    """
    # names in the scope start with two underscores, so that no field hides one of them
    scope: dict[str, Any] = {
        "__become": become,
        "__draft": draft_of(cls),
        "__cls": cls,
        "__attrs": cls.__init__,
    }
    parameters, lines = {}, ["    __become(self, '__class__', __draft)"]
    for attribute in attrs.fields(cast("type[Any]", cls)):
        default = f"__default_{attribute.name}"
        scope[default] = attribute.default
        if attribute.init:
            parameters[attribute.alias] = default
        lines.append(f"    self.{attribute.name} = {attribute.alias if attribute.init else default}")
    head = [
        f"def __init__(self, {', '.join(f'{name}={default}' for name, default in parameters.items())}):",
        "    if self.__class__ is not __cls:",
        f"        return __attrs(self, {', '.join(parameters)})",
    ]
    exec("\n".join([*head, *lines, "    self.__class__ = __cls"]), scope)
    given = ", ".join(f"{name}={default}" for name, default in parameters.items())
    head = [f"def __make({given}):", "    self = __draft()"]
    exec("\n".join([*head, *lines[1:], "    self.__class__ = __cls", "    return self"]), scope)
    made = scope["__init__"]
    vars(made)["make"] = scope["__make"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = cls.__init__.__annotations__
    type.__setattr__(cls, "__init__", made)
    return cls
