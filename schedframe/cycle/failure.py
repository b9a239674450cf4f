"""What becomes of a pod whose attempt failed: back to the queue with its reasons, or forgotten if it is gone."""

from __future__ import annotations

from ..api import Pod, PodCondition
from ..framework import Code, Diagnosis, NominatingInfo, Status
from .core import Attempt, Core

POD_SCHEDULED = "PodScheduled"
REASON_UNSCHEDULABLE = "Unschedulable"
REASON_ERROR = "SchedulerError"
CLEAR_NOMINATION = NominatingInfo("")


def handle_failure(
    core: Core,
    attempt: Attempt,
    status: Status,
    diagnosis: Diagnosis | None = None,
    nominating: NominatingInfo | None = None,
) -> None:
    """End a failed attempt: requeue the pod as the cluster knows it now, tell the cluster why.

    *diagnosis* says why no node fits; without it the plugin in *status* rejected the pod after a node was chosen.
    An error clears the pod's nomination, *nominating* says otherwise what to do with it.
    """
    info, pod = attempt.info, attempt.pod
    unschedulable, pending = _rejectors(status, diagnosis)
    current = core.pending.get(pod.key)
    if current is None or current.uid != pod.uid:
        # Deleted, recreated under the same name, or placed by somebody else meanwhile.
        core.queue.done(pod.uid)
        core.queue.nominator.delete(pod)
        return
    if not status.is_rejected:
        core.report(status, pod, "scheduling")
        nominating = CLEAR_NOMINATION
    core.queue.add_unschedulable(info, current, unschedulable_plugins=unschedulable, pending_plugins=pending)
    if nominating is not None and nominating.node_name is not None:
        core.queue.nominator.add(current, nominating.node_name)
    message = diagnosis.message() if diagnosis is not None else status.message
    reason = REASON_UNSCHEDULABLE if status.is_rejected else REASON_ERROR
    tell(core, current, reason, message, nominating)


def _rejectors(status: Status, diagnosis: Diagnosis | None) -> tuple[set[str], set[str]]:
    """Plugins whose events may bring the pod back: (unschedulable, pending). None of either after an error."""
    if diagnosis is not None:
        return diagnosis.unschedulable_plugins, diagnosis.pending_plugins
    if not status.is_rejected or not status.plugin:
        return set(), set()
    return (set(), {status.plugin}) if status.code is Code.PENDING else ({status.plugin}, set())


def tell(core: Core, pod: Pod, reason: str, message: str, nominating: NominatingInfo | None) -> None:
    """Record the failure in the cluster, unless it stands there already."""
    core.cluster.record_event(pod, "Warning", "FailedScheduling", message)
    condition = PodCondition(type=POD_SCHEDULED, status="False", reason=reason, message=message)
    nomination = nominating.node_name if nominating is not None else None
    if nomination == pod.status.nominated_node_name:
        nomination = None
    known = _stands(pod, condition)
    if known and nomination is None:
        return
    core.write(
        lambda: core.cluster.patch_pod_status(
            pod, condition=None if known else condition, nominated_node_name=nomination
        ),
        pod,
        "telling why the pod is pending",
    )


def _stands(pod: Pod, condition: PodCondition) -> bool:
    return any(
        c.type == condition.type
        and c.status == condition.status
        and c.reason == condition.reason
        and c.message == condition.message
        for c in pod.status.conditions
    )
