"""End of a failed attempt: the pod goes back to the queue with its reasons, or is done if it is gone."""

from __future__ import annotations

from collections.abc import Iterable

from ..._base.value import record
from ...framework import Code, CycleState, Diagnosis, Framework, NominatingInfo, Status
from ...queue import NominatingMode, PodClass, QueuedPodInfo
from ..core import Core
from ..outcomes import AttemptOutcome, AttemptResult, in_one_line
from .attempt import Attempt
from .ended import end
from .pod_status import REASON_ERROR, REASON_UNSCHEDULABLE, report_unschedulable

CLEAR_NOMINATION = NominatingInfo("")


@record(frozen=True, eq=False)
class Rejection:
    """The part of a large diagnosis that is kept: the plugins and the text."""

    unschedulable_plugins: set[str]
    pending_plugins: set[str]
    text: str

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> Rejection:
        """Return the same without the verdicts; O(nodes) for the text."""
        return cls(diagnosis.unschedulable_plugins, diagnosis.pending_plugins, diagnosis.message())

    def message(self) -> str:
        """See :class:`Diagnosis`."""
        return self.text


def handle_failure(
    core: Core,
    attempt: Attempt,
    status: Status,
    diagnosis: Diagnosis | Rejection | None = None,
    nominating: NominatingInfo | None = CLEAR_NOMINATION,
    pod_class: PodClass | None = None,
) -> None:
    """End a failed attempt: requeue the pod in its present version and write its status.

    *diagnosis* says why no node fits; without it the plugin in *status* rejected the pod on the chosen
    node, or something failed. *nominating* says what to do with the pod's nomination, ``None`` leaves it.
    *pod_class*: the pods with which it may wait.
    """
    if attempt.started:
        _observe(core, attempt, status, diagnosis)
    pod = attempt.pod
    current = core.pending.get(pod.key)
    if current is None or current.uid != pod.uid or current.is_terminating:
        # Deleted, recreated under the same name, or placed by another scheduler during the attempt.
        core.queue.done(attempt.info.uid)
        core.queue.nominator.delete(pod)
        return
    if not status.is_rejected:
        core.report(status, pod, "scheduling")
        attempt.info.failure = _failure(status)
    unschedulable, pending = _rejectors(core, attempt, status, diagnosis)
    core.queue.add_unschedulable(
        attempt.info,
        current,
        unschedulable_plugins=unschedulable,
        pending_plugins=pending,
        pod_class=pod_class,
    )
    if nominating is not None and nominating.node_name is not None:
        core.queue.nominator.add(current, nominating.node_name)
    elif current.status.nominated_node_name:
        core.queue.nominator.add(current, mode=NominatingMode.NOOP)
    reason = REASON_UNSCHEDULABLE if status.is_rejected else REASON_ERROR
    report_unschedulable(core, current, reason, in_one_line(status, diagnosis), nominating)


def requeue_interrupted(
    core: Core, framework: Framework, infos: Iterable[QueuedPodInfo], error: BaseException
) -> None:
    """Requeue the pods whose attempt *error* interrupted, such as Ctrl-C while a hook ran.

    Attempts that wait in permit, or are being bound, go on.
    """
    for info in infos:
        if info.uid in core.queue.in_flight and info.uid not in core.binding:
            attempt = Attempt(info, info.pod, framework, CycleState())
            handle_failure(core, attempt, Status.from_error(error))


def _observe(core: Core, attempt: Attempt, status: Status, diagnosis: Diagnosis | Rejection | None) -> None:
    if diagnosis is not None:
        plugins = diagnosis.unschedulable_plugins
        if diagnosis.pending_plugins:  # seldom; the union would copy the set for each attempt
            plugins = plugins | diagnosis.pending_plugins
    else:
        plugins = {status.plugin} if status.is_rejected and status.plugin else set()
    result = AttemptResult.UNSCHEDULABLE if status.is_rejected else AttemptResult.ERROR
    end(core, attempt, AttemptOutcome(result, plugins, status, diagnosis))


def _rejectors(
    core: Core, attempt: Attempt, status: Status, diagnosis: Diagnosis | Rejection | None
) -> tuple[set[str], set[str]]:
    """Plugins whose events may bring the pod back: (unschedulable, pending).

    None of either after an error, nor once binding has begun: the events since then were not kept, so the pod
    is tried again after its backoff whatever happens.
    """
    if attempt.framework is not core.frameworks.get(attempt.framework.profile_name):
        return set(), set()  # plugins of a former configuration register no events any more
    if diagnosis is not None:
        return diagnosis.unschedulable_plugins, diagnosis.pending_plugins
    if not status.is_rejected or not status.plugin or attempt.info.uid not in core.queue.in_flight:
        return set(), set()
    return (set(), {status.plugin}) if status.code is Code.PENDING else ({status.plugin}, set())


def _failure(status: Status) -> str:
    """Return the message of an error, which often names the plugin already, with the plugin."""
    named = not status.plugin or status.plugin in status.message
    return status.message if named else f"{status.plugin}: {status.message}"
