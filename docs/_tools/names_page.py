"""The lists of docs/reference/public-names.md, from the exports: ``python docs/_tools/names_page.py``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import schedframe

DOCS: Final = Path(__file__).resolve().parents[1]
PAGE: Final = DOCS / "reference" / "public-names.md"
BEGIN: Final = "<!-- lists -->"
FIRST_PAGE, PACKAGES, PACKAGE_OF = (vars(schedframe)[n] for n in ("_FIRST_PAGE", "_PACKAGES", "_PACKAGE_OF"))
OTHERS: Final = (
    "bench",
    "cluster.kubernetes",
    "embed",
    "extenders",
    "metrics",
    "serve",
    "testing",
    "tracing",
)
"""Packages with public names that are not attributes of ``schedframe``: they load what is optional."""


def lists() -> str:
    """Return the first page by groups, then the other names of each package, as Markdown."""
    lines: list[str] = []
    for group, packages in FIRST_PAGE.items():
        lines += [
            "",
            f"## {group[0].upper()}{group[1:]}",
            "",
            "| name | package | what |",
            "| --- | --- | --- |",
        ]
        rows = [(name, package) for package, names in packages.items() for name in names]
        lines += [f"| `{name}` | `{package}` | {_what(name, package)} |" for name, package in sorted(rows)]
    lines += ["", "## Only in their packages"]
    for package in sorted({*PACKAGES, *OTHERS}):
        names = [name for name in _exported(package) if PACKAGE_OF.get(name) != package]
        if names:
            lines += ["", f"### schedframe.{package}", "", *_wrapped(sorted(names, key=str.lower))]
    return "\n".join(lines) + "\n"


def _exported(package: str) -> Iterable[str]:
    names: Iterable[str] = import_module(f"schedframe.{package}").__all__
    return names


def _what(name: str, package: str) -> str:
    """Return the first sentence of the docstring, or the value of a constant."""
    value = getattr(schedframe, name)
    if isinstance(value, ModuleType) or callable(value):
        text = (inspect.getdoc(value) or "").partition("\n\n")[0]
    else:
        text = _documentation(f"schedframe.{package}", name).partition("\n\n")[0] or f"``{value!r}``"
    sentence = " ".join(text.split()).partition(". ")[0]
    return _markdown(sentence).rstrip(".").replace("|", "\\|")


def _documentation(module: str, name: str) -> str:
    """Return the text below the assignment of a public value."""
    if str(DOCS / "_ext") not in sys.path:
        sys.path.append(str(DOCS / "_ext"))
    find: Any = import_module("reference_pages").documentation
    return str(find(module, name))


def _markdown(text: str) -> str:
    """Turn the roles and literals of docstrings into code."""
    parts = text.replace("``", "`").split(":`")
    words = [part.rpartition(":")[0] if part.rpartition(":")[2] in _ROLES else part for part in parts[:-1]]
    return "`".join([*words, parts[-1]]).replace("`~.", "`").replace("`.", "`").replace("`~", "`")


_ROLES: Final = frozenset({"class", "meth", "mod", "func", "data", "attr"})


def _wrapped(names: Iterable[str]) -> Iterator[str]:
    line = ""
    for name in names:
        word = f"`{name}`"
        if len(line) + len(word) + 2 > 120:
            yield line + ","
            line = word
        else:
            line = f"{line}, {word}" if line else word
    yield line


def main() -> None:
    """Write the lists into the page."""
    head = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
    PAGE.write_text(f"{head}{BEGIN}\n{lists()}", encoding="utf-8")


if __name__ == "__main__":
    main()
