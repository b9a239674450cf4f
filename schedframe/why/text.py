"""An explanation for people: sections of lines, as text or HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from .explanation import Explanation

Section = tuple[str, list[str]]

SHOWN = 8
"""Lines of a section; the rest is counted."""


def sections(explanation: Explanation) -> Iterator[Section]:
    """Title and lines of all that there is to tell."""
    yield "", [f"{explanation.pod} {explanation.message}"]
    if explanation.reasons:
        yield "why", [str(each) for each in explanation.reasons]
    if explanation.nearest:
        yield (
            "nearest nodes",
            [f"{each.node}  {'; '.join(map(str, each.obstacles))}" for each in explanation.nearest],
        )
    if explanation.preemption is not None:
        yield "preemption", [f"makes room on {explanation.preemption}"]
    if explanation.changes:
        first, *others = explanation.changes
        yield "smallest change that helps", [str(first)]
        if others:
            yield "other changes that help", [str(each) for each in others]
    elif explanation.tried:
        yield "changes", [f"none of {explanation.tried} single changes helps"]
    if explanation.comparison is not None:
        yield from _comparison(explanation)
    if explanation.waiting is not None:
        yield "waits for", explanation.waiting.lines()
    if explanation.history:
        yield "last decisions", [str(each) for each in explanation.history[-SHOWN:]]
    if explanation.notes:
        yield "notes", list(explanation.notes)


def _comparison(explanation: Explanation) -> Iterator[Section]:
    found = explanation.comparison
    assert found is not None
    if found.lines and found.other is not None:
        rows = [("plugin", found.node, found.other)]
        rows += [(each.plugin, str(each.chosen), str(each.other)) for each in found.lines]
        rows.append(("total", str(found.total), str(found.other_total)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        yield (
            "score",
            [f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}".rstrip() for row in rows],
        )


def text(explanation: Explanation) -> str:
    """Plain text, a section after the other."""
    lines: list[str] = []
    for title, told in sections(explanation):
        indent = "  " if title else ""
        lines += [f"{title}:"] if title else []
        lines += [f"{indent}{line}" for line in told]
    return "\n".join(lines)


def html(explanation: Explanation) -> str:
    """The same for notebooks."""
    parts = []
    for title, told in sections(explanation):
        if not title:
            parts.append(f"<p><b>{escape(told[0])}</b></p>")
        elif title == "score":
            parts.append(f"<p>{title}</p><pre>{escape(chr(10).join(told))}</pre>")
        else:
            items = "".join(f"<li>{escape(line)}</li>" for line in told)
            parts.append(f"<p>{escape(title)}</p><ul>{items}</ul>")
    return "".join(parts)
