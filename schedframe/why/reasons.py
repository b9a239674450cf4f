"""The reasons of a rejected pod, counted over nodes, with the numbers behind shortages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._base.value import record
from ..framework import Diagnosis, Verdicts
from ..framework.all_filters import parts_of
from ..simulate import Evaluation
from ..simulate.amounts import amount_text
from ..state import NodeTable, Rows
from .near_misses import PODS, short_resource
from .selection import similar


@record(frozen=True)
class Reason:
    """One reason of the message, with numbers."""

    plugin: str
    reason: str
    nodes: int
    """Number of nodes on which it is the first obstacle, or one of several if the profile runs all filters.

    0 where no node was filtered.
    """
    numbers: str = ""
    """``needs 4 cpu, most free 3.2 on n17`` where a resource is short, else what the plugin says of it."""
    remark: str = ""
    """Whether all of a resource is taken, no node has any, or the pod is larger than any node."""

    def __str__(self) -> str:
        numbers = f": {'; '.join(filter(None, (self.numbers, self.remark)))}" if self.numbers else ""
        on = f"{self.nodes} node{'s' * (self.nodes != 1)}, " if self.nodes else ""
        return f"{on}{self.plugin or 'scheduler'}: {self.reason}{numbers}"

    def to_dict(self) -> dict[str, Any]:
        """Return the reason in plain types."""
        return {
            "plugin": self.plugin,
            "reason": self.reason,
            "nodes": self.nodes,
            "numbers": self.numbers,
            "remark": self.remark,
        }


def reasons_of(evaluation: Evaluation) -> tuple[Reason, ...]:
    """Return the reasons that the message counts, those with most nodes first; O(nodes × reasons)."""
    if evaluation.pre_enqueue is not None:
        gate = evaluation.pre_enqueue
        return tuple(Reason(gate.plugin, reason, 0) for reason in gate.reasons)
    decision = evaluation.decision
    if decision is None or decision.diagnosis is None:
        return ()
    causes = _causes(evaluation)
    reasons = []
    for (plugin, reason), count in _counts(decision.diagnosis).items():
        numbers, remark = _numbers(evaluation, decision.verdicts, plugin, reason)
        reasons.append(Reason(plugin, reason, count, numbers or causes.get((plugin, reason), ""), remark))
    return tuple(sorted(reasons, key=lambda each: (-each.nodes, each.plugin, each.reason)))


def _counts(diagnosis: Diagnosis) -> Counter[tuple[str, str]]:
    """Return plugin and reason → number of nodes, nodes that pre_filter excluded included."""
    counts: Counter[tuple[str, str]] = Counter()
    for status, count in diagnosis.verdicts.counts():
        for part in parts_of(status):
            for reason in part.reasons:
                counts[part.plugin, reason] += count
    missing = diagnosis.num_nodes - len(diagnosis)
    if diagnosis.absent is not None and missing > 0:
        for reason in diagnosis.absent.reasons:
            counts[diagnosis.absent.plugin, reason] += missing
    return counts


def _causes(evaluation: Evaluation) -> dict[tuple[str, str], str]:
    """Return plugin and reason → the explanation of its nodes; of several, that of most nodes.

    Where no node was filtered: what the plugin says of the pod. Several reasons of a node have one cause.
    """
    decision, lines = evaluation.decision, evaluation.plugin_explanations.nodes
    diagnosis = decision.diagnosis if decision is not None else None
    rejection = diagnosis.pre_filter_status if diagnosis is not None else None
    if rejection is not None:
        findings = "; ".join(evaluation.findings.get(rejection.plugin, ()))
        return dict.fromkeys(((rejection.plugin, reason) for reason in rejection.reasons), findings)
    counted: dict[tuple[str, str], Counter[str]] = {}
    examples: dict[str, str] = {}
    statuses = evaluation.statuses if lines else {}
    for node, line in lines.items():
        status = statuses.get(node)
        if status is not None:
            examples[line] = min(node, examples.get(line, node))
            for reason in status.reasons:
                counted.setdefault((status.plugin, reason), Counter())[line] += 1
    return {key: _most_frequent(lines_of, examples) for key, lines_of in counted.items()}


def _most_frequent(lines: Counter[str], examples: Mapping[str, str]) -> str:
    line = min(lines, key=lambda each: (-lines[each], examples[each]))
    return line if len(lines) == 1 else f"{line} (so on {examples[line]})"


def _numbers(evaluation: Evaluation, verdicts: Verdicts | None, plugin: str, reason: str) -> tuple[str, str]:
    """Return numbers and remark of a shortage, over the nodes that are rejected for that reason."""
    if verdicts is None:
        return "", ""
    codes, resources = [], set()
    for code, status in enumerate(verdicts.statuses, start=1):
        parts = [part for part in parts_of(status) if part.plugin == plugin and reason in part.reasons]
        if parts:
            codes.append(code)
            resources.add(short_resource(parts[0], reason))
    rows = verdicts.rows.select(np.flatnonzero(np.isin(verdicts.codes, codes)))
    if not len(rows):
        return "", ""
    shortages = [
        _shortage(rows, resource, needed)
        for resource, needed in (*evaluation.pod.requests.items(), (PODS, 1))
        if resource in resources and needed > 0
    ]
    numbers, remarks = zip(*shortages, strict=True) if shortages else ((), ())
    return ", ".join(filter(None, numbers)), "; ".join(filter(None, remarks))


def _meant(resource: str, table: NodeTable) -> str:
    """Return the similar resource that nodes have, as a question; empty if there is none."""
    rows = table.rows()
    known = [each for each in table.resources() if (rows.take(table.allocatable(each)) > 0).any()]
    meant = similar(resource, known)
    return f"; did you mean {meant}?" if meant else ""


def _shortage(rows: Rows, resource: str, needed: int) -> tuple[str, str]:
    """Return the numbers of *rows*, and what they mean in the whole cluster; empty without a shortage."""
    table, every = rows.table, rows.table.rows()
    totals = table.allowed_pods if resource == PODS else table.allocatable(resource)
    used = table.pod_count if resource == PODS else table.requested(resource)
    total = rows.take(totals)
    free = total - rows.take(used)
    most = int(free.max())
    if most >= needed:
        return "", ""
    names = rows.select(np.flatnonzero(free == most)).names()
    numbers = f"needs {amount_text(resource, needed)} {resource}"
    numbers += f", most free {amount_text(resource, most)} on {min(names)}"
    having, largest = int((every.take(totals) > 0).sum()), int(every.take(totals).max())
    if not having:
        return numbers, f"no node has {resource}{_meant(resource, table)}"
    if largest < needed:
        return numbers, f"larger than any node, the largest has {amount_text(resource, largest)}"
    with_any = int((total > 0).sum())
    if not with_any:
        others = f"{having} other nodes do" if having > 1 else "1 other node does"
        return numbers, f"none of these nodes has {resource}, {others}"
    if most <= 0:
        return numbers, f"all taken, on {with_any} node{'s' * (with_any > 1)} with {resource}"
    return numbers, ""
