"""An evaluation as plain data, field by field as the conformance data has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..cycle import Decision
from ..framework import RECORDED, SUCCESS, Preemption
from ..framework.preemption import rank
from .evaluation import Document, status_document
from .preempting import decided_by

if TYPE_CHECKING:
    from .evaluation import Evaluation


def record(evaluation: Evaluation) -> Document:
    """See :meth:`Evaluation.to_dict`."""
    decision = evaluation.decision
    found: Document = {
        "pre_enqueue": status_document(evaluation.pre_enqueue)
        if evaluation.pre_enqueue is not None
        else None,
        "prefilter": _pre_filter(decision),
        "filter": {name: status_document(status) for name, status in evaluation.statuses.items()},
        "feasible": evaluation.feasible,
        "prescore": _pre_score(decision),
        "scores": evaluation.scores,
        "total": evaluation.total,
        "best": evaluation.best,
        "post_filter": _post_filter(evaluation),
        "error": evaluation.error,
        "message": evaluation.message,
    }
    if evaluation.explanations:
        found["explanations"] = dict(evaluation.explanations)
    if evaluation.findings:
        found["findings"] = {plugin: list(told) for plugin, told in evaluation.findings.items()}
    if evaluation.skipped:
        found["skipped"] = True
    nominated = evaluation.pod.status.nominated_node_name
    if nominated and nominated in evaluation.feasible:
        found["nominated_node_feasible"] = nominated
    if evaluation.scoring_error is not None:
        found["scoring_error"] = evaluation.scoring_error
    if decision is not None:
        for field, tell in (decision.state.get(RECORDED) or {}).items():
            told = tell(evaluation.feasible)
            if told:
                found[field] = told
    return found


def _pre_filter(decision: Decision | None) -> Document | None:
    if decision is None or decision.pre_filter is None:
        return None
    outcome = decision.pre_filter
    status = outcome.status or SUCCESS
    absent = status if status.is_rejected else outcome.absent_status
    document: dict[str, Any] = status_document(status)
    document["node_names"] = sorted(outcome.node_names) if outcome.node_names is not None else None
    document["skip_filter_plugins"] = sorted(decision.state.skip_filter_plugins)
    document["absent_status"] = status_document(absent) if absent is not None else None
    return document


def _pre_score(decision: Decision | None) -> Document | None:
    if decision is None or decision.feasible is None or not decision.scored:
        return None
    status = status_document(decision.pre_score_error)
    return {
        "code": status["code"],
        "reasons": status["reasons"],
        "skip_score_plugins": sorted(decision.state.skip_score_plugins),
    }


def _post_filter(evaluation: Evaluation) -> Document | None:
    report = evaluation.post_filter
    if report is None:
        return None
    document: Document = status_document(report.status)
    if report.status.is_success:
        document["plugin"] = ""
    nominating = report.result.nominating_info if report.result is not None else None
    document["nominated_node"] = (nominating.node_name or "") if nominating is not None else ""
    details = report.result.details if report.result is not None else None
    return document | _preemption(details if isinstance(details, Preemption) else Preemption((), None))


def _preemption(found: Preemption) -> Document:
    ranking = rank(found.candidates)
    document: Document = {
        "candidates": {
            candidate.node_name: {
                "victims": sorted(pod.key for pod in candidate.victims),
                "pdb_violations": candidate.pdb_violations,
            }
            for candidate in found.candidates
        },
        "nominated_nodes_tied": sorted(c.node_name for c in ranking.best),
        "victims": sorted(pod.key for pod in found.chosen.victims) if found.chosen is not None else [],
        "evicted": sorted(pod.key for pod in found.evicted),
        "cleared_nominations": sorted(pod.key for pod in found.cleared),
    }
    if found.chosen is not None:
        document["decided_by"] = decided_by(ranking)
        document["lost_by"] = {name: criterion.loses for name, criterion in ranking.lost.items()}
    return document
