"""Reasons for which a pod finds no node in a fork, with numbers, and the smallest change that helps."""

from __future__ import annotations

from typing import Any, Final

from attrs import field

from .._base.value import record
from ..api import Pod
from ..fork import Fork
from ..why import Explanation, Reason, VerifiedChange
from ..why.explain import explain_in_fork

API_VERSION: Final = "schedframe.dev/v1alpha1"
"""Version of the documents of this package; the reference page has their fields."""
BUDGET: Final = 40
"""Changes that are tried out for one pod; each is a search among all nodes, a few ms at 5,000 nodes."""


@record(frozen=True)
class Obstacle:
    """The reasons that keep a pod from a node. ``str()`` has a line for each, and the change that helps."""

    pod: str
    """``namespace/name`` of the pod, or of what it is one more of."""
    message: str
    """Why no node fits."""
    reasons: tuple[Reason, ...] = ()
    """The same by plugin, with numbers."""
    change: VerifiedChange | None = None
    """The smallest change after which it fits; ``None`` if none was found."""
    explanation: Explanation | None = field(default=None, repr=False, eq=False)

    def __str__(self) -> str:
        lines = [f"{self.pod}: {self.message}", *[f"  {each}" for each in self.reasons]]
        if self.change is not None:
            lines.append(f"  smallest change: {self.change}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the obstacle in plain types."""
        return {
            "pod": self.pod,
            "message": self.message,
            "reasons": [each.to_dict() for each in self.reasons],
            "change": None if self.change is None else self.change.to_dict(),
        }


def obstacle_of(fork: Fork, pod: Pod, key: str, message: str, budget: int = BUDGET) -> Obstacle:
    """Return what keeps *pod*, which waits in *fork*, from a node; *message* is what the scheduler said.

    O(nodes × changes that are tried).
    """
    explanation = explain_in_fork(fork, pod, changes=1, nearest=0, budget=budget)
    return Obstacle(key, message, explanation.reasons, explanation.smallest_change, explanation)
