"""The reference, written anew for each build: a page for each part, every public name, every hook."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import schedframe
from schedframe.framework.hookspecs import Hookspecs
from schedframe.framework.points import HOOKS_OF_POINT

TITLES = {
    "errors": "Errors",
    "api": "Objects",
    "cluster": "Clusters",
    "queue": "Queue and events",
    "config": "Configuration",
    "state": "State and columns",
    "framework": "Plugins and framework",
    "cycle": "Scheduler",
    "simulate": "Simulation",
    "why": "Explanations",
}
PACKAGES = {"embed": "Embedding", "testing": "Testing"}
"""Packages with public names of their own."""


def write(folder: Path) -> None:
    """All pages; files that say the same are left alone, and those that nobody wrote are removed."""
    folder.mkdir(exist_ok=True)
    pages = dict(_pages())
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _pages() -> Iterator[tuple[str, str]]:
    yield "hooks", _hooks()
    parts: dict[str, list[str]] = {part: [] for part in TITLES}
    for name in schedframe.__all__:
        if name not in ("__version__", "wire"):
            parts[_part_of(name)].append(name)
    for part, names in parts.items():
        yield part, _page(TITLES[part], "schedframe", names)
    for package, title in PACKAGES.items():
        module = f"schedframe.{package}"
        yield package, _page(title, module, import_module(module).__all__)


def _part_of(name: str) -> str:
    value = getattr(schedframe, name)
    for part in TITLES:
        if getattr(import_module(f"schedframe.{part}"), name, None) is value:
            return part
    raise LookupError(f"no part has {name}")


def _page(title: str, module: str, names: Iterable[str]) -> str:
    lines = [title, "=" * len(title), "", f".. currentmodule:: {module}", ""]
    for name in sorted(names, key=str.lower):
        lines += _entry(module, name, getattr(import_module(module), name))
    return "\n".join(lines)


def _entry(module: str, name: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        options = ["   :members:", "   :show-inheritance:"]
        return [f".. autoclass:: {module}.{name}", *options, ""]
    if inspect.isroutine(value) or inspect.isfunction(inspect.unwrap(value)):
        return [f".. autofunction:: {module}.{name}", ""]
    return [f".. autodata:: {module}.{name}", "   :no-value:", ""]


def _hooks() -> str:
    """Each hook with its contract, in the order in which a pod meets them."""
    title = "Hooks"
    lines = [title, "=" * len(title), "", inspect.getdoc(_module()) or "", ""]
    point_of = {hook: point for point, hooks in HOOKS_OF_POINT.items() for hook in hooks}
    for name, hook in vars(Hookspecs).items():
        if not hasattr(hook, f"{schedframe.framework.hookspecs.PROJECT}_spec"):
            continue
        signature = inspect.signature(hook)
        arguments = ", ".join(each for each in signature.parameters if each != "self")
        lines += [name, "-" * len(name), "", f".. py:function:: {name}({arguments})", "   :no-index:", ""]
        point = f"Extension point: ``{point_of[name]}``. " if name in point_of else ""
        lines += [f"   {point}Returns ``{signature.return_annotation}``.", ""]
        lines += [f"   {line}".rstrip() for line in (inspect.getdoc(hook) or "").splitlines()]
        lines.append("")
    return "\n".join(lines)


def _module() -> Any:
    return import_module("schedframe.framework.hookspecs")
