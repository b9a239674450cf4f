"""The priority queue without a scheduler: what one pod costs, and an event that concerns nobody."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from statistics import median
from time import perf_counter_ns
from typing import Any

from ..api import DEFAULT_SCHEDULER_NAME, ObjectMeta, Pod, PodSpec
from ..queue import Action, ClusterEvent, EventRegistration, EventResource, PriorityQueue, QueueProfile
from .memory import settle

ROUNDS = 20
"""The median of so many counts: another process that wants the machine disturbs a few of them."""
PODS_A_ROUND = 1000
EVENTS_A_ROUND = 200
PRIORITIES = 10
REJECTOR, OTHER = "Rejector", "Other"

NODE_LABEL = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_LABEL)
POD_DELETE = ClusterEvent(EventResource.POD, Action.DELETE)


def measure_queue(pods: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Microseconds of add + pop + done with *pods* queued, and milliseconds of an event.

    The event concerns none of *pods* unschedulable pods, though a plugin of their profile wants it.
    """
    progress(f"queueing {pods} pods")
    queue = _filled(pods)
    fresh = [_pod(pods + i) for i in range(ROUNDS * PODS_A_ROUND)]
    with settle():
        per_pod = _time_pods(queue, fresh)
    progress(f"rejecting {pods} pods")
    _reject_all(queue)
    with settle():
        per_event = _time_events(queue)
    return {
        "queued": pods,
        "add_pop_done_us": round(per_pod / 1e3, 3),
        "unschedulable": len(queue),
        "idle_event_ms": round(per_event / 1e6, 6),
    }


def _filled(pods: int) -> PriorityQueue:
    """A queue of one profile with *pods* pods; its time moves on by a microsecond whenever it looks."""
    profile = QueueProfile(
        events={REJECTOR: (EventRegistration(NODE_LABEL),), OTHER: (EventRegistration(POD_DELETE),)}
    )
    queue = PriorityQueue(
        profiles={DEFAULT_SCHEDULER_NAME: profile}, clock=count(1.0, 1e-6).__next__, max_in_unschedulable=1e9
    )
    for i in range(pods):
        queue.add(_pod(i))
    return queue


def _pod(i: int) -> Pod:
    return Pod(ObjectMeta(f"pod-{i}", uid=f"uid-{i}"), PodSpec(priority=i % PRIORITIES))


def _time_pods(queue: PriorityQueue, fresh: list[Pod]) -> float:
    """Nanoseconds a pod."""
    rounds = []
    for first in range(0, len(fresh), PODS_A_ROUND):
        started = perf_counter_ns()
        for pod in fresh[first : first + PODS_A_ROUND]:
            queue.add(pod)
            info = queue.pop()
            assert info is not None
            queue.done(info.uid)
        rounds.append((perf_counter_ns() - started) / PODS_A_ROUND)
    return median(rounds)


def _reject_all(queue: PriorityQueue) -> None:
    while (info := queue.pop()) is not None:
        queue.add_unschedulable(info, info.pod, unschedulable_plugins=(REJECTOR,))


def _time_events(queue: PriorityQueue) -> float:
    """Nanoseconds an event."""
    gone = _pod(-1).with_node_name("somewhere")
    rounds = []
    for _ in range(ROUNDS):
        started = perf_counter_ns()
        for _ in range(EVENTS_A_ROUND):
            queue.move_all(POD_DELETE, gone, None)
        rounds.append((perf_counter_ns() - started) / EVENTS_A_ROUND)
    return median(rounds)
