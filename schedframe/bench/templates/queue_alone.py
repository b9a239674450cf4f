"""The template ``queue``: the priority queue without a scheduler."""

from __future__ import annotations

from itertools import count
from statistics import median
from time import perf_counter_ns
from typing import Any

from ...api import DEFAULT_SCHEDULER_NAME, ObjectMeta, Pod, PodSpec
from ...queue import (
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    PriorityQueue,
    QueueOptions,
    QueueProfile,
)
from ..memory import frozen_heap
from ..options import Progress

ROUNDS = 20
"""Rounds of which the median counts, so that other processes disturb only a few of them."""
PODS_PER_ROUND = 1000
EVENTS_PER_ROUND = 200
PRIORITIES = 10
REJECTOR, OTHER = "Rejector", "Other"

NODE_LABEL = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_LABEL)
POD_DELETE = ClusterEvent(EventResource.POD, Action.DELETE)


def measure_queue(pods: int, progress: Progress) -> dict[str, Any]:
    """Return microseconds of add + pop + done with *pods* queued, and milliseconds of an event.

    The event concerns none of *pods* unschedulable pods, but a plugin of their profile has registered for it.
    """
    progress(f"queueing {pods} pods")
    queue = _filled(pods)
    fresh = [_pod(pods + i) for i in range(ROUNDS * PODS_PER_ROUND)]
    with frozen_heap():
        per_pod = _time_pods(queue, fresh)
    progress(f"rejecting {pods} pods")
    _reject_all(queue)
    with frozen_heap():
        per_event = _time_events(queue)
    return {
        "queued": pods,
        "add_pop_done_us": round(per_pod / 1e3, 3),
        "unschedulable": len(queue),
        "idle_event_ms": round(per_event / 1e6, 6),
    }


def _filled(pods: int) -> PriorityQueue:
    """Return a queue of one profile with *pods* pods; its clock advances by 1 µs with each reading."""
    profile = QueueProfile(
        events={REJECTOR: (EventRegistration(NODE_LABEL),), OTHER: (EventRegistration(POD_DELETE),)}
    )
    options = QueueOptions(
        profiles={DEFAULT_SCHEDULER_NAME: profile}, clock=count(1.0, 1e-6).__next__, max_in_unschedulable=1e9
    )
    queue = PriorityQueue(options)
    for i in range(pods):
        queue.add(_pod(i))
    return queue


def _pod(i: int) -> Pod:
    return Pod(ObjectMeta(f"pod-{i}", uid=f"uid-{i}"), PodSpec(priority=i % PRIORITIES))


def _time_pods(queue: PriorityQueue, fresh: list[Pod]) -> float:
    """Return nanoseconds per pod."""
    rounds = []
    for first in range(0, len(fresh), PODS_PER_ROUND):
        started = perf_counter_ns()
        for pod in fresh[first : first + PODS_PER_ROUND]:
            queue.add(pod)
            info = queue.pop()
            assert info is not None
            queue.done(info.uid)
        rounds.append((perf_counter_ns() - started) / PODS_PER_ROUND)
    return median(rounds)


def _reject_all(queue: PriorityQueue) -> None:
    while (info := queue.pop()) is not None:
        queue.add_unschedulable(info, info.pod, unschedulable_plugins=(REJECTOR,))


def _time_events(queue: PriorityQueue) -> float:
    """Return nanoseconds per event."""
    deleted = _pod(-1).with_node_name("somewhere")
    rounds = []
    for _ in range(ROUNDS):
        started = perf_counter_ns()
        for _ in range(EVENTS_PER_ROUND):
            queue.move_all(POD_DELETE, deleted, None)
        rounds.append((perf_counter_ns() - started) / EVENTS_PER_ROUND)
    return median(rounds)
