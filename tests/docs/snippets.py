"""Code blocks of Markdown pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*|\{toctree\})$")


@frozen
class Block:
    """A fenced block: its language, the lines inside, and the line number of the first of them, from 1."""

    language: str
    lines: tuple[str, ...]
    first_line: int
    line_before: str
    """The line above the opening fence."""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of *page* in order; an AssertionError for one that is never closed."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = language = None
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence and start is None:
            start, language = number, fence["language"]
        elif line.strip() == "```" and start is not None and language is not None:
            before = lines[start - 1] if start else ""
            yield Block(language, tuple(lines[start + 1 : number]), start + 2, before)
            start = None
    assert start is None, f"{page_id(page)}:{start}: the block is not closed"
