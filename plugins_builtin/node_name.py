"""NodeName: a pod with ``spec.node_name`` fits only that node."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    Depends,
    EventRegistration,
    EventResource,
    NodeInfo,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)

from ._node_selection import rows_named

ERR_REASON = "node(s) didn't match the requested node name"
_STATUS = Status.unresolvable(ERR_REASON)


@define(eq=False)
class NodeName:
    """Reject all nodes but the one that the pod names."""

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT

    @hookimpl
    def pod_signature(self, pod: Pod) -> str:
        """Return the name of the node; empty for most pods."""
        return pod.spec.node_name

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Reject every node but the named one."""
        name = pod.spec.node_name
        return None if not name or name == node_info.name else _STATUS

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(1) for a pod that names no node."""
        name = pod.spec.node_name
        return RowVerdicts.where(~rows_named(rows, name), _STATUS) if name else None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register new nodes; filter compares the name."""
        return (EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD)),)
