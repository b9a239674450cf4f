"""Preemption for a pod group as a whole: the smallest set of units whose removal lets the group run.

A unit is a single pod, or all pods of a group that asks to be disrupted together. Behaviour: kube-scheduler
v1.36 with the feature gate WorkloadAwarePreemption.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from ..._base.value import record
from ...api import DISRUPT_GROUP, Pod, PodDisruptionBudget, PodGroup, group_of
from ..handle import Handle
from ..placements import CanRun, GroupPreemption, PodGroupInfo
from ..status import Status
from .budgets import read_budgets, split_by_budgets
from .candidates import Candidate, start_time
from .eviction import Eviction
from .leaving import is_being_preempted

NOT_SUPPORTED = "workload aware preemption is not supported for pod groups with scheduling constraints"
NEVER = "not eligible due to preemptionPolicy=Never."
NO_VICTIMS = "No preemption victims found for incoming preemptor"
EVERYWHERE = "cluster"
"""Stands for the name of the node in the note on victims."""


@record(eq=False)
class Unit:
    """Pods that are preempted together."""

    pods: tuple[Pod, ...]
    priority: int

    @property
    def is_leaving(self) -> bool:
        """Return whether all of its pods end already, because they were preempted."""
        return all(is_being_preempted(pod) for pod in self.pods)

    @property
    def importance(self) -> tuple[int, bool, int, float]:
        """Sort key, most important first: priority, whether it is of a group, number of pods, start."""
        in_group = any(pod.spec.scheduling_group is not None for pod in self.pods)
        started = min((start_time(pod) for pod in self.pods), default=inf)
        return -self.priority, not in_group, -len(self.pods), started


def preempt_for_group(
    handle: Handle, eviction: Eviction, group: PodGroupInfo, can_run: CanRun
) -> GroupPreemption | Status:
    """Return the eviction to begin, and where the members go after it; or why there is none.

    Pods that were preempted and still end count as gone: while the victims of an earlier attempt end, no
    others are chosen in their place. (v1.36 chooses again; v1.37 waits.) O(units) runs of the algorithm of
    the group.
    """
    spec = None if group.group is None else group.group.spec
    if spec is not None and spec.topology_key:
        return Status.unschedulable(NOT_SUPPORTED)
    # From v1.37 on a group has a policy of its own, which takes the place of those of its pods.
    own = None if spec is None else spec.preemption_policy
    if "Never" in ([own] if own else [pod.spec.preemption_policy for pod in group.pods]):
        return Status.unschedulable(NEVER)
    priority = 0 if group.group is None else group.group.priority
    units = [unit for unit in _units(handle, group.key) if unit.priority < priority]
    if not units:
        return Status.unschedulable(NO_VICTIMS)
    table = handle.table
    mark = table.mark()
    try:
        for unit in units:
            _remove(handle, unit)
        nominations = can_run()
        if isinstance(nominations, Status):
            return nominations
        victims = _reprieve(handle, [unit for unit in units if not unit.is_leaving], can_run)
    finally:
        table.rollback(mark)
    pods = tuple([pod for unit in victims for pod in unit.pods])
    candidate = Candidate(EVERYWHERE, pods, 0)
    uid = group.key if group.group is None else group.group.uid

    def evict() -> None:
        eviction.start_for_group(uid, group.pods, candidate)

    return GroupPreemption(evict, nominations, pods)


def _units(handle: Handle, preemptor: str) -> list[Unit]:
    """Return all units of the cluster but the members of the preemptor. O(pods)."""
    table, units = handle.table, list[Unit]()
    together: dict[str, list[Pod]] = {}
    for row in table.used_rows():
        for pod in table.pods_at(row).values():
            key = group_of(pod)
            if key == preemptor and key:
                continue
            group = handle.objects.get(PodGroup.KIND, key) if key else None
            if group is not None and group.spec.disruption_mode == DISRUPT_GROUP:
                together.setdefault(key, []).append(pod)
            else:
                units.append(Unit((pod,), pod.priority))
    for key, pods in together.items():
        group = handle.objects.get(PodGroup.KIND, key)
        units.append(Unit(tuple(pods), 0 if group is None else group.priority))
    return units


def _reprieve(handle: Handle, units: Sequence[Unit], can_run: CanRun) -> list[Unit]:
    """Put units back, the most important ones first, as long as the group can run; return the others."""
    victims = []
    for unit in _in_order_of_reprieve(handle, units):
        mark = handle.table.mark()
        for pod in unit.pods:
            handle.table.add_pod(pod.node_name, pod)
        if isinstance(can_run(), Status):
            handle.table.rollback(mark)
            victims.append(unit)
    return victims


def _in_order_of_reprieve(handle: Handle, units: Sequence[Unit]) -> Iterable[Unit]:
    """Return *units*: first those whose eviction violates a budget, each part by importance."""
    ordered = sorted(units, key=lambda unit: unit.importance)
    budgets = read_budgets(handle.objects.list(PodDisruptionBudget.KIND))
    violating, _ = split_by_budgets([pod for unit in ordered for pod in unit.pods], budgets)
    uids = {pod.uid for pod in violating}
    return sorted(ordered, key=lambda unit: not any(pod.uid in uids for pod in unit.pods))


def _remove(handle: Handle, unit: Unit) -> None:
    for pod in unit.pods:
        handle.table.remove_pod(pod.node_name, pod.uid)
