"""Nodes that are closed for new pods."""

from __future__ import annotations

from typing import ClassVar, Final

from attrs import define

from schedframe import (
    NO_SCHEDULE,
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Node,
    NodeInfo,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    Taint,
    hookimpl,
)
from schedframe.api import TAINT_UNSCHEDULABLE

ERR_REASON = "node(s) were unschedulable"
_STATUS = Status.unresolvable(ERR_REASON)
_CORDON: Final = Taint(TAINT_UNSCHEDULABLE, effect=NO_SCHEDULE)
"""Tolerating this taint, which a closed node usually has as well, is tolerating ``spec.unschedulable``."""


@define(eq=False)
class NodeUnschedulable:
    """Rejects nodes with ``spec.unschedulable``, unless the pod tolerates the taint of that name."""

    row_local: ClassVar[bool] = True
    node_only: ClassVar[bool] = True

    @hookimpl
    def pod_signature(self, pod: Pod) -> bool:
        """Whether the pod may run on a closed node."""
        return _tolerates(pod)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Is the node open, or the pod allowed on closed ones?"""
        node = node_info.node
        if node is None or not node.spec.unschedulable or _tolerates(pod):
            return None
        return _STATUS

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(rows)."""
        closed = rows.take(rows.table.unschedulable)
        if not closed.any() or _tolerates(pod):
            return None
        # a copy: the verdicts may be kept, and the column changes with its nodes
        return RowVerdicts.where(closed.copy(), _STATUS)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Nodes that come or are opened again; tolerations that the pod gets."""
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)
        pods = ClusterEvent(EventResource.POD, Action.UPDATE_POD_TOLERATION)
        return (EventRegistration(nodes, node_opened), EventRegistration(pods, toleration_added))


def _tolerates(pod: Pod) -> bool:
    return any(toleration.tolerates(_CORDON) for toleration in pod.spec.tolerations)


def node_opened(pod: Pod, old: Node | None, new: Node) -> bool:
    """Hint: the node is open, and was not before."""
    return not new.spec.unschedulable and (old is None or old.spec.unschedulable)


def toleration_added(pod: Pod, old: Pod | None, new: Pod) -> bool:
    """Hint: the pod itself tolerates closed nodes now; it did not when it was rejected."""
    return new.uid == pod.uid and _tolerates(new)
