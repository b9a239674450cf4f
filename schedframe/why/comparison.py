"""Why this node and not the next best: the score by plugin of both."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from ..simulate import Evaluation


@frozen
class ScoreLine:
    """What one plugin gave both nodes, normalised and weighted."""

    plugin: str
    chosen: int
    other: int

    @property
    def lead(self) -> int:
        """Points in favour of the chosen node."""
        return self.chosen - self.other


@frozen
class ScoreComparison:
    """The node that a pod has, or would get, and the best of the others."""

    node: str
    total: int | None
    other: str | None
    other_total: int | None
    lines: tuple[ScoreLine, ...]
    """Plugins in the order of the profile."""
    tied: tuple[str, ...]
    """All nodes with the highest total where they are several."""
    feasible: int
    reason: str
    """Why the node won, in a sentence."""

    def to_dict(self) -> dict[str, Any]:
        """In plain types."""
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


def compared(evaluation: Evaluation, node: str) -> ScoreComparison:
    """*node* against the best other feasible node; O(feasible nodes)."""
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
