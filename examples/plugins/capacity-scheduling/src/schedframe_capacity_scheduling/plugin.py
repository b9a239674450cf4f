"""CapacityScheduling: namespaces borrow unused quota, and the owner gets it back by preemption."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np
from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    NodeInfo,
    Pod,
    PostFilterResult,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)
from schedframe.api import NamespacedObject

from .args import CapacitySchedulingArgs
from .kinds import ElasticQuota
from .preemption import QUOTAS, QuotaPreemption
from .quotas import OVER_ALL, OVER_MAX, Amounts, Limits, Quotas, Usage, add

NAME: Final = "CapacityScheduling"
IN_PROGRESS: Final = "waiting for the preemption for this pod to be finished"
_REJECTIONS: Final = {reason: Status.unschedulable(reason) for reason in (OVER_MAX, OVER_ALL)}
_GATED = Status.unschedulable(IN_PROGRESS)


@define(eq=False)
class CapacityScheduling:
    """Reject pods that exceed a quota, and preempt borrowers for pods within their guaranteed quota.

    Replaces DefaultPreemption, which must be disabled at postFilter. Pods of namespaces without a quota are
    not limited.
    """

    args: CapacitySchedulingArgs
    handle: Handle
    usage: Usage = field(init=False)
    evaluator: QuotaPreemption = field(init=False)
    _limits: dict[str, Limits] = field(factory=dict, init=False)
    _guaranteed: Amounts = field(factory=dict, init=False)
    _version: int = field(default=-1, init=False)

    kinds: ClassVar[tuple[type[NamespacedObject], ...]] = (ElasticQuota,)

    def __attrs_post_init__(self) -> None:
        self.usage = Usage(self.handle)
        self.evaluator = QuotaPreemption(
            self.handle,
            NAME,
            self.args.min_candidate_nodes_percentage,
            self.args.min_candidate_nodes_absolute,
        )

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register changed quotas, and deleted pods that release quota."""
        deleted = ClusterEvent(EventResource.POD, Action.DELETE)
        return (
            EventRegistration(ClusterEvent(ElasticQuota.KIND, Action.ALL)),
            EventRegistration(deleted, self._releases_quota),
        )

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Keep a pod out while some of its victims are still to be evicted."""
        return _GATED if self.evaluator.eviction.is_in_progress(pod) else None

    # ---- filter ----------------------------------------------------------------------------------------

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Reject the pod if its namespace would exceed ``max``, or all quotas together the sum of ``min``.

        O(quotas + nominated pods + pods of rows that changed).
        """
        limits = self._all_limits()
        if pod.namespace not in limits:
            return Status.skip()
        quotas = self._quotas(pod, limits)
        state.write(QUOTAS, quotas)
        rejection = quotas.rejection()
        return None if rejection is None else _REJECTIONS[rejection]

    @hookimpl
    def add_pod(self, state: CycleState, pod_to_add: Pod) -> None:
        """Add the requests of a pod."""
        state.read(QUOTAS).change(pod_to_add, 1)

    @hookimpl
    def remove_pod(self, state: CycleState, pod_to_remove: Pod) -> None:
        """Remove the requests of a pod."""
        state.read(QUOTAS).change(pod_to_remove, -1)

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """As pre_filter, for every node: the result changes in dry runs that add or remove pods."""
        rejection = state.read(QUOTAS).rejection()
        return None if rejection is None else _REJECTIONS[rejection]

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(quotas × resources + rows)."""
        rejection = state.read(QUOTAS).rejection()
        if rejection is None:
            return None
        return RowVerdicts.where(np.ones(len(rows), np.bool_), _REJECTIONS[rejection])

    @hookimpl
    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> tuple[PostFilterResult | None, Status]:
        """Preempt by the rules of :class:`QuotaPreemption`."""
        result, status = self.evaluator.preempt(state, pod, statuses)
        if status.reasons:
            status = Status(status.code, (f"preemption: {status.message}",), error=status.error)
        return result, status

    # ---- quotas ------------------------------------------------------------------------------------------

    def _all_limits(self) -> dict[str, Limits]:
        """Return the limits by namespace; of several quotas in one namespace the first counts."""
        objects = self.handle.objects
        version = objects.version(ElasticQuota.KIND)
        if version != self._version:
            self._version, self._limits, self._guaranteed = version, {}, {}
            for quota in objects.list(ElasticQuota.KIND):
                if quota.namespace not in self._limits:
                    limits = self._limits[quota.namespace] = Limits.of(quota)
                    add(self._guaranteed, limits.min)
        return self._limits

    def _quotas(self, pod: Pod, limits: dict[str, Limits]) -> Quotas:
        """Return the current usage, with nominated pods of at least the priority of *pod*."""
        usage = self.usage.sync()
        used = {namespace: dict(usage.get(namespace, {})) for namespace in limits}
        nominated = []
        for other in self._nominated():
            if other.uid != pod.uid and other.namespace in used and other.priority >= pod.priority:
                add(used[other.namespace], other.requests)
                nominated.append(other.uid)
        return Quotas(limits, used, pod.namespace, pod.requests, frozenset(nominated), self._guaranteed)

    def _nominated(self) -> list[Pod]:
        nominator = self.handle.nominator
        return [pod for name in nominator.node_names for pod in nominator.nominated_pods_for_node(name)]

    def _releases_quota(self, pod: Pod, old: Pod, new: Any) -> bool:
        """Hint: the deleted pod and the pod both are in namespaces with a quota, or both are not."""
        limits = self._all_limits()
        return (pod.namespace in limits) == (old.namespace in limits)
