"""QOSSort: a queue order that prefers pods with requests."""

from __future__ import annotations

from attrs import define

from schedframe import EventRegistration, QueuedPodInfo, hookimpl

from .qos import qos_class


@define(eq=False)
class QOSSort:
    """Sort by priority, then Guaranteed before Burstable before BestEffort, then first come, first served."""

    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> tuple[int, int, float]:
        """Return the negated priority, the class and the time of the addition; smallest first."""
        pod = pod_info.pod
        return -pod.priority, qos_class(pod.spec), pod_info.timestamp

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register nothing: sorting rejects no pod."""
        return ()
