"""Fast construction of frozen values.

A frozen attrs class sets every field by name through ``object.__setattr__``: 50 ns each, and the spec of a
pod has 35. Here a *draft* is filled instead, an instance of a second class with the same slots and ordinary
assignment. Then its ``__class__`` is set to the frozen class, which costs a tenth. The result is frozen like
any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

become: Final = object.__setattr__
"""``become(new, "__class__", draft)`` opens a new frozen value for assignment."""

OPENING: Final = "__become(self, '__class__', __draft)"
"""The line before those of :func:`filling_lines` that opens a new value."""


def draft_of(cls: type[Any]) -> type[Any]:
    """Return a class with the slots of *cls* that allows assignment."""
    space = {"__slots__": cls.__slots__, "__hash__": None, "__setattr__": object.__setattr__}
    make: Callable[..., type[Any]] = type(cls)
    return make(f"{cls.__name__}Draft", cls.__bases__, space)


def filling_lines(cls: type[Any], scope: dict[str, Any]) -> list[str]:
    """Return the lines that fill a draft ``self`` by the parameters of ``__init__`` and freeze it.

    What they need is put into *scope*. No lines for a class with converters, validators, code of its
    own, or weak references, with which Python does not let an object change its class.
    """
    if _has_more_to_do(cls):
        return []
    lines = []
    for each in attrs.fields(cls):
        given, default = each.alias, f"__default_{each.alias}"
        if isinstance(each.default, attrs.Factory):  # type: ignore[arg-type]  # a class at run time
            scope[f"__factory_{given}"], scope["__nothing"] = each.default.factory, attrs.NOTHING
            made = f"__factory_{given}()"
            lines.append(
                f"self.{each.name} = {f'{made} if {given} is __nothing else {given}' if each.init else made}"
            )
        elif each.init:
            lines.append(f"self.{each.name} = {given}")
        elif each.default is not attrs.NOTHING:
            scope[default] = each.default
            lines.append(f"self.{each.name} = {default}")
    scope["__become"], scope["__draft"] = become, draft_of(cls)
    return [*lines, "self.__class__ = __cls"]


def _has_more_to_do(cls: type[Any]) -> bool:
    if hasattr(cls, "__attrs_post_init__") or not {"__weakref__", "_attrs_cached_hash"}.isdisjoint(
        cls.__slots__
    ):
        return True
    return any(
        each.converter or each.validator or getattr(each.default, "takes_self", False)
        for each in attrs.fields(cls)
    )
