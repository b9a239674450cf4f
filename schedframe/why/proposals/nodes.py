"""Proposals to enlarge a node or to add one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from attrs import evolve

from ...api import Node, NodeSpec, NodeStatus, ObjectMeta, Quantity
from ...api.fieldcodecs import LABEL_HOSTNAME
from ...api.node import TAINT_UNSCHEDULABLE
from ...simulate.amounts import BYTES, COUNT, unit_of
from ..change import Change, ChangeKind, doublings
from ..near_misses import PODS, Shortage
from .case import Case, NearNode
from .requests import exact, notation_of, quantity

_SHAPES: Final = 8
"""Different shapes of nodes of which another one is proposed."""
_MEBI: Final = 1 << 20


def propose(case: Case) -> Iterator[Change]:
    """Propose more allocatable on near nodes, nodes like them, and a node for what no node can hold."""
    shapes: dict[Any, NearNode] = {}
    unmet = _unmet(case)
    for near in case.near:
        node = near.info.node
        if node is None:
            continue
        if near.miss.shortages and not any(_cannot_grow(short, unmet) for short in near.miss.shortages):
            yield _raised(near, node)
        labels = {key: value for key, value in node.labels.items() if key != LABEL_HOSTNAME}
        shape = (sorted(node.allocatable.items()), sorted(labels.items()), node.spec.taints)
        shapes.setdefault(repr(shape), near)
    for near in list(shapes.values())[:_SHAPES]:
        yield _another(case, near)
    if unmet:
        yield _fitting(case)


def _unmet(case: Case) -> frozenset[str]:
    """Return the requested resources of which no node has enough, however empty; O(nodes × resources)."""
    nodes: list[Node] = case.cluster.list("Node")
    wanted = {resource: needed for resource, needed in case.pod.requests.items() if needed > 0} | {PODS: 1}
    return frozenset(
        resource
        for resource, needed in wanted.items()
        if all(node.allocatable.get(resource, 0) < needed for node in nodes)
    )


def _cannot_grow(short: Shortage, unmet: frozenset[str]) -> bool:
    """Return whether no larger amount is proposed: for devices the node has not, and beyond any node."""
    return short.resource in unmet or (not short.total and unit_of(short.resource) == COUNT)


def _raised(near: NearNode, node: Node) -> Change:
    status = node.status
    allocatable = dict(status.allocatable or status.capacity)
    steps, parts = 0.0, []
    for short in near.miss.shortages:
        name, now = short.resource, node.allocatable.get(short.resource, 0)
        then = now + short.lacking
        if unit_of(name) == BYTES:
            then = -(-then // _MEBI) * _MEBI
        known = allocatable.get(name)
        notation = (
            known.format if known is not None else "BinarySI" if unit_of(name) == BYTES else "DecimalSI"
        )
        allocatable[name] = quantity(name, then, notation)
        steps += doublings(then, now)
        parts.append(f"{name} from {exact(name, now)} to {exact(name, then)}")
    after = evolve(node, status=evolve(status, allocatable=allocatable))
    text = f"raise the allocatable {' and '.join(parts)} on node {node.name}"
    return Change(ChangeKind.RAISE_ALLOCATABLE, text, steps, objects=(after,))


def _another(case: Case, near: NearNode) -> Change:
    """Propose a node like *near*, empty and ready."""
    node = near.info.node
    assert node is not None
    name = _free_name(case, f"{node.name}-like")
    labels = dict(node.labels)
    if LABEL_HOSTNAME in labels:
        labels[LABEL_HOSTNAME] = name
    spec = NodeSpec(taints=tuple(taint for taint in node.spec.taints if taint.key != TAINT_UNSCHEDULABLE))
    after = evolve(node, metadata=ObjectMeta(name=name, labels=labels), spec=spec)
    text = f"add a node like {node.name}"
    return Change(ChangeKind.ADD_NODE, text, objects=(after,))


def _fitting(case: Case) -> Change:
    """Propose the smallest node that has room for the pod."""
    pod, name = case.pod, _free_name(case, "new-node")
    amounts = {
        resource: quantity(resource, amount, notation_of(resource))
        for resource, amount in pod.requests.items()
    }
    amounts["pods"] = Quantity.of(1)
    node = Node(
        ObjectMeta(name=name, labels={LABEL_HOSTNAME: name, **pod.spec.node_selector}),
        status=NodeStatus(allocatable=amounts),
    )
    wanted = ", ".join(f"{resource} {amount}" for resource, amount in amounts.items())
    return Change(ChangeKind.ADD_NODE, f"add a node with {wanted}", objects=(node,))


def _free_name(case: Case, name: str) -> str:
    while case.cluster.get("Node", name) is not None:
        name += "-x"
    return name
