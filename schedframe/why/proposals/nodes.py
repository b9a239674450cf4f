"""Proposals to add nodes. What a node reports of its hardware is nothing that people can change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...api import IN, Node, NodeStatus, ObjectMeta, Pod, Quantity
from ...api.fieldcodecs import LABEL_HOSTNAME
from ...fork.likeness import free_names, node_like
from ..change import Change, ChangeKind
from ..near_misses import PODS
from .case import Case, NearNode
from .requests import notation_of, quantity

_SHAPES: Final = 8
"""Different shapes of nodes of which another one is proposed."""
NO_LABELS: Final[Mapping[str, str]] = {}


def propose(case: Case) -> Iterator[Change]:
    """Propose nodes like near ones, and a node for what no node can hold."""
    shapes: dict[Any, NearNode] = {}
    unmet = _unmet(case)
    for near in case.near:
        node = near.info.node
        if node is None:
            continue
        labels = {key: value for key, value in node.labels.items() if key != LABEL_HOSTNAME}
        shape = (sorted(node.allocatable.items()), sorted(labels.items()), node.spec.taints)
        shapes.setdefault(repr(shape), near)
    needed = _needed_by_volumes(case)
    for near in list(shapes.values())[:_SHAPES]:
        yield _another(case, near)
        if needed:
            yield _another(case, near, needed)
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


def _needed_by_volumes(case: Case) -> dict[str, str]:
    """Return the node labels from which the volumes of the pod can be used, one value for each."""
    labels: dict[str, str] = {}
    for volume in case.pod.spec.volumes:
        source = volume.persistent_volume_claim
        key = f"{case.pod.namespace}/{source.claim_name}" if source is not None else ""
        claim = case.cluster.get("PersistentVolumeClaim", key)
        name = claim.spec.volume_name if claim is not None else ""
        found = case.cluster.get("PersistentVolume", name)
        affinity = found.spec.node_affinity if found is not None else None
        required = affinity.required if affinity is not None else None
        for term in required.terms[:1] if required is not None else ():
            labels |= {each.key: each.values[0] for each in term.match_expressions if each.operator == IN}
    return labels


def _another(case: Case, near: NearNode, labels: Mapping[str, str] = NO_LABELS) -> Change:
    """Propose nodes like *near* with other *labels*, empty and ready: enough for all pods that are alike."""
    node = near.info.node
    assert node is not None
    count = -(-case.alike // max(1, _held(case.pod, node)))
    names = free_names(_taken(case), f"{node.name}-like", count)
    text = f"add a node like {node.name}" if count == 1 else f"add {count} nodes like {node.name}"
    if labels:
        text += f" with {', '.join(f'{key}={value}' for key, value in labels.items())}"
    made = tuple(node_like(node, name, labels) for name in names)
    return Change(ChangeKind.ADD_NODE, text, objects=made, rank=(bool(labels),))


def _held(pod: Pod, node: Node) -> int:
    """Return how many such pods an empty node like *node* holds, as far as resources and ports tell."""
    wanted = {resource: needed for resource, needed in pod.requests.items() if needed > 0} | {PODS: 1}
    fits: int = min(node.allocatable.get(resource, 0) // needed for resource, needed in wanted.items())
    return min(fits, 1) if pod.host_ports or _repels_its_like(pod) else fits


def _repels_its_like(pod: Pod) -> bool:
    """Return whether *pod* has a required anti-affinity, which most often keeps its like off its node."""
    affinity = pod.spec.affinity
    anti = affinity.pod_anti_affinity if affinity is not None else None
    return anti is not None and bool(anti.required)


def _fitting(case: Case) -> Change:
    """Propose the smallest node that has room for the pod."""
    pod, name = case.pod, free_names(_taken(case), "new-node", 1)[0]
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


def _taken(case: Case) -> list[str]:
    return [node.name for node in case.cluster.list("Node")]
