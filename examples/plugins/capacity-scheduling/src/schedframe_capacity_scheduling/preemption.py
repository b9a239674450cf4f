"""Victims by quota: borrowers for a pod within its guaranteed quota, else pods of its own namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import define

from schedframe import CycleState, NodeInfo, Pod, StateKey, Status
from schedframe.framework import PreemptionEvaluator

from .kinds import ElasticQuota
from .quotas import Quotas

QUOTAS: Final = StateKey[Quotas]("CapacityScheduling quotas")
VICTIMS_TERMINATING: Final = "not eligible while pods are terminating on the nominated node"


@define(eq=False)
class QuotaPreemption(PreemptionEvaluator):
    """Select victims by quota.

    * A pod within its namespace's ``min`` preempts pods of namespaces above theirs, of any priority.
    * A pod beyond ``min`` preempts only pods of lower priority in its own namespace.
    * A pod of a namespace without a quota preempts pods of lower priority in such namespaces.
    """

    by_priority = False

    def is_eligible(self, pod: Pod, nominated_status: Status | None) -> str | None:
        """Return the default reason, or that earlier victims with a quota are still terminating."""
        reason = PreemptionEvaluator.is_eligible(self, pod, nominated_status)
        name = pod.status.nominated_node_name
        row = self.handle.table.live_row(name) if name else None
        if reason is not None or row is None:
            return reason
        terminating = (other for other in self.handle.table.pods_at(row).values() if other.is_terminating)
        return VICTIMS_TERMINATING if any(self._has_quota(other.namespace) for other in terminating) else None

    def potential_victims(self, state: CycleState, pod: Pod, info: NodeInfo) -> Sequence[Pod]:
        """Return candidates by the rules above; borrowers from the least important one, while they borrow."""
        others = info.pods.values()
        quotas = state.get(QUOTAS)
        if quotas is None:
            return [o for o in others if o.priority < pod.priority and not self._has_quota(o.namespace)]
        if quotas.exceeds_min:
            return [o for o in others if o.priority < pod.priority and o.namespace == pod.namespace]
        return quotas.borrowed(sorted(others, key=_least_important_first))

    def _has_quota(self, namespace: str) -> bool:
        return any(quota.namespace == namespace for quota in self.handle.objects.list(ElasticQuota.KIND))


def _least_important_first(pod: Pod) -> tuple[int, float]:
    """Sort key: lower priority first, then later (or missing) start time."""
    started = pod.status.start_time
    return pod.priority, float("-inf") if started is None else -started
