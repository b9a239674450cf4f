"""Pods, nodes and plugins for the tests of the queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define

from schedframe import Action, ClusterEvent, EventRegistration, EventResource, QueuedPodInfo
from schedframe.api import Node, NodeStatus, ObjectMeta, Pod, PodSpec, PodStatus, Quantity
from schedframe.queue import PriorityQueue, QueueOptions, QueueProfile

PROFILE = "default-scheduler"
EPOCH = 1_700_000_000.0

NODE_ADD = ClusterEvent(EventResource.NODE, Action.ADD)
NODE_DELETE = ClusterEvent(EventResource.NODE, Action.DELETE)
NODE_LABEL = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_LABEL)
NODE_TAINT = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_TAINT)


@define(eq=False)
class ManualClock:
    """A clock that moves only when it is set; in microseconds, so that it is exact."""

    micros: int = int(EPOCH) * 1_000_000

    def __call__(self) -> float:
        return self.micros / 1e6

    def advance(self, seconds: float) -> None:
        self.micros += round(seconds * 1e6)

    def go_to(self, moment: float) -> None:
        self.micros = max(self.micros, round(moment * 1e6))


def pod(
    name: str = "p",
    *,
    uid: str | None = None,
    version: str = "1",
    priority: int = 0,
    labels: Mapping[str, str] | None = None,
    nominated: str = "",
    node_name: str = "",
    scheduler: str = PROFILE,
    gates: tuple[str, ...] = (),
) -> Pod:
    """A pod of namespace ``default``; its uid is ``uid-<name>`` unless given."""
    return Pod(
        ObjectMeta(
            name=name,
            namespace="default",
            uid=f"uid-{name}" if uid is None else uid,
            resource_version=version,
            labels=dict(labels or {}),
        ),
        PodSpec(priority=priority, node_name=node_name, scheduler_name=scheduler, scheduling_gates=gates),
        PodStatus(nominated_node_name=nominated),
    )


def node(name: str = "n", *, labels: Mapping[str, str] | None = None, cpu: int = 1) -> Node:
    """A node with that many CPUs."""
    return Node(
        ObjectMeta(name=name, labels=dict(labels or {})),
        status=NodeStatus(allocatable={"cpu": Quantity.of(cpu)}),
    )


def on(event: ClusterEvent, hint: Callable[[Pod, Any, Any], Any] | None = None) -> EventRegistration:
    """A registration."""
    return EventRegistration(event, hint)


def queue(
    clock: Callable[[], float],
    events: Mapping[str, tuple[EventRegistration, ...]] | None = None,
    gates: Mapping[str, Callable[[Pod], Any]] | None = None,
    **options: Any,
) -> PriorityQueue:
    """A queue of one profile."""
    profile = QueueProfile(tuple((gates or {}).items()), events or {})
    return PriorityQueue(QueueOptions(profiles={PROFILE: profile}, clock=clock, **options))


def fail(
    pending: PriorityQueue, *plugins: str, pending_plugins: tuple[str, ...] = (), latest: Pod | None = None
) -> QueuedPodInfo:
    """Pop a pod and let its attempt fail by those plugins."""
    info = pending.pop()
    assert info is not None
    pending.add_unschedulable(
        info,
        info.pod if latest is None else latest,
        unschedulable_plugins=plugins,
        pending_plugins=pending_plugins,
    )
    return info


def pool_of(pending: PriorityQueue, name: str) -> str | None:
    """The pool of a queued pod of namespace ``default``."""
    info = pending.get(f"default/{name}")
    return None if info is None or info.pool is None else str(info.pool)


def popped(pending: PriorityQueue) -> list[str]:
    """Names of all pods that can be popped, in order."""
    names = []
    while (info := pending.pop()) is not None:
        names.append(info.pod.name)
    return names
