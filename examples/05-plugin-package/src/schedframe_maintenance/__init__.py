"""Keeps long running pods off nodes that will be down soon."""

from __future__ import annotations

from typing import ClassVar, Final

from attrs import define, field, frozen

from schedframe import (
    Action,
    ClusterEvent,
    Depends,
    EventRegistration,
    EventResource,
    Node,
    NodeInfo,
    Pod,
    Status,
    hookimpl,
)

ERR_SOON_DOWN: Final = "node(s) will be down before the pod is done"


@frozen
class MaintenanceArgs:
    """The labels to look at: of nodes that will be down soon, and of pods that run for long."""

    node_label: str = "example.com/maintenance"
    pod_label: str = "example.com/long-running"


@define(eq=False)
class Maintenance:
    """Rejects nodes with the one label for pods with the other, whatever the values."""

    args: MaintenanceArgs = field(factory=MaintenanceArgs)

    # A node's answer depends on that node and its own labels alone: answers may be kept until it changes.
    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT

    @hookimpl
    def pod_signature(self, pod: Pod) -> bool:
        """All that distinguishes pods here."""
        return self.args.pod_label in pod.labels

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        if self.args.pod_label not in pod.labels or self._stays_up(node_info.node):
            return None
        # No other pod that leaves the node would help: preemption need not look at it.
        return Status.unresolvable(ERR_SOON_DOWN)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """A pod that was rejected is tried again when a node comes, or is done with its maintenance."""
        changed = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        relabelled = ClusterEvent(EventResource.POD, Action.UPDATE_POD_LABEL)
        return (
            EventRegistration(changed, self._node_helps),
            EventRegistration(relabelled, self._pod_is_short_now),
        )

    def _node_helps(self, pod: Pod, old: Node | None, new: Node) -> bool:
        return self._stays_up(new) and (old is None or not self._stays_up(old))

    def _pod_is_short_now(self, pod: Pod, old: Pod | None, new: Pod) -> bool:
        return new.uid == pod.uid and self.args.pod_label not in new.labels

    def _stays_up(self, node: Node) -> bool:
        return self.args.node_label not in node.labels
