"""QOSSort: who asked for what it uses goes first."""

from __future__ import annotations

from attrs import define

from schedframe import EventRegistration, QueuedPodInfo, hookimpl

from .qos import qos_class


@define(eq=False)
class QOSSort:
    """Sorts by priority; among equals Guaranteed before Burstable before BestEffort; then first come."""

    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> tuple[int, int, float]:
        """Smallest first."""
        pod = pod_info.pod
        return -pod.priority, qos_class(pod.spec), pod_info.timestamp

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """None: sorting rejects no pod."""
        return ()
