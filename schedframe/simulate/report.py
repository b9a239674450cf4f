"""An evaluation for people: text, table, HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from attrs import astuple, frozen

from . import preempting

if TYPE_CHECKING:
    from rich.table import Table

    from .evaluation import Evaluation

SHOWN = 20
"""Nodes listed one by one; the rest is summed up."""


@frozen
class Line:
    """One node in a report."""

    node: str
    verdict: str
    total: str
    detail: str


def headline(evaluation: Evaluation) -> str:
    """The answer in one sentence."""
    key = evaluation.pod.key
    if evaluation.skipped:
        why = (
            "it is being deleted"
            if evaluation.pod.is_terminating
            else f"no profile is named {evaluation.profile}"
        )
        return f"{key} is left alone: {why}"
    if evaluation.pre_enqueue is not None:
        gate = evaluation.pre_enqueue
        return f"{key} is held back by {gate.plugin}: {gate.message}"
    if evaluation.error is not None:
        return f"{key} cannot be scheduled, the cycle failed: {evaluation.error}"
    best = evaluation.best
    if best:
        tie = f" (or {len(best) - 1} other with the same score)" if len(best) > 1 else ""
        return f"{key} fits {len(evaluation.feasible)} of {_nodes(evaluation)} nodes, best is {best[0]}{tie}"
    return f"{key} stays pending: {evaluation.message}"


def lines(evaluation: Evaluation) -> list[Line]:
    """Feasible nodes, best first, then rejected ones by name."""
    total, scores = evaluation.total, evaluation.scores
    feasible = sorted(evaluation.feasible, key=lambda name: (-total.get(name, 0), name))
    best = set(evaluation.best)
    found = [
        Line(
            name,
            "best" if name in best else "fits",
            str(total[name]) if name in total else "",
            ", ".join(f"{plugin} {by_node[name]}" for plugin, by_node in scores.items()),
        )
        for name in feasible
    ]
    for name, status in sorted(evaluation.statuses.items()):
        if status is not None:
            behind = evaluation.explanations.get(name)
            detail = f"{status.message}: {behind}" if behind else status.message
            found.append(Line(name, status.plugin or "rejected", "", detail))
    return found


def remarks(evaluation: Evaluation) -> list[str]:
    """What plugins found out about the pod as a whole."""
    return [f"{plugin}: {line}" for plugin, told in evaluation.findings.items() for line in told]


def preemption(evaluation: Evaluation) -> list[Line]:
    """The nodes on which preemption would work, the one that it takes first."""
    found = evaluation.preemption
    if found is None:
        return []
    return [Line(node, why, "", victims) for node, why, victims in preempting.lines(found)]


def text(evaluation: Evaluation) -> str:
    """Several lines of plain text."""
    parts = [headline(evaluation), *_listed(lines(evaluation), "{:>5}  "), *remarks(evaluation)]
    found = preemption(evaluation)
    if found:
        parts += [f"preemption takes {found[0].node}:", *_listed(found, "{}")]
    return "\n".join(parts)


def _listed(found: list[Line], total: str) -> list[str]:
    """*total* is the format of the column of that name."""
    shown = found[:SHOWN]
    width = max((len(line.node) for line in shown), default=0)
    verdict_width = max((len(line.verdict) for line in shown), default=0)
    columns = f"  {{:<{width}}}  {{:<{verdict_width}}}  {total}{{}}"
    parts = [columns.format(*astuple(line)).rstrip() for line in shown]
    if len(found) > SHOWN:
        parts.append(f"  … and {len(found) - SHOWN} more nodes")
    return parts


def table(evaluation: Evaluation) -> Table:
    """A rich table; needs the extra ``cli``."""
    from rich.table import Table

    result = Table("node", "verdict", "total", "detail", title=headline(evaluation), title_justify="left")
    for line in lines(evaluation)[:SHOWN]:
        result.add_row(line.node, line.verdict, line.total, line.detail)
    found = preemption(evaluation)
    if found:
        result.add_section()
        for line in found[:SHOWN]:
            result.add_row(line.node, f"preemption: {line.verdict}", line.total, line.detail)
    told = remarks(evaluation)
    if told:
        result.caption, result.caption_justify = "\n".join(told), "left"
    return result


def html(evaluation: Evaluation) -> str:
    """An HTML table for notebooks."""
    parts = [f"<p>{escape(headline(evaluation))}</p>", _html_table("verdict", lines(evaluation))]
    parts += [f"<p>{escape(remark)}</p>" for remark in remarks(evaluation)]
    found = preemption(evaluation)
    if found:
        parts.append(_html_table("preemption", found))
    return "".join(parts)


def _html_table(verdict: str, found: list[Line]) -> str:
    rows = "".join(
        f"<tr><td>{escape(line.node)}</td><td>{escape(line.verdict)}</td><td>{escape(line.total)}</td>"
        f"<td>{escape(line.detail)}</td></tr>"
        for line in found[:SHOWN]
    )
    head = f"<tr><th>node</th><th>{verdict}</th><th>total</th><th>detail</th></tr>"
    return f"<table>{head}{rows}</table>"


def _nodes(evaluation: Evaluation) -> int:
    decision = evaluation.decision
    if decision is None or decision.feasible is None:
        return 0
    return decision.feasible.table.num_nodes
