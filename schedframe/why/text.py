"""Sections of lines as text or HTML. Data in a line cannot break it: control characters are visible."""

from __future__ import annotations

from collections.abc import Iterable

from .._base.visible import visible, visible_lines

Section = tuple[str, list[str]]
"""Title and lines. The first section of an explanation has no title and one line."""

SCORE = "score"
"""Title of the section whose lines are the rows of a table."""


def text(sections: Iterable[Section]) -> str:
    """Return plain text, one section after the other."""
    parts: list[str] = []
    for title, lines in sections:
        indent = "  " if title else ""
        parts += [f"{title}:"] if title else []
        parts += [f"{indent}{line}" for line in lines]
    return visible_lines(parts)


def html(sections: Iterable[Section]) -> str:
    """Return HTML for notebooks."""
    from html import escape

    parts = []
    for title, lines in sections:
        if not title:
            parts.append(f"<p><b>{escape(visible(lines[0]))}</b></p>")
        elif title == SCORE:
            parts.append(f"<p>{title}</p><pre>{escape(visible_lines(lines))}</pre>")
        else:
            items = "".join(f"<li>{escape(visible(line))}</li>" for line in lines)
            parts.append(f"<p>{escape(title)}</p><ul>{items}</ul>")
    return "".join(parts)
