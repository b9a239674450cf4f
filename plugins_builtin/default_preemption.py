"""DefaultPreemption: make room for a pod by evicting pods of lower priority."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    Code,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    HintReads,
    Pod,
    PostFilterResult,
    QueueingHint,
    Status,
    hookimpl,
)
from schedframe.api import PodGroup, group_of
from schedframe.framework import GroupPreemption, PodGroupInfo, PreemptionEvaluator

from .args import DefaultPreemptionArgs

BY_GROUP = "not eligible due to workload aware preemption enabled"
NO_GROUP = "pod group for pod not found"
CONSTRAINED = "not eligible due to placement-based pod group scheduling limitation"
IN_PROGRESS = "waiting for the preemption for this pod to be finished"
_GATED = Status.unschedulable(IN_PROGRESS)


@define(eq=False)
class DefaultPreemption:
    """Preempt through a :class:`PreemptionEvaluator`; gate the pod while its victims are being evicted."""

    admits_for_good: ClassVar[bool] = True

    args: DefaultPreemptionArgs
    handle: Handle
    evaluator: PreemptionEvaluator = field(init=False)

    reads: ClassVar[tuple[str, ...]] = ("PodDisruptionBudget",)
    writes: ClassVar[tuple[str, ...]] = ("delete Pod",)

    def __attrs_post_init__(self) -> None:
        self.evaluator = PreemptionEvaluator(
            self.handle,
            "DefaultPreemption",
            self.args.min_candidate_nodes_percentage,
            self.args.min_candidate_nodes_absolute,
        )

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Reject a pod while the eviction of its victims is in progress."""
        eviction = self.evaluator.eviction
        # Mostly nothing is evicted, and each pod comes here as it enters the queue.
        return _GATED if eviction.last_victims and eviction.is_in_progress(pod) else None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register deletions of pods, which may open the gate; the hint itself always skips."""
        deleted = ClusterEvent(EventResource.POD, Action.DELETE)
        return (EventRegistration(deleted, lambda pod, old, new: QueueingHint.SKIP, HintReads.EVENT),)

    @hookimpl
    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> tuple[PostFilterResult | None, Status]:
        """Nominate the node where preemption costs least, and start evicting its victims."""
        if pod.spec.scheduling_group is not None and (refusal := self._refusal(pod)):
            return None, Status.unschedulable(f"preemption: {refusal}")
        result, status = self.evaluator.preempt(state, pod, statuses)
        if status.code is Code.UNSCHEDULABLE:
            status = Status.unschedulable(f"preemption: {status.message}")
        elif status.reasons:
            status = Status(status.code, (f"preemption: {status.message}",), error=status.error)
        return result, status

    @hookimpl
    def post_filter_group(
        self, group: PodGroupInfo, can_run: Callable[[], Mapping[str, str] | Status]
    ) -> GroupPreemption | Status:
        """Find the least important pods and groups without which the group can run."""
        return self.evaluator.preempt_for_group(group, can_run)

    def _refusal(self, pod: Pod) -> str | None:
        """Return why a member of a group may not preempt by itself, ``None`` if it may."""
        key, gates = group_of(pod), self.handle.feature_gates
        if not key:
            return None
        if gates.enabled("TopologyAwareWorkloadScheduling"):
            group = self.handle.objects.get(PodGroup.KIND, key)
            if group is None:
                return NO_GROUP
            if group.spec.scheduling_constraints is not None:
                return CONSTRAINED
        return BY_GROUP if gates.enabled("WorkloadAwarePreemption") else None
