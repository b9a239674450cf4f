"""The page of former names has the table of the code, row by row."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins_builtin.legacy.config.names import PLUGINS, PREDICATES, PRIORITIES, Successor
from plugins_builtin.legacy.flags import FORMER_FLAGS
from schedframe import Registry

PAGE = (Path(__file__).parents[3] / "docs/reference/legacy-names.md").read_text(encoding="utf-8")
LINES = PAGE.splitlines()


def row(name: str, successor: Successor) -> str:
    plugins = ", ".join(successor.plugins) or "none"
    return f"| `{name}` | {successor.since} | {successor.removed} | {plugins} | {successor.note} |".replace(
        "  ", " "
    )


@pytest.mark.parametrize(
    ("names", "heading"),
    [(PREDICATES, "Predicates"), (PRIORITIES, "Priorities"), (PLUGINS, "Plugins of older configurations")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_table_is_that_of_the_code(names: dict[str, Successor], heading: str) -> None:
    start = LINES.index(f"## {heading}")
    stop = next(i for i in range(start + 1, len(LINES) + 1) if i == len(LINES) or LINES[i].startswith("## "))
    found = [line.replace("  ", " ") for line in LINES[start:stop] if line.startswith("| `")]
    assert found == [row(name, successor) for name, successor in names.items()]


def test_every_plugin_of_the_tables_is_installed() -> None:
    registry = Registry.installed()
    for names in (PREDICATES, PRIORITIES, PLUGINS):
        for successor in names.values():
            assert all(plugin in registry for plugin in successor.plugins)


def test_flags() -> None:
    for flag, successor in FORMER_FLAGS.items():
        assert f"| `{flag}` | {successor} |" in PAGE
