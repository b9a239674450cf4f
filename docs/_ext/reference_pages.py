"""Writes the reference for each build: a page for each package with its public names, and the hooks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
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
    "embed": "Embedding",
    "testing": "Testing",
}


def write(folder: Path) -> None:
    """Write all pages to *folder*, leave equal files alone and remove pages that are no longer made."""
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
    for package, title in TITLES.items():
        yield package, "\n".join([title, "=" * len(title), "", *_names(package)])


def _names(package: str) -> Iterator[str]:
    """Yield the entries of a package: first the names that ``schedframe`` exports too, then the others."""
    public = import_module(f"schedframe.{package}").__all__
    top = set(public) & set(schedframe.__all__) & set(schedframe._EXPORTS.get(package, ()))
    for module, names in (("schedframe", top), (f"schedframe.{package}", set(public) - top)):
        if names:
            heading = f"From ``{module}``"
            yield from (heading, "-" * len(heading), "", f".. currentmodule:: {module}", "")
        for name in sorted(names, key=str.lower):
            yield from _entry(module, name, getattr(import_module(module), name))


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
