"""The page about metrics says what the definitions say."""

from __future__ import annotations

from .tools import import_tool


def test_the_tables_are_those_of_the_definitions() -> None:
    tool = import_tool("metrics_page")
    text = tool.PAGE.read_text(encoding="utf-8")
    assert text.partition(f"{tool.BEGIN}\n")[2] == tool.tables(), "run docs/_tools/metrics_page.py"
