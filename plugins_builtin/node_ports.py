"""NodePorts: host ports of pods on one node must not conflict."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import ClassVar, Final

import numpy as np
from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    Depends,
    EventRegistration,
    EventResource,
    HintReads,
    NodeInfo,
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import ANY_ADDRESS, HostPort
from schedframe.state import port_conflicts

from ._explaining import pod_text

ERR_REASON = "node(s) didn't have free ports for the requested pod ports"
_STATUS = Status.unschedulable(ERR_REASON)
_HOST_PORTS: Final = StateKey[tuple[HostPort, ...]]("NodePorts/pre_filter")


@define(eq=False)
class NodePorts:
    """Reject nodes where a host port is in use.

    Two ports conflict if protocol and number are equal, and the addresses are equal or one is 0.0.0.0.
    """

    depends_on: ClassVar[Depends] = Depends.ROW

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return the host ports."""
        return pod.host_ports

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Skip pods without host ports."""
        ports = pod.host_ports
        if not ports:
            return Status.skip()
        state.write(_HOST_PORTS, ports)
        return None

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Reject a node where a port of the pod is in use; O(ports of the pod)."""
        used = node_info.used_ports
        ports = state.read(_HOST_PORTS)
        return _STATUS if used and any(port_conflicts(used, port) for port in ports) else None

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(rows where a port of that protocol and number is in use)."""
        table = rows.table
        taken: list[int] = []
        for port in state.read(_HOST_PORTS):
            users = table.ports.get((port.protocol, port.port))
            if users is None:
                continue
            if port.host_ip == ANY_ADDRESS:
                taken.extend(users)
            else:
                taken.extend(
                    row for row, used in users.items() if ANY_ADDRESS in used or port.host_ip in used
                )
        if not taken:
            return None
        mask = np.zeros(table.capacity, np.bool_)
        mask[taken] = True
        return RowVerdicts.where(rows.take(mask), _STATUS)

    @hookimpl
    def explain(self, state: CycleState, node_info: NodeInfo) -> str | None:
        """Return the ports that are taken, with the pods that have them."""
        ports = state.get(_HOST_PORTS) or ()
        return "; ".join(_taken_ports(ports, node_info)) or None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register deleted pods and new nodes."""
        return (
            EventRegistration(ClusterEvent(EventResource.POD, Action.DELETE), port_freed, HintReads.CLASS),
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD)),
        )


def port_freed(pod: Pod, old: Pod, new: Pod | None) -> bool:
    """Hint: the deleted pod had a node or a nomination, and a port that conflicts with the pod."""
    if not (old.spec.node_name or old.status.nominated_node_name):
        return False
    return any(used.conflicts(port) for used in old.host_ports for port in pod.host_ports)


def _taken_ports(ports: Iterable[HostPort], info: NodeInfo) -> Iterator[str]:
    """Yield ``8080/TCP is taken by default/web on n1`` for each port with a conflict."""
    for port in dict.fromkeys(ports):
        for pod in info.pods.values():
            used = next((used for used in pod.host_ports if used.conflicts(port)), None)
            if used is not None:
                yield f"{_port_text(port)} is taken by {pod_text(pod)}{_address_text(port, used)}"
                break


def _port_text(port: HostPort) -> str:
    address = "" if port.host_ip == ANY_ADDRESS else f"{port.host_ip}:"
    return f"{address}{port.port}/{port.protocol}"


def _address_text(port: HostPort, used: HostPort) -> str:
    if used.host_ip == port.host_ip:
        return ""
    return ", on all addresses" if used.host_ip == ANY_ADDRESS else f", on address {used.host_ip}"
