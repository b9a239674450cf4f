"""The end of an attempt for which no node is feasible."""

from __future__ import annotations

from ..framework import Code, NominatingInfo, Status
from .binding.attempt import Attempt
from .binding.failure import CLEAR_NOMINATION, handle_failure
from .core import Core
from .rejections import KnownRejections
from .search.decision import Decision

UNSCHEDULABLE = Status.unschedulable()


def end_without_node(
    core: Core, attempt: Attempt, decision: Decision, rejections: KnownRejections | None
) -> None:
    """Run post_filter, then requeue the pod; other pods that *rejections* knows to be equal wait with it."""
    diagnosis = decision.diagnosis
    assert diagnosis is not None
    nominating: NominatingInfo | None = CLEAR_NOMINATION
    result = None
    if attempt.framework.plan.post_filter:
        result, status = attempt.framework.run_post_filter(attempt.state, attempt.pod, diagnosis)
        if core.observers.post_filter_ended is not None:
            core.observers.post_filter_ended(attempt.pod, result)
        diagnosis.post_filter_message = status.message
        nominating = result.nominating_info if result is not None else None
        if status.code is Code.ERROR:
            core.report(status, attempt.pod, "post_filter")
    pod_class = None
    if rejections is not None and not decision.shortcut and not decision.extenders:
        pod_class = rejections.record(attempt.framework, attempt.pod, diagnosis, result)
    handle_failure(core, attempt, UNSCHEDULABLE, diagnosis, nominating, pod_class)
