"""Writes the reference for each build: a page for each package with its public names, and the hooks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
from reference_members import documented, member_lines, members_of, parsed

import schedframe
from schedframe.framework import hookspecs
from schedframe.framework.declarations import DECLARATIONS
from schedframe.framework.hookspecs import Tier
from schedframe.framework.points import HOOKS, hooks_of_tier

TITLES = {
    "errors": "Errors",
    "api": "Objects",
    "cluster": "Clusters",
    "queue": "Queue and events",
    "config": "Configuration",
    "state": "State and columns",
    "framework": "Plugins and framework",
    "cycle": "Scheduler",
    "controllers": "Admission and controllers",
    "simulate": "Simulation",
    "traces": "Traces",
    "runs": "Runs of traces",
    "compare": "Comparisons of runs",
    "why": "Explanations: classes and functions",
    "capacity": "Room in a cluster",
    "embed": "Embedding",
    "testing": "Testing",
}
TIERS = {
    Tier.ESSENTIAL: (
        "Hooks: essential",
        """
        What an author begins with: a plugin of these hooks alone is complete. A plugin may name fewer
        arguments than a hook has; their types are classes of ``schedframe``. What a class may declare besides
        hooks is on :doc:`../plugin-declarations`. See :doc:`hooks-2-fast` to make it fast, and
        :doc:`hooks-3-kernel` for the forms that plugins on the path of every pod need.
        """,
    ),
    Tier.FAST: (
        "Hooks: fast plugins",
        """
        A plugin with ``pod_signature`` and ``depends_on`` is asked once for all pods alike, and only about
        nodes that changed. Columnar forms answer for many nodes in one call. ``schedframe plugins`` and
        ``check_plugin`` list plugins that are not cached, with the reason and the price. Also on this page:
        hooks that few plugins need, to compare two pods in the queue and to explain answers.
        """,
    ),
    Tier.KERNEL: (
        "Hooks: kernels",
        """
        Prepared and grouped forms of filter and score. They change the speed and never an answer: each form
        must agree with the hook that it replaces, which is needed too. The plugins for node resources, pod
        affinity and topology spreading use them.
        """,
    ),
}
DECLARATIONS_TEXT = [
    "Class attributes of a plugin. An attribute that looks like one of them and is none is refused.",
    "",
    *(f"- ``{name}``: {wanted}." for name, wanted in DECLARATIONS.items()),
    "",
    "What each of them does, with examples: :doc:`../plugin-declarations`.",
]


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
    for number, tier in enumerate(TIERS, 1):
        yield f"hooks-{number}-{tier.value}", _hooks(tier)
    for package, title in TITLES.items():
        yield package, "\n".join([title, "=" * len(title), "", *_names(package)])


def _names(package: str) -> Iterator[str]:
    """Yield the entries of a package: first the names that ``schedframe`` exports too, then the others."""
    public = import_module(f"schedframe.{package}").__all__
    top = {name for name in public if schedframe._PACKAGE_OF.get(name) == package}
    for module, names in (("schedframe", top), (f"schedframe.{package}", set(public) - top)):
        if names:
            heading = f"From ``{module}``"
            yield from (heading, "-" * len(heading), "", f".. currentmodule:: {module}", "")
        for name in sorted(names, key=str.lower):
            yield from _entry(module, name, getattr(import_module(module), name))


def _entry(module: str, name: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        listed = ", ".join(["__init__", "__new__", *members_of(value)])
        options = ["   :members:", f"   :exclude-members: {listed}", "   :show-inheritance:"]
        members = (f"   {line}".rstrip() for line in member_lines(value))
        return [f".. autoclass:: {module}.{name}{_signature(value)}", *options, "", *members]
    if inspect.isroutine(value) or inspect.isfunction(inspect.unwrap(value)):
        return [f".. autofunction:: {module}.{name}", ""]
    text = (inspect.getdoc(value) or "") if inspect.ismodule(value) else documentation(module, name)
    return [f".. py:data:: {name}", "", *(f"   {line}".rstrip() for line in text.splitlines()), ""]


def _signature(cls: type) -> str:
    """Return the arguments of *cls*; empty for enums and values, whose members follow."""
    if issubclass(cls, Enum) or attrs.has(cls) or "__init__" not in vars(cls):
        return ""
    parameters = inspect.signature(cls).parameters.values()
    return str(inspect.Signature([each.replace(annotation=_Bare(each.annotation)) for each in parameters]))


class _Bare(str):
    """An annotation that stands without quotes in a signature."""

    __slots__ = ()

    __repr__ = str.__str__


def documentation(module: str, name: str) -> str:
    """Return the text below the assignment of a public value; autodoc would show that of its type."""
    package = f"schedframe.{schedframe._PACKAGE_OF[name]}" if module == "schedframe" else module
    file = Path(import_module(package).__file__ or "")
    for path in sorted(file.parent.rglob("*.py")) if file.stem == "__init__" else [file]:
        text = documented(parsed(path).body).get(name)
        if text is not None:
            return inspect.cleandoc(text)
    return ""


def _hooks(tier: Tier) -> str:
    """Return the page of *tier*: each hook with its contract, in the order in which a pod meets them."""
    title, text = TIERS[tier]
    lines = [title, "=" * len(title), "", *inspect.cleandoc(text).splitlines(), ""]
    if tier is Tier.ESSENTIAL:
        lines += [inspect.getdoc(hookspecs) or "", ""]
    for name in hooks_of_tier(tier):
        hook, function = HOOKS[name], vars(hookspecs.Hookspecs)[name]
        signature = inspect.signature(function)
        arguments = ", ".join(f"{each}: {signature.parameters[each].annotation}" for each in hook.arguments)
        declared = f".. py:function:: {name}({arguments}) -> {signature.return_annotation}"
        lines += [name, "-" * len(name), "", declared, "   :no-index:", ""]
        lines += [f"   {_points(hook.spec)}", ""]
        lines += [f"   {line}".rstrip() for line in (inspect.getdoc(function) or "").splitlines()]
        lines.append("")
    if tier is Tier.FAST:
        lines += ["Declarations", "-" * 12, "", *DECLARATIONS_TEXT, ""]
    return "\n".join(lines)


def _points(spec: hookspecs.Spec) -> str:
    points = ", ".join(f"``{point}``" for point in spec.points) or "any at which the plugin is enabled"
    text = f"Extension point{'s' if len(spec.points) > 1 else ''}: {points}."
    if spec.form_of:
        text += f" Another form of ``{spec.form_of}``."
    if spec.needs:
        text += f" Needs {' or '.join(f'``{each}``' for each in spec.needs)}."
    return text
