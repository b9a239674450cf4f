"""Preemption for a group as a whole, behind the feature gate WorkloadAwarePreemption."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..._base.plugin_faults import plugin_faults
from ...framework import CycleState, Framework, GroupPreemption, PodGroupInfo, Status
from ...framework.faults import from_exception
from ..core import Core
from .outcome import GroupOutcome, MemberResult


def preempt_for_group(
    core: Core,
    framework: Framework,
    group: PodGroupInfo,
    outcome: GroupOutcome,
    attempt: Callable[[], GroupOutcome],
) -> bool:
    """Make room for a group that came out unschedulable; return whether there is hope.

    If not, the reason is added to the message of *outcome*. *attempt* tries the group again, without
    post_filter.
    """
    found = room_for_group(core, framework, group, outcome, attempt)
    if found is None:
        return False
    # The members that do not fit yet find their nodes once the victims are gone.
    fitting = [each for each in outcome.members if each.result is MemberResult.FITS]
    outcome.nominations = {each.pod.uid: each.node_name for each in fitting}
    found.evict()
    return True


def room_for_group(
    core: Core,
    framework: Framework,
    group: PodGroupInfo,
    outcome: GroupOutcome,
    attempt: Callable[[], GroupOutcome],
) -> GroupPreemption | None:
    """Return the room that can be made, without making it; ``None``, and a longer message, without any."""

    def can_run() -> Mapping[str, str] | Status:
        found = attempt()
        if not found.is_feasible:
            return Status.unschedulable(found.message)
        return {each.pod.uid: each.node_name for each in found.members if each.node_name}

    for entry in framework.plan.post_filter_group:
        try:
            answer = entry.call(CycleState(), group, can_run)
        except plugin_faults() as error:
            answer = from_exception(entry.name, "post_filter_group", error, group=group.key)
        if isinstance(answer, GroupPreemption):
            return answer
        if not answer.is_rejected:
            core.report(answer, None, "post_filter_group")
        outcome.message = f"{outcome.message}, {answer.message}"
    return None
