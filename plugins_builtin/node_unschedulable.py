"""NodeUnschedulable: cordoned nodes take no new pods."""

from __future__ import annotations

from typing import ClassVar, Final

from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    Depends,
    EventRegistration,
    EventResource,
    HintReads,
    Node,
    NodeInfo,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    Taint,
    hookimpl,
)
from schedframe.api import NO_SCHEDULE, TAINT_UNSCHEDULABLE

ERR_REASON = "node(s) were unschedulable"
_STATUS = Status.unresolvable(ERR_REASON)
_CORDON: Final = Taint(TAINT_UNSCHEDULABLE, effect=NO_SCHEDULE)
"""A pod that tolerates this taint, which cordoned nodes usually have, tolerates ``spec.unschedulable``."""


@define(eq=False)
class NodeUnschedulable:
    """Reject nodes with ``spec.unschedulable`` unless the pod tolerates the taint of that name."""

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT

    @hookimpl
    def pod_signature(self, pod: Pod) -> bool:
        """Return whether the pod tolerates cordoned nodes."""
        return _tolerates(pod)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Reject a cordoned node that the pod does not tolerate."""
        if not node_info.node.spec.unschedulable or _tolerates(pod):
            return None
        return _STATUS

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(rows)."""
        cordoned = rows.take(rows.table.unschedulable)
        if not cordoned.any() or _tolerates(pod):
            return None
        # A copy, because the verdicts may be cached while the column changes with its nodes.
        return RowVerdicts.where(cordoned.copy(), _STATUS)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register nodes that are added or uncordoned, and tolerations added to the pod."""
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)
        pods = ClusterEvent(EventResource.POD, Action.UPDATE_POD_TOLERATION)
        return (
            EventRegistration(nodes, node_uncordoned, HintReads.EVENT),
            EventRegistration(pods, toleration_added, HintReads.CLASS),
        )


def _tolerates(pod: Pod) -> bool:
    return any(toleration.tolerates(_CORDON) for toleration in pod.spec.tolerations)


def node_uncordoned(pod: Pod, old: Node | None, new: Node) -> bool:
    """Hint: the node is schedulable, and was not before."""
    return not new.spec.unschedulable and (old is None or old.spec.unschedulable)


def toleration_added(pod: Pod, old: Pod | None, new: Pod) -> bool:
    """Hint: the pod itself now tolerates cordoned nodes."""
    return new.uid == pod.uid and _tolerates(new)
