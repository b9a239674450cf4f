"""Nodes and pods in numbers, for the plugins that reckon with resources."""

from __future__ import annotations

from collections.abc import Mapping

from schedframe.api import (
    Container,
    ContainerPort,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    Quantity,
    ResourceRequirements,
    parse_quantity,
)
from schedframe.state import NodeInfo, NodeTable

Amount = str | int


def amounts(values: Mapping[str, Amount]) -> dict[str, Quantity]:
    """Quantities by resource name."""
    return {name: parse_quantity(value) for name, value in values.items()}


def make_node(values: Mapping[str, Amount] | None = None, name: str = "n", pods: int = 110) -> Node:
    """A node with these allocatable amounts, and room for *pods* pods."""
    return Node(
        ObjectMeta(name=name, uid=name),
        status=NodeStatus(allocatable=amounts({"pods": pods, **(values or {})})),
    )


def make_pod(
    *requests: Mapping[str, Amount],
    name: str = "p",
    node: str = "",
    whole: Mapping[str, Amount] | None = None,
    ports: tuple[ContainerPort, ...] = (),
) -> Pod:
    """A pod with a container for each of *requests*, requests of the *whole* pod, *ports* of the first."""
    containers = tuple(
        Container(
            f"c{i}",
            resources=ResourceRequirements(requests=amounts(one)),
            ports=ports if i == 0 else (),
        )
        for i, one in enumerate(requests or ({},))
    )
    resources = ResourceRequirements(requests=amounts(whole)) if whole else None
    return Pod(ObjectMeta(name=name, uid=name), PodSpec(containers, node_name=node, resources=resources))


def table_of(*infos: NodeInfo) -> NodeTable:
    """A table with the nodes and pods of *infos*."""
    table = NodeTable()
    for info in infos:
        table.set_node(info.node)
        for pod in info.pods.values():
            table.add_pod(info.name, pod)
    return table
