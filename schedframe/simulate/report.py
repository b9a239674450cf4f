"""An evaluation for people: text, table, HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from attrs import frozen

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
            found.append(Line(name, status.plugin or "rejected", "", status.message))
    return found


def text(evaluation: Evaluation) -> str:
    """Several lines of plain text."""
    found = lines(evaluation)
    parts = [headline(evaluation)]
    width = max((len(line.node) for line in found[:SHOWN]), default=0)
    verdict_width = max((len(line.verdict) for line in found[:SHOWN]), default=0)
    for line in found[:SHOWN]:
        verdict = line.verdict.ljust(verdict_width)
        parts.append(f"  {line.node:<{width}}  {verdict}  {line.total:>5}  {line.detail}".rstrip())
    if len(found) > SHOWN:
        parts.append(f"  … and {len(found) - SHOWN} more nodes")
    return "\n".join(parts)


def table(evaluation: Evaluation) -> Table:
    """A rich table; needs the extra ``cli``."""
    from rich.table import Table

    result = Table("node", "verdict", "total", "detail", title=headline(evaluation), title_justify="left")
    for line in lines(evaluation)[:SHOWN]:
        result.add_row(line.node, line.verdict, line.total, line.detail)
    return result


def html(evaluation: Evaluation) -> str:
    """An HTML table for notebooks."""
    rows = "".join(
        f"<tr><td>{escape(line.node)}</td><td>{escape(line.verdict)}</td><td>{escape(line.total)}</td>"
        f"<td>{escape(line.detail)}</td></tr>"
        for line in lines(evaluation)[:SHOWN]
    )
    head = "<tr><th>node</th><th>verdict</th><th>total</th><th>detail</th></tr>"
    return f"<p>{escape(headline(evaluation))}</p><table>{head}{rows}</table>"


def _nodes(evaluation: Evaluation) -> int:
    decision = evaluation.decision
    if decision is None or decision.feasible is None:
        return 0
    return decision.feasible.table.num_nodes
