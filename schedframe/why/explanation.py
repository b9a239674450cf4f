"""Why a pod is where it is, or nowhere: as a value, a dictionary, a text, HTML."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from attrs import field, frozen
from typing_extensions import override

from ..simulate import Evaluation
from .change import VerifiedChange
from .comparison import ScoreComparison
from .obstacles import NearMiss
from .recorder import RecordedDecision
from .waiting import Waiting


class Verdict(StrEnum):
    """How it stands with the pod."""

    PENDING = "pending"
    """No node can run it."""
    FITS = "fits"
    """It has no node, and would get one."""
    PLACED = "placed"
    """It has a node."""
    GATED = "gated"
    """A pre_enqueue plugin keeps it out of the queue."""
    IGNORED = "ignored"
    """No profile has its scheduler name, or it is being deleted."""
    FAILED = "failed"
    """A fault ends its cycle."""


@frozen
class Reason:
    """One reason of the message, with numbers."""

    plugin: str
    reason: str
    nodes: int
    """On how many nodes it is the first obstacle; 0 where none was looked at."""
    numbers: str = ""
    """``needs 4 cpu, most free 3.2 on n17``, where a resource is short."""

    def __str__(self) -> str:
        numbers = f": {self.numbers}" if self.numbers else ""
        on = f"{self.nodes} node{'s' * (self.nodes != 1)}, " if self.nodes else ""
        return f"{on}{self.plugin or 'scheduler'}: {self.reason}{numbers}"

    def to_dict(self) -> dict[str, Any]:
        """In plain types."""
        return {
            "plugin": self.plugin,
            "reason": self.reason,
            "nodes": self.nodes,
            "numbers": self.numbers,
        }


@frozen(eq=False)
class Explanation:
    """The answer of :func:`explain`. ``str()`` tells it, ``to_dict()`` and ``to_json()`` hold everything."""

    pod: str
    """``namespace/name``."""
    verdict: Verdict
    message: str
    """One sentence: the pod's condition, or why its node won."""
    reasons: tuple[Reason, ...] = ()
    nearest: tuple[NearMiss, ...] = ()
    """Nodes with the fewest and smallest obstacles, nearest first."""
    changes: tuple[VerifiedChange, ...] = ()
    """Single changes after which the pod can run, each tried out; the smallest first, one of each kind."""
    tried: int = 0
    """How many changes were tried out."""
    preemption: str | None = None
    """The node on which preemption would make room by itself, if it would."""
    waiting: Waiting | None = None
    comparison: ScoreComparison | None = None
    history: tuple[RecordedDecision, ...] = ()
    """Earlier decisions about the pod, if the scheduler has a :class:`Recorder`; oldest first."""
    notes: tuple[str, ...] = ()
    evaluation: Evaluation | None = field(default=None, repr=False)
    """What all of this was read from."""

    @property
    def smallest_change(self) -> VerifiedChange | None:
        """The first of :attr:`changes`."""
        return self.changes[0] if self.changes else None

    def to_dict(self) -> dict[str, Any]:
        """Everything but the evaluation, in plain types."""
        return {
            "pod": self.pod,
            "verdict": str(self.verdict),
            "message": self.message,
            "reasons": [each.to_dict() for each in self.reasons],
            "nearest": [each.to_dict() for each in self.nearest],
            "changes": [each.to_dict() for each in self.changes],
            "tried": self.tried,
            "preemption": self.preemption,
            "waiting": self.waiting.to_dict() if self.waiting is not None else None,
            "comparison": self.comparison.to_dict() if self.comparison is not None else None,
            "history": [each.to_dict() for each in self.history],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @override
    def __str__(self) -> str:
        from .text import text

        return text(self)

    def _repr_html_(self) -> str:
        from .text import html

        return html(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {
            "text/plain": str(self),
            "text/html": self._repr_html_(),
            "application/json": self.to_dict(),
        }
