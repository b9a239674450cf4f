"""The parts of an evaluation as plain data, field by field as the conformance data has them."""

from __future__ import annotations

from typing import Any

from .._base.value import record
from ..cycle import Decision
from ..fork.dry_run import DryRunCluster
from ..framework import SUCCESS, Code, PostFilterResult, Preemption, Status
from ..framework.preemption import rank
from .preemption_report import decided_by

Document = dict[str, Any]


@record(eq=False)
class PostFilterReport:
    """Result of post_filter in a simulation."""

    result: PostFilterResult | None
    status: Status
    writes: DryRunCluster

    @property
    def preemption(self) -> Preemption | None:
        """The preemption that it proposes, ``None`` if it answered something else."""
        details = self.result.details if self.result is not None else None
        return details if isinstance(details, Preemption) else None


def status_document(status: Status | None) -> Document:
    """Return a status in plain types; ``None`` is success."""
    if status is None:
        return {"code": Code.SUCCESS.label, "plugin": "", "reasons": []}
    return {"code": status.code.label, "plugin": status.plugin, "reasons": sorted(status.reasons)}


def pre_filter_document(decision: Decision | None) -> Document | None:
    """Return the outcome of pre_filter, ``None`` if it did not run."""
    if decision is None or decision.pre_filter is None:
        return None
    outcome = decision.pre_filter
    status = outcome.status or SUCCESS
    absent = status if status.is_rejected else outcome.absent_status
    document: Document = status_document(status)
    document["node_names"] = sorted(outcome.node_names) if outcome.node_names is not None else None
    document["skip_filter_plugins"] = sorted(decision.state.skip_filter_plugins)
    document["absent_status"] = status_document(absent) if absent is not None else None
    return document


def pre_score_document(decision: Decision | None) -> Document | None:
    """Return the outcome of pre_score, ``None`` if it did not run."""
    if decision is None or decision.feasible is None or not decision.scored:
        return None
    status = status_document(decision.pre_score_error)
    return {
        "code": status["code"],
        "reasons": status["reasons"],
        "skip_score_plugins": sorted(decision.state.skip_score_plugins),
    }


def post_filter_document(report: PostFilterReport | None) -> Document | None:
    """Return the outcome of post_filter, ``None`` if it did not run."""
    if report is None:
        return None
    document: Document = status_document(report.status)
    if report.status.is_success:
        document["plugin"] = ""
    nominating = report.result.nominating_info if report.result is not None else None
    document["nominated_node"] = (nominating.node_name or "") if nominating is not None else ""
    return document | _preemption_document(report.preemption or Preemption((), None))


def _preemption_document(preemption: Preemption) -> Document:
    ranking, chosen = rank(preemption.candidates), preemption.chosen
    document: Document = {
        "candidates": {
            candidate.node_name: {
                "victims": sorted(pod.key for pod in candidate.victims),
                "pdb_violations": candidate.pdb_violations,
            }
            for candidate in preemption.candidates
        },
        "nominated_nodes_tied": sorted(c.node_name for c in ranking.best),
        "victims": sorted(pod.key for pod in chosen.victims) if chosen is not None else [],
        "evicted": sorted(pod.key for pod in preemption.evicted),
        "cleared_nominations": sorted(pod.key for pod in preemption.cleared),
    }
    if chosen is not None:
        document["decided_by"] = decided_by(ranking)
        document["lost_by"] = {name: criterion.loses for name, criterion in ranking.lost.items()}
    return document
