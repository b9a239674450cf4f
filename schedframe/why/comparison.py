"""The scores of a pod's node and of the best other node, by plugin."""

from __future__ import annotations

from typing import Any

from .._base.value import record
from ..simulate import Evaluation


@record(frozen=True)
class ScoreLine:
    """The normalised and weighted scores of one plugin for both nodes."""

    plugin: str
    chosen: int
    other: int

    @property
    def lead(self) -> int:
        """The lead of the chosen node, in points."""
        return self.chosen - self.other


@record(frozen=True)
class ScoreComparison:
    """The node that a pod has or would get, against the best other node."""

    node: str
    total: int | None
    other: str | None
    other_total: int | None
    lines: tuple[ScoreLine, ...]
    """Plugins in the order of the profile."""
    tied: tuple[str, ...]
    """All nodes with the highest total; empty if there is only one."""
    feasible: int
    """Number of feasible nodes."""
    reason: str
    """Why the node won, in a sentence."""

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison in plain types."""
        return {
            "node": self.node,
            "total": self.total,
            "runner_up": self.other,
            "runner_up_total": self.other_total,
            "scores": {each.plugin: [each.chosen, each.other] for each in self.lines},
            "tied": list(self.tied),
            "feasible": self.feasible,
            "reason": self.reason,
        }

    def table(self) -> list[str]:
        """Return the lines of a table with a row for each plugin. Needs another node."""
        rows = [("plugin", self.node, str(self.other))]
        rows += [(each.plugin, str(each.chosen), str(each.other)) for each in self.lines]
        rows.append(("total", str(self.total), str(self.other_total)))
        first, second, third = (max(map(len, column)) for column in zip(*rows, strict=True))
        return [f"{row[0]:<{first}}  {row[1]:>{second}}  {row[2]:>{third}}".rstrip() for row in rows]


def compare_scores(evaluation: Evaluation, node: str) -> ScoreComparison:
    """Compare *node* with the best other feasible node; O(feasible nodes)."""
    totals, best, feasible = evaluation.total, evaluation.best, evaluation.feasible
    others = sorted((name for name in totals if name != node), key=lambda name: (-totals[name], name))
    other = others[0] if others else None
    lines: tuple[ScoreLine, ...] = ()
    if node in totals:
        lines = tuple(
            ScoreLine(plugin, scores[node], scores[other] if other is not None else 0)
            for plugin, scores in evaluation.scores.items()
        )
    tied = tuple(best) if len(best) > 1 else ()
    return ScoreComparison(
        node,
        totals.get(node),
        other,
        totals[other] if other is not None else None,
        lines,
        tied,
        len(feasible),
        _reason(evaluation, node, other, lines, tied),
    )


def _reason(
    evaluation: Evaluation, node: str, other: str | None, lines: tuple[ScoreLine, ...], tied: tuple[str, ...]
) -> str:
    totals = evaluation.total
    if node not in evaluation.feasible:
        status = evaluation.statuses.get(node)
        why = status.message if status is not None else evaluation.message or "it is no candidate"
        return f"{node} would not be chosen any more: {why}"
    if other is None or node not in totals:
        return f"{node} is the only node on which it can run"
    lead = totals[node] - totals[other]
    differing = sorted((each for each in lines if each.lead), key=lambda each: -abs(each.lead))
    parts = ", ".join(f"{each.plugin} {each.lead:+d}" for each in differing)
    if node in tied:
        others = f"{len(tied) - 1} other{'s' * (len(tied) > 2)}"
        return f"{node} ties with {others} at {totals[node]}: one of them is drawn at random"
    if lead > 0:
        return f"{node} leads {other} by {lead}: {parts}"
    return f"{node} would not be chosen any more: {other} leads by {-lead}: {parts}"
