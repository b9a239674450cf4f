"""Copying of frozen values with some fields changed, by filling a draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from .._base.drafts import draft_of

T = TypeVar("T")


def compile_copy(cls: type[T], *changed: str, fixed: Mapping[str, Any] | None = None) -> Callable[..., T]:
    """Return ``copy(old, *values)``, which sets the fields *changed* to *values*.

    Fields in *fixed* get the given values, all others are shared with *old*.
    """
    fixed = dict(fixed or {})
    values = [f"new_{slot}" for slot in changed]
    lines = [f"def copy(old, {', '.join(values)}):", "    new = draft()"]
    for slot in (slot for slot in cls.__slots__ if not slot.startswith("__")):  # type: ignore[attr-defined]  # it has slots
        source = f"new_{slot}" if slot in changed else f"fixed_{slot}" if slot in fixed else f"old.{slot}"
        lines.append(f"    new.{slot} = {source}")
    lines += ["    new.__class__ = cls", "    return new"]
    scope: dict[str, Any] = {f"fixed_{slot}": value for slot, value in fixed.items()}
    scope |= {"draft": draft_of(cls), "cls": cls}
    exec("\n".join(lines), scope)
    return cast("Callable[..., T]", scope["copy"])
