"""Explanation of why a pod is where it is, or pending: as a value, a dictionary, a text, HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final

from attrs import field
from typing_extensions import override

from .._base.value import record
from .._base.visible import visible_json
from ..simulate import Evaluation
from . import text
from .change import VerifiedChange
from .comparison import ScoreComparison
from .groups import GroupExplanation
from .near_misses import NearMiss
from .reasons import Reason
from .recorder import RecordedDecision
from .selection import LabelConflict, MissingLabel
from .text import Section
from .waiting import Waiting

_SHOWN_DECISIONS: Final = 8
"""Earlier decisions in a text; ``history`` has all."""

_SHOWN_PODS: Final = 5
"""Pods like the explained one in a text; ``alike`` has all."""


class Verdict(StrEnum):
    """The state of the pod."""

    PENDING = "pending"
    """No node can run it."""
    FITS = "fits"
    """It has no node and would get one."""
    PLACED = "placed"
    """It has a node."""
    GATED = "gated"
    """A pre_enqueue plugin keeps it out of the queue."""
    IGNORED = "ignored"
    """No profile has its scheduler name, or it is being deleted."""
    FAILED = "failed"
    """A fault ends its cycle."""


@record(frozen=True, eq=False)
class Explanation:
    """The answer of :func:`explain`. ``str()`` is for people, ``to_dict()`` and ``to_json()`` have all."""

    pod: str
    """``namespace/name``."""
    verdict: Verdict
    message: str
    """One sentence: the pod's condition, or why its node won."""
    reasons: tuple[Reason, ...] = ()
    nearest: tuple[NearMiss, ...] = ()
    """Nodes with the fewest and smallest obstacles, nearest first."""
    changes: tuple[VerifiedChange, ...] = ()
    """Single changes after which the pod can run, each verified; the smallest first, one of each kind."""
    tried: int = 0
    """Number of changes that were tried out."""
    preemption: str | None = None
    """The node on which preemption would make room, ``None`` if it would not."""
    waiting: Waiting | None = None
    comparison: ScoreComparison | None = None
    history: tuple[RecordedDecision, ...] = ()
    """Earlier decisions about the pod, if the scheduler has a :class:`Recorder`; oldest first."""
    notes: tuple[str, ...] = ()
    evaluation: Evaluation | None = field(default=None, repr=False)
    """The evaluation from which all of this was read."""
    pairs: tuple[VerifiedChange, ...] = ()
    """Pairs of changes after which the pod can run, if no single change helps but a new node."""
    labels: tuple[MissingLabel | LabelConflict, ...] = ()
    """Required labels that no node has, with the values that exist."""
    alike: tuple[str, ...] = ()
    """Other pending pods with the same controller or an equal specification, ``namespace/name``."""
    group: GroupExplanation | None = None
    """What the pod group of the pod waits for, if groups are scheduled."""

    @property
    def smallest_change(self) -> VerifiedChange | None:
        """The first of :attr:`changes`, ``None`` if there is none."""
        return self.changes[0] if self.changes else None

    @property
    def findings(self) -> dict[str, tuple[str, ...]]:
        """Plugin that rejects the pod → what it says of pod and cluster, beyond its reasons."""
        found = self.evaluation.findings if self.evaluation is not None and self.reasons else {}
        rejecting = {each.plugin for each in self.reasons}
        said = "; ".join(each.numbers for each in self.reasons)
        left = {plugin: tuple(line for line in found[plugin] if line not in said) for plugin in found}
        return {plugin: lines for plugin, lines in left.items() if lines and plugin in rejecting}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the evaluation, in plain types."""
        return {
            "pod": self.pod,
            "verdict": str(self.verdict),
            "message": self.message,
            "reasons": [each.to_dict() for each in self.reasons],
            "findings": {plugin: list(lines) for plugin, lines in self.findings.items()},
            "nearest": [each.to_dict() for each in self.nearest],
            "changes": [each.to_dict() for each in self.changes],
            "pairs": [each.to_dict() for each in self.pairs],
            "tried": self.tried,
            "labels": [each.to_dict() for each in self.labels],
            "alike": list(self.alike),
            "group": self.group.to_dict() if self.group is not None else None,
            "preemption": self.preemption,
            "waiting": self.waiting.to_dict() if self.waiting is not None else None,
            "comparison": self.comparison.to_dict() if self.comparison is not None else None,
            "history": [each.to_dict() for each in self.history],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON."""
        return visible_json(json.dumps(self.to_dict(), indent=2, ensure_ascii=False))

    @override
    def __str__(self) -> str:
        return text.text(self._sections())

    def help_text(self) -> str:
        """Return the part of the text about what would help: labels, changes, pairs, pods alike, notes."""
        return text.text(self._help_sections())

    def _repr_html_(self) -> str:
        return text.html(self._sections())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {
            "text/plain": str(self),
            "text/html": self._repr_html_(),
            "application/json": self.to_dict(),
        }

    def _sections(self) -> Iterator[Section]:
        yield "", [f"{self.pod} {self.message}"]
        if self.reasons:
            yield "why", [str(each) for each in self.reasons]
        if self.findings:
            yield "known", [f"{plugin}: {line}" for plugin, lines in self.findings.items() for line in lines]
        if self.group is not None:
            yield "its group", self.group.lines()
        yield from self._label_section()
        if self.nearest:
            lines = [f"{each.node}  {'; '.join(map(str, each.obstacles))}" for each in self.nearest]
            yield "nearest nodes", lines
        if self.preemption is not None:
            yield "preemption", [f"makes room on {self.preemption}"]
        yield from self._change_sections()
        if self.comparison is not None and self.comparison.lines and self.comparison.other is not None:
            yield text.SCORE, self.comparison.table()
        if self.waiting is not None:
            yield "waits for", self.waiting.lines()
        yield from self._alike_section()
        if self.history:
            yield "last decisions", [str(each) for each in self.history[-_SHOWN_DECISIONS:]]
        if self.notes:
            yield "notes", list(self.notes)

    def _change_sections(self) -> Iterator[Section]:
        if self.changes:
            first, *others = self.changes
            yield "smallest change that helps", [str(first)]
            if others:
                yield "other changes that help", [str(each) for each in others]
        elif self.tried and not self.pairs:
            yield "changes", [f"none of {self.tried} single changes helps"]
        if self.pairs:
            yield "pairs of changes that help", [str(each) for each in self.pairs]

    def _label_section(self) -> Iterator[Section]:
        if self.labels:
            yield "labels", [str(each) for each in self.labels]

    def _alike_section(self) -> Iterator[Section]:
        if self.alike:
            more = len(self.alike) - _SHOWN_PODS
            shown = [*self.alike[:_SHOWN_PODS], *([f"{more} more"] if more > 0 else [])]
            yield "pending pods like it", [", ".join(shown)]

    def _help_sections(self) -> Iterator[Section]:
        yield from self._label_section()
        yield from self._change_sections()
        yield from self._alike_section()
        if self.notes:
            yield "notes", list(self.notes)
