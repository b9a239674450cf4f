"""Victims of a preemption as another scheduler chose them, and further ones that the plugins here need."""

from __future__ import annotations

from collections.abc import Sequence

from ..api import Pod
from ..framework import CycleState, Framework, Status, VictimUids
from ..framework.preemption.budgets import Budget
from ..framework.preemption.candidates import importance
from ..framework.preemption.dry_run import select_victims
from ..state import NodeInfo


def further_victims(
    framework: Framework,
    state: CycleState,
    pod: Pod,
    info: NodeInfo,
    budgets: Sequence[Budget],
    chosen: VictimUids,
) -> VictimUids | Status:
    """Return the victims with which *pod* fits on a node, *chosen* among them, or why there are none.

    *state* and *info* must be clones: both are changed. A victim that is not on the node, which is seen
    later or earlier than by the other scheduler, counts as removed. O(victims × filters).
    """
    there = [other for other in info.pods.values() if other.uid in chosen.uids]
    for other in there:
        info.remove_pod(other)
        status = framework.run_remove_pod(state, pod, other, info)
        if status is not None:
            return status
    status = framework.run_filters_with_nominated_pods(state, pod, info)
    if status is None:
        return chosen
    if not status.is_rejected:
        return status
    lower = [other for other in info.pods.values() if other.priority < pod.priority]
    found = select_victims(framework, state, pod, info, budgets, lower)
    if isinstance(found, Status):
        return found
    present = sorted((*there, *found.victims), key=importance)
    absent = set(chosen.uids) - {other.uid for other in there}
    # The most important victim comes first: the other scheduler compares nodes by it.
    uids = (*(uid for uid in chosen.uids if uid in absent), *(other.uid for other in present))
    return VictimUids(uids, chosen.pdb_violations + found.pdb_violations)
