"""A report for people as text, rich table or HTML. Knows lines only, not what they were made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attrs import astuple

from .._base.value import record
from .._base.visible import visible, visible_lines

if TYPE_CHECKING:
    from rich.table import Table

SHOWN: Final = 20
"""Nodes that are listed one by one; the others are counted."""


@record(frozen=True)
class Line:
    """One node in a report."""

    node: str
    verdict: str
    total: str
    detail: str


@record(frozen=True)
class Report:
    """The content of a report."""

    headline: str
    nodes: tuple[Line, ...]
    remarks: tuple[str, ...]
    preemption: tuple[Line, ...]
    """The nodes on which preemption would work, the chosen one first."""


def text(report: Report) -> str:
    """Return several lines of plain text."""
    parts = [report.headline, *_listed(report.nodes, "{:>5}  "), *report.remarks]
    if report.preemption:
        parts += [f"preemption takes {report.preemption[0].node}:", *_listed(report.preemption, "{}")]
    return visible_lines(parts)


def _listed(lines: tuple[Line, ...], total: str) -> list[str]:
    """Return *lines* in columns. *total* is the format of the column of that name."""
    shown = [_visible(line) for line in lines[:SHOWN]]
    width = max((len(line.node) for line in shown), default=0)
    verdict_width = max((len(line.verdict) for line in shown), default=0)
    columns = f"  {{:<{width}}}  {{:<{verdict_width}}}  {total}{{}}"
    parts = [columns.format(*astuple(line)).rstrip() for line in shown]
    if len(lines) > SHOWN:
        parts.append(f"  … and {len(lines) - SHOWN} more nodes")
    return parts


def _visible(line: Line) -> Line:
    return Line(*map(visible, astuple(line)))


def table(report: Report) -> Table:
    """Return a rich table; needs the extra ``cli``."""
    from rich.table import Table
    from rich.text import Text

    def text(line: str) -> Text:  # without markup, which data may look like
        return Text(visible(line))

    result = Table("node", "verdict", "total", "detail", title=text(report.headline), title_justify="left")
    for line in report.nodes[:SHOWN]:
        result.add_row(*map(text, astuple(line)))
    if report.preemption:
        result.add_section()
        for line in report.preemption[:SHOWN]:
            result.add_row(*map(text, (line.node, f"preemption: {line.verdict}", line.total, line.detail)))
    if report.remarks:
        result.caption, result.caption_justify = Text(visible_lines(report.remarks)), "left"
    return result


def html(report: Report) -> str:
    """Return HTML tables for notebooks."""
    from html import escape

    parts = [f"<p>{escape(visible(report.headline))}</p>", _html_table("verdict", report.nodes)]
    parts += [f"<p>{escape(visible(remark))}</p>" for remark in report.remarks]
    if report.preemption:
        parts.append(_html_table("preemption", report.preemption))
    return "".join(parts)


def _html_table(verdict: str, lines: tuple[Line, ...]) -> str:
    from html import escape

    rows = "".join(
        f"<tr><td>{escape(line.node)}</td><td>{escape(line.verdict)}</td><td>{escape(line.total)}</td>"
        f"<td>{escape(line.detail)}</td></tr>"
        for line in map(_visible, lines[:SHOWN])
    )
    head = f"<tr><th>node</th><th>{verdict}</th><th>total</th><th>detail</th></tr>"
    return f"<table>{head}{rows}</table>"
