"""Whom a pod may displace: borrowers if it only wants its own, else less important pods of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import define

from schedframe import CycleState, NodeInfo, Pod, PreemptionEvaluator, StateKey, Status

from .kinds import ElasticQuota
from .quotas import Quotas

QUOTAS: Final = StateKey[Quotas]("CapacityScheduling quotas")
STILL_GOING: Final = "not eligible while pods are going from the nominated node"


@define(eq=False)
class QuotaPreemption(PreemptionEvaluator):
    """Victims by quota:

    * a pod that stays within its namespace's min displaces pods of namespaces above theirs, whatever their
      priority;
    * one that goes beyond displaces pods of lower priority in its own namespace, and no others;
    * one of a namespace without a quota displaces pods of lower priority in namespaces without one.
    """

    by_priority = False

    def is_eligible(self, pod: Pod, nominated_status: Status | None) -> str | None:
        """As ever; and not while others than pods of lower priority are still making room for it."""
        refusal = PreemptionEvaluator.is_eligible(self, pod, nominated_status)
        name = pod.status.nominated_node_name
        row = self.handle.table.live_row(name) if name else None
        if refusal is not None or row is None:
            return refusal
        going = (other for other in self.handle.table.pods_at(row).values() if other.is_terminating)
        return STILL_GOING if any(self._has_quota(other.namespace) for other in going) else None

    def potential_victims(self, state: CycleState, pod: Pod, info: NodeInfo) -> Sequence[Pod]:
        """The rules above; of borrowers the least important ones first, and only as long as they borrow."""
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
    """Lower priority first, then those that started later (or not yet)."""
    started = pod.status.start_time
    return pod.priority, float("-inf") if started is None else -started
