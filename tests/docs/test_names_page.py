"""The page about public names says what the packages export."""

from __future__ import annotations

from .tools import import_tool


def test_the_lists_are_those_of_the_packages() -> None:
    tool = import_tool("names_page")
    text = tool.PAGE.read_text(encoding="utf-8")
    assert text.partition(f"{tool.BEGIN}\n")[2] == tool.lists(), "run docs/_tools/names_page.py"
