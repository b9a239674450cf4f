"""The reasons of a rejected pod, counted over nodes, with the numbers behind shortages."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from attrs import frozen

from .._brief import brief_repr
from ..framework import Diagnosis, Verdicts
from ..simulate import Evaluation
from ..simulate.amounts import amount_text
from .near_misses import PODS, short_resource


@brief_repr
@frozen
class Reason:
    """One reason of the message, with numbers."""

    plugin: str
    reason: str
    nodes: int
    """Number of nodes on which it is the first obstacle; 0 where no node was filtered."""
    numbers: str = ""
    """``needs 4 cpu, most free 3.2 on n17``, where a resource is short."""

    def __str__(self) -> str:
        numbers = f": {self.numbers}" if self.numbers else ""
        on = f"{self.nodes} node{'s' * (self.nodes != 1)}, " if self.nodes else ""
        return f"{on}{self.plugin or 'scheduler'}: {self.reason}{numbers}"

    def to_dict(self) -> dict[str, Any]:
        """Return the reason in plain types."""
        return {
            "plugin": self.plugin,
            "reason": self.reason,
            "nodes": self.nodes,
            "numbers": self.numbers,
        }


def reasons_of(evaluation: Evaluation) -> tuple[Reason, ...]:
    """Return the reasons that the message counts, those with most nodes first; O(nodes × reasons)."""
    if evaluation.pre_enqueue is not None:
        gate = evaluation.pre_enqueue
        return tuple(Reason(gate.plugin, reason, 0) for reason in gate.reasons)
    decision = evaluation.decision
    if decision is None or decision.diagnosis is None:
        return ()
    reasons = [
        Reason(plugin, reason, count, _numbers(evaluation, decision.verdicts, plugin, reason))
        for (plugin, reason), count in _counts(decision.diagnosis).items()
    ]
    return tuple(sorted(reasons, key=lambda each: (-each.nodes, each.plugin, each.reason)))


def _counts(diagnosis: Diagnosis) -> Counter[tuple[str, str]]:
    """Return plugin and reason → number of nodes, nodes that pre_filter excluded included."""
    counts: Counter[tuple[str, str]] = Counter()
    for status, count in diagnosis.verdicts.counts():
        for reason in status.reasons:
            counts[status.plugin, reason] += count
    missing = diagnosis.num_nodes - len(diagnosis)
    if diagnosis.absent is not None and missing > 0:
        for reason in diagnosis.absent.reasons:
            counts[diagnosis.absent.plugin, reason] += missing
    return counts


def _numbers(evaluation: Evaluation, verdicts: Verdicts | None, plugin: str, reason: str) -> str:
    """Return ``needs 4 cpu, most free 3.2 on n17``: over the nodes that are rejected for that reason."""
    if verdicts is None:
        return ""
    codes, resources = [], set()
    for code, status in enumerate(verdicts.statuses, start=1):
        if status.plugin == plugin and reason in status.reasons:
            codes.append(code)
            resources.add(short_resource(status, reason))
    rows = verdicts.rows.select(np.flatnonzero(np.isin(verdicts.codes, codes)))
    if not len(rows):
        return ""
    parts = []
    for resource, needed in (*evaluation.pod.requests.items(), (PODS, 1)):
        if resource not in resources or needed <= 0:
            continue
        table = rows.table
        used = rows.take(table.pod_count if resource == PODS else table.requested(resource))
        total = rows.take(table.allowed_pods if resource == PODS else table.allocatable(resource))
        free = total - used
        most = int(free.max())
        names = rows.select(np.flatnonzero(free == most)).names()
        if most < needed:
            need, left = amount_text(resource, needed), amount_text(resource, most)
            parts.append(f"needs {need} {resource}, most free {left} on {min(names)}")
    return ", ".join(parts)
