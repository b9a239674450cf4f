"""The condition of a PodGroup: written once for each attempt whose result differs."""

from __future__ import annotations

from functools import partial

from attrs import evolve

from ...api import Condition, PodGroup
from ...cluster import Conflict, NotFound
from ...framework import Status
from ..core import Core
from ..messages import WorkKind
from .outcome import GroupOutcome, GroupResult

_REASONS = {
    GroupResult.SCHEDULED: "Scheduled",
    GroupResult.WAITING: "Unschedulable",
    GroupResult.UNSCHEDULABLE: "Unschedulable",
    GroupResult.FAILED: "SchedulerError",
}


def write_condition(core: Core, key: str, outcome: GroupOutcome) -> None:
    """Record in the cluster what became of a group; nothing without its object.

    A condition that is true stays true.
    """
    group = core.objects.get("PodGroup", key)
    if group is None:
        return
    present = group.status.condition(group.scheduled_type)
    scheduled = outcome.result is GroupResult.SCHEDULED
    if present is not None and present.status == "True" and not scheduled:
        return
    condition = Condition(
        type=group.scheduled_type,
        status="True" if scheduled else "False",
        reason=_REASONS[outcome.result],
        message="" if scheduled else outcome.message,
        observed_generation=group.metadata.generation,
        last_transition_time=core.now,
    )
    if present is not None and _like(present, condition):
        return
    if present is not None and present.status == condition.status:
        condition = evolve(condition, last_transition_time=present.last_transition_time)
    others = tuple(each for each in group.status.conditions if each.type != condition.type)
    changed = evolve(group, status=evolve(group.status, conditions=(*others, condition)))
    core.submit(WorkKind.WRITE, lambda: _write(core, changed), partial(_report, core))


def _report(core: Core, problem: Status | None) -> None:
    if problem is not None:
        core.report(problem, None, "writing the condition of a pod group")


def _like(one: Condition, other: Condition) -> bool:
    return evolve(one, last_transition_time=None) == evolve(other, last_transition_time=None)


def _write(core: Core, group: PodGroup) -> Status | None:
    try:
        core.cluster.update(group)
    except (NotFound, Conflict):
        return None  # deleted, or changed by an event that is still to come; the next attempt writes again
    except Exception as error:  # noqa: BLE001 - whatever the cluster raises is reported, not fatal
        return Status.from_error(error)
    return None
