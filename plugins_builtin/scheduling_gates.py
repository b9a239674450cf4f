"""SchedulingGates: pods stay out of the queue until their scheduling gates are removed."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Pod,
    Status,
    hookimpl,
)

REASON_PREFIX = "waiting for scheduling gates: "


@define(eq=False)
class SchedulingGates:
    """Reject a pod at pre_enqueue while ``spec.scheduling_gates`` has an entry."""

    admits_for_good: ClassVar[bool] = True

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Reject a gated pod; the reason lists its gates in the order of the spec."""
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        return Status.unresolvable(f"{REASON_PREFIX}[{' '.join(gates)}]")

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register the removal of the pod's last gate."""
        event = ClusterEvent(EventResource.POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return (EventRegistration(event, gates_eliminated),)


def gates_eliminated(pod: Pod, old: Pod | None, new: Pod) -> bool:
    """Hint: the gates were removed from the pod itself."""
    return new.uid == pod.uid
