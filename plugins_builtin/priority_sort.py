"""PrioritySort: higher priority first, then first come, first served."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from schedframe import EventRegistration, QueuedPodInfo, hookimpl


@define(eq=False)
class PrioritySort:
    """Sort by priority (default 0), then by the time at which the pod was queued."""

    sorts_by_priority: ClassVar[bool] = True

    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> tuple[int, float]:
        """Return the negated priority, and the time of the last failure or of the addition."""
        return -pod_info.pod.priority, pod_info.timestamp

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register nothing: sorting rejects no pod."""
        return ()
