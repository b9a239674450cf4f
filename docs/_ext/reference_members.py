"""The lines of the reference for members of enums and fields of values: each has one."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs

from schedframe.api._wire import WIRE


def members_of(cls: type) -> list[str]:
    """Return the names that :func:`member_lines` has an entry for."""
    if issubclass(cls, Enum):
        return list(cls.__members__)
    fields = attrs.fields(cls) if attrs.has(cls) else ()
    return [each.name for each in fields if not each.name.startswith("_")]


def member_lines(cls: type) -> Iterator[str]:
    """Yield an entry for each member of an enum, or each public field of an attrs class."""
    documented = attribute_docstrings(cls)
    if issubclass(cls, Enum):
        for name, member in cls.__members__.items():
            yield from _entry(name, [f":value: {member.value!r}"], documented.get(name, ""))
    elif attrs.has(cls):
        for attribute in attrs.fields(cls):
            if not attribute.name.startswith("_"):
                text = documented.get(attribute.name, "") or _manifest_text(cls, attribute)
                yield from _entry(attribute.name, _type_and_default(attribute), text)


def _entry(name: str, options: list[str], text: str) -> list[str]:
    lines = [f".. py:attribute:: {name}", *(f"   {option}" for option in options), ""]
    if text:
        lines += [*(f"   {line}".rstrip() for line in inspect.cleandoc(text).splitlines()), ""]
    return lines


def _type_and_default(attribute: attrs.Attribute[Any]) -> list[str]:
    kind = attribute.type
    options = [f":type: {kind if isinstance(kind, str) else inspect.formatannotation(kind)}"] if kind else []
    default = attribute.default
    if isinstance(default, Enum) and default is not attrs.NOTHING:
        options.append(f":value: {default}")
    elif isinstance(default, bool | int | float | str | None):
        options.append(f":value: {default!r}")
    return options


def _manifest_text(cls: type, attribute: attrs.Attribute[Any]) -> str:
    """Return where a field of the API or of a configuration stands in a document; empty for other classes."""
    if not cls.__module__.startswith(("schedframe.api.", "schedframe.config.model")):
        return ""
    written = attribute.metadata.get(WIRE)
    if not attribute.init or (written is not None and written.skip):
        return ""
    first, *rest = attribute.name.split("_")
    key = (written.name if written is not None else "") or first + "".join(map(str.capitalize, rest))
    return f"``{key}`` in a manifest."


def attribute_docstrings(cls: type) -> dict[str, str]:
    """Return name → the text below an assignment in the body of *cls* or of a base class."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= _own_docstrings(base)
    return found


@cache
def _own_docstrings(cls: type) -> dict[str, str]:
    try:
        path = inspect.getsourcefile(cls)
    except TypeError:  # a class of the standard library in C
        path = None
    scope: ast.AST | None = None if path is None else parsed(Path(path))
    for part in cls.__qualname__.split("."):
        inside = () if scope is None else ast.walk(scope)
        scope = next((each for each in inside if isinstance(each, ast.ClassDef) and each.name == part), None)
    return documented(scope.body) if isinstance(scope, ast.ClassDef) else {}  # else made at run time


@cache
def parsed(path: Path) -> ast.Module:
    """Return the code of a file; parsed once, since inspect does so for each class."""
    return ast.parse(path.read_text(encoding="utf-8"))


def documented(body: list[ast.stmt]) -> dict[str, str]:
    """Return name → the text below its assignment, of those that have one."""
    found = {}
    for statement, following in pairwise(body):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        for target in targets:
            if isinstance(target, ast.Name) and is_text:
                found[target.id] = str(following.value.value)
    return found
