"""The node table as one would write it without caring for speed: everything is computed when asked for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe.api import Node, Pod
from schedframe.state import NO_NODE, NodeInfo, NodeTable
from schedframe.state.resource_columns import LARGEST_SUM


@define(eq=False)
class NaiveTable:
    nodes: dict[str, Node] = field(factory=dict)
    pods: dict[str, dict[str, Pod]] = field(factory=dict)
    """Node name → uid → pod, in order of arrival."""

    def names(self) -> set[str]:
        return {*self.nodes, *(name for name, pods in self.pods.items() if pods)}

    def located(self) -> list[tuple[str, Pod]]:
        return [(name, pod) for name, pods in self.pods.items() for pod in pods.values()]

    def add_pod(self, name: str, pod: Pod) -> None:
        self.pods.setdefault(name, {})[pod.uid] = pod

    def remove_pod(self, name: str, uid: str) -> None:
        del self.pods[name][uid]

    def copy_of_pods(self) -> dict[str, dict[str, Pod]]:
        return {name: dict(pods) for name, pods in self.pods.items()}

    def requested(self, name: str) -> dict[str, int]:
        total: dict[str, int] = {}
        for pod in self.pods.get(name, {}).values():
            for resource, amount in pod.requests.items():
                total[resource] = total.get(resource, 0) + amount
        return {resource: amount for resource, amount in total.items() if amount}

    def non_zero(self, name: str) -> tuple[int, int]:
        pods = self.pods.get(name, {}).values()
        return (sum(pod.non_zero_requests[0] for pod in pods), sum(pod.non_zero_requests[1] for pod in pods))

    def ports(self, name: str) -> dict[tuple[str, int], dict[str, int]]:
        used: dict[tuple[str, int], dict[str, int]] = {}
        for pod in self.pods.get(name, {}).values():
            for port in pod.host_ports:
                users = used.setdefault((port.protocol, port.port), {})
                users[port.host_ip] = users.get(port.host_ip, 0) + 1
        return used

    def allocatable(self, name: str) -> dict[str, int]:
        return dict(self.nodes[name].allocatable) if name in self.nodes else {}

    def nodes_with_image(self, image: str) -> set[str]:
        return {
            name
            for name, node in self.nodes.items()
            if any(image in found.names for found in node.status.images)
        }


def assert_info_agrees(info: NodeInfo, model: NaiveTable) -> None:
    """A node info says what the model says of its node."""
    name = info.name
    assert info.node is model.nodes.get(name, NO_NODE)
    assert info.has_node == (name in model.nodes)
    assert list(info.pods.values()) == list(model.pods.get(name, {}).values())
    assert {resource: amount for resource, amount in info.requested.items() if amount} == model.requested(
        name
    )
    assert (info.non_zero_cpu, info.non_zero_memory) == model.non_zero(name)
    assert info.used_ports == model.ports(name)
    assert info.allocatable == model.allocatable(name)
    assert info.allowed_pods == model.allocatable(name).get("pods", 0)


def assert_table_agrees(table: NodeTable, model: NaiveTable) -> None:
    """Check that every column equals the model, without anything left of deleted nodes and pods."""
    assert table.num_nodes == len(model.nodes)
    assert sorted(table.rows().names()) == sorted(model.nodes)
    assert len(table.rows()) == len(model.nodes)
    assert {table.name_of(row) for row in table.used_rows()} >= model.names()
    names = sorted(model.names())
    rows = [table.row_of(name) for name in names]
    for name, row in zip(names, rows, strict=True):
        assert row is not None
        assert table.live_row(name) == (row if name in model.nodes else None)
        assert table.node_at(row) is model.nodes.get(name)
        assert list(table.pods_at(row).items()) == list(model.pods.get(name, {}).items())
    assert_columns_agree(table, model, names, np.array(rows, np.intp))


def assert_columns_agree(
    table: NodeTable, model: NaiveTable, names: list[str], rows: npt.NDArray[np.intp]
) -> None:
    allocatable, requested = ([of(name) for name in names] for of in (model.allocatable, model.requested))
    resources = {*table.resources(), "example.com/unknown"}
    assert resources >= {name for found in (*allocatable, *requested) for name, n in found.items() if n}
    for name in resources:
        assert table.allocatable(name)[rows].tolist() == [found.get(name, 0) for found in allocatable]
        assert not (table.is_absent(name) and any(found.get(name) for found in allocatable))
        shown = [min(found.get(name, 0), LARGEST_SUM) for found in requested]
        assert table.requested(name)[rows].tolist() == shown
    assert table.is_absent("example.com/unknown")
    non_zero = [model.non_zero(name) for name in names]
    for i, name in enumerate(("cpu", "memory")):
        shown = [min(amounts[i], LARGEST_SUM) for amounts in non_zero]
        assert table.non_zero_requested(name)[rows].tolist() == shown
    assert table.pod_count[rows].tolist() == [len(model.pods.get(name, {})) for name in names]
    assert table.allowed_pods[rows].tolist() == [found.get("pods", 0) for found in allocatable]
    unschedulable = [name in model.nodes and model.nodes[name].spec.unschedulable for name in names]
    assert table.unschedulable[rows].tolist() == unschedulable
