"""Changes that would help the pods that stay pending, in the cluster as it is after the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ..._base.value import record
from ...api import Pod
from ...simulate import Simulation

if TYPE_CHECKING:
    from ...why import Explanation

MOST_EXPLAINED: Final = 20
"""Pods for which changes are searched, each a second of CPU at 1,000 nodes; pods alike share one search."""


@record(frozen=True, eq=False)
class Proposals:
    """The answer for one pod: its own, that for a pod alike, or none."""

    explanation: Explanation | None = None
    same_as: str = ""
    """The pod alike whose answer holds for this one, ``namespace/name``; empty if there is none."""

    def to_dict(self) -> dict[str, Any]:
        """Return what helps in plain types."""
        if self.explanation is None:
            return {"same_as": self.same_as or None}
        document = self.explanation.to_dict()
        return {key: document[key] for key in ("changes", "pairs", "tried", "labels", "alike", "notes")}

    def __str__(self) -> str:
        if self.explanation is not None:
            return self.explanation.help_text()
        if self.same_as:
            return f"what helps: as for {self.same_as}"
        return "what helps: not searched for that many pods; ask with explain --after"


def proposals_for(simulation: Simulation, pending: Sequence[Pod]) -> dict[str, Proposals]:
    """Return pod → what helps it, for *pending* pods of *simulation*; O(pods × different pods)."""
    from ...why.alike import are_alike
    from ...why.explain import explain_pending

    proposals: dict[str, Proposals] = {}
    different: list[Pod] = []
    for pod in pending:
        like = next((each for each in different if are_alike(each, pod)), None)
        if like is None and len(different) < MOST_EXPLAINED:
            different.append(pod)
        proposals[pod.key] = Proposals(same_as=like.key if like is not None else "")
    for explanation in explain_pending(simulation, different):
        proposals[explanation.pod] = Proposals(explanation)
    return proposals
