"""Status of pending pods: condition and nominated node, written only where they change."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import Final

from ..._base.checked import unchecked
from ...api import POD_SCHEDULED, Pod, PodCondition
from ...api._text import without_surrogates
from ...cluster import NotFound
from ...framework import NominatingInfo
from ..core import Core
from ..messages import Withdrawal
from .api_writes import WrittenStatus
from .attempt import Attempt

REASON_UNSCHEDULABLE = "Unschedulable"
REASON_ERROR = "SchedulerError"
LONGEST_NOTE = 1024
"""Characters of the message of an event; the API takes no longer ones."""
WRITES_KEPT = 16
"""Written statuses of one pod whose events are still to come; the events of earlier ones count as news."""


Changes = tuple[PodCondition | None, str | None]
"""A condition and a nomination to write, ``None`` where nothing changes."""


def report_unschedulable(
    core: Core, pod: Pod, reason: str, message: str, nominating: NominatingInfo | None
) -> None:
    """Record in the cluster why the attempt failed; *nominating* says what to do with the nomination."""
    condition = _condition(pod, reason, message)
    node_name = None if nominating is None else nominating.node_name
    _report(core, pod, condition, _changes(core, pod, condition, node_name))


def refresh_unschedulable(core: Core, pod: Pod, message: str) -> None:
    """Record in the cluster why a rejected pod waits now, if the reason changed since it was recorded."""
    condition = _condition(pod, REASON_UNSCHEDULABLE, message)
    changes = _changes(core, pod, condition, None)
    if changes is not None:
        _report(core, pod, condition, changes)


_new_condition: Final = unchecked(PodCondition)


def _condition(pod: Pod, reason: str, message: str) -> PodCondition:
    return _new_condition(
        type=POD_SCHEDULED,
        status="False",
        reason=reason,
        message=without_surrogates(message),  # as the API server shows it, which tells own updates
        observed_generation=pod.metadata.generation,
    )


def _report(core: Core, pod: Pod, condition: PodCondition, changes: Changes | None) -> None:
    """Write *changes*, and an event."""
    message = condition.message
    note = message if len(message) <= LONGEST_NOTE else f"{message[: LONGEST_NOTE - 4]} ..."

    def patch() -> Awaitable[None] | None:
        return None if changes is None else _patch(core, pod, changes)

    def record() -> None:
        core.cluster.record_event(pod, "Warning", "FailedScheduling", note, "Scheduling")

    core.writes.submit(patch, pod, "writing why the pod is pending", then=record)


def publish_expected_node(core: Core, attempt: Attempt, plugin: str) -> None:
    """Write the expected node to the pod's status if the pod waits for long, for other planners.

    *plugin* is the first one that the pod waits for: a fault of the write names it. A nomination that stands
    there is replaced at once.
    """
    pod = core.pending.get(attempt.pod.key)
    if pod is None or pod.uid != attempt.pod.uid:
        return
    delayed = core.delayed_nominations
    if not delayed.delay or _standing(core, pod).nominated_node_name:
        _write_expected_node(core, attempt, plugin)
    else:
        delayed.add(attempt, plugin, core.now)
        _time_nominations(core)


def write_delayed_nominations(core: Core) -> None:
    """Write at once what is kept back, because this scheduler ends and the next one reads it."""
    for each in core.delayed_nominations.take_all(partial(_is_under_way, core)):
        _write_expected_node(core, each.attempt, each.plugin)


def _time_nominations(core: Core) -> None:
    """Ask for a call when the first delayed nomination is due. One call for all: each wakes the core."""
    delayed = core.delayed_nominations
    deadline = delayed.next_deadline()
    if deadline is not None and not delayed.is_timed:
        delayed.is_timed = True
        core.timers.add(deadline, partial(_write_due_nominations, core))


def _write_due_nominations(core: Core) -> None:
    delayed = core.delayed_nominations
    delayed.is_timed = False
    for each in delayed.due(core.now, partial(_is_under_way, core)):
        _write_expected_node(core, each.attempt, each.plugin)
    _time_nominations(core)


def _is_under_way(core: Core, attempt: Attempt) -> bool:
    return core.binding.get(attempt.pod.uid) is attempt and not attempt.deleted


def _write_expected_node(core: Core, attempt: Attempt, plugin: str) -> None:
    pod = core.pending.get(attempt.pod.key)
    if pod is None or pod.uid != attempt.pod.uid:
        return
    changes = _changes(core, pod, None, attempt.node_name)
    if changes is not None:
        core.expected.add(pod.uid)
        core.writes.submit(
            lambda: _patch(core, pod, changes), pod, "writing where the pod is expected", plugin=plugin
        )


def withdraw_nomination(core: Core, pod: Pod) -> None:
    """Withdraw the nomination of *pod*, here by the inbox and in its status."""
    core.inbox.put(Withdrawal(pod))
    current = core.pending.get(pod.key)
    if current is None or current.uid != pod.uid:
        return
    changes = _changes(core, current, None, "")
    if changes is None:
        return

    core.writes.submit(
        lambda: _patch(core, current, changes),
        current,
        "withdrawing a nomination",
        harmless=NotFound,  # then the nomination is gone too
    )


def is_own_update(core: Core, old: Pod | None, new: Pod) -> bool:
    """Return whether the event that shows *new* brings nothing but what the scheduler wrote.

    Events of several writes arrive in their order. What was written is forgotten when its event arrives, and
    when something else stands there although nothing is being written.
    """
    written = core.written.get(new.uid)
    if written is None:
        return False
    shown = _shown(new)
    try:
        later, arrived = written[written.index(shown) + 1 :], True
    except ValueError:
        later, arrived = (), False
    if later:
        core.written[new.uid] = later
    elif arrived or not (core.writes.is_writing(new) or (old is not None and _shown(old) == shown)):
        del core.written[new.uid]
    return arrived and old is not None and _same_otherwise(old, new)


def _same_otherwise(old: Pod, new: Pod) -> bool:
    """Return whether at most the parts of the status differ that schedulers write."""
    conditions = [one for one in old.status.conditions if one.type != POD_SCHEDULED]
    return (
        conditions == [one for one in new.status.conditions if one.type != POD_SCHEDULED]
        and new.status.is_like(old.status)
        and new.is_terminating == old.is_terminating
        and new.labels == old.labels
        and new.metadata.annotations == old.metadata.annotations
        and (new.spec is old.spec or new.spec == old.spec)
    )


def _changes(core: Core, pod: Pod, condition: PodCondition | None, nomination: str | None) -> Changes | None:
    """Return which of these changes are to be written, given what is stored and what is on its way there."""
    written = core.written.get(pod.uid, ())
    standing = _standing(core, pod)
    condition = None if condition == standing.condition else condition
    nomination = None if nomination == standing.nominated_node_name else nomination
    if condition is None and nomination is None:
        return None
    status = WrittenStatus(
        standing.condition if condition is None else condition,
        standing.nominated_node_name if nomination is None else nomination,
    )
    core.written[pod.uid] = (*written[1 - WRITES_KEPT :], status)
    return condition, nomination


def _standing(core: Core, pod: Pod) -> WrittenStatus:
    """Return what is stored of *pod*, or is on its way there."""
    written = core.written.get(pod.uid)
    return written[-1] if written else _shown(pod)


def _shown(pod: Pod) -> WrittenStatus:
    condition = pod.status.condition(POD_SCHEDULED)
    return WrittenStatus(None if condition is None else condition.timeless(), pod.status.nominated_node_name)


def _patch(core: Core, pod: Pod, changes: Changes) -> Awaitable[None] | None:
    condition, nomination = changes
    return core.cluster.patch_pod_status(pod, condition=condition, nominated_node_name=nomination)
