"""DefaultPreemption: make room for a pod by evicting pods of lower priority."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    HintReads,
    Pod,
    PostFilterResult,
    PreemptionEvaluator,
    QueueingHint,
    Status,
    hookimpl,
)

from .args import DefaultPreemptionArgs

IN_PROGRESS = "waiting for the preemption for this pod to be finished"
_GATED = Status.unschedulable(IN_PROGRESS)


@define(eq=False)
class DefaultPreemption:
    """Preempt through a :class:`PreemptionEvaluator`; gate the pod while its victims are being evicted."""

    admits_for_good: ClassVar = True

    args: DefaultPreemptionArgs
    handle: Handle
    evaluator: PreemptionEvaluator = field(init=False)

    looks_up: ClassVar[tuple[str, ...]] = ("PodDisruptionBudget",)

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
        return _GATED if self.evaluator.eviction.is_in_progress(pod) else None

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
        result, status = self.evaluator.preempt(state, pod, statuses)
        if status.reasons:
            status = Status(status.code, (f"preemption: {status.message}",), error=status.error)
        return result, status
