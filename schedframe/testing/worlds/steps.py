"""Single changes of an object, each towards another object of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import evolve

from ...api import Node, Pod, Quantity, ResourceRequirements
from .naming import node_renamed
from .world import Change, World


def with_labels(old: Node, other: Node) -> Node:
    """With the labels of another node, but its own host name."""
    return Node(evolve(old.metadata, labels={**other.labels, **_own(old)}), old.spec, old.status)


def _own(node: Node) -> dict[str, str]:
    return {key: value for key, value in node.labels.items() if key == "kubernetes.io/hostname"}


def with_annotations(old: Node, other: Node) -> Node:
    """With the annotations of another node."""
    metadata = evolve(old.metadata, annotations=dict(other.metadata.annotations))
    return Node(metadata, old.spec, old.status)


def with_taints(old: Node, other: Node) -> Node:
    """With the taints of another node."""
    return Node(old.metadata, evolve(old.spec, taints=other.spec.taints), old.status)


def cordoned(old: Node, other: Node) -> Node:
    """Closed, or opened again."""
    return Node(old.metadata, evolve(old.spec, unschedulable=not old.spec.unschedulable), old.status)


def resized(old: Node, other: Node) -> Node:
    """With the room of another node."""
    return Node(old.metadata, old.spec, evolve(old.status, allocatable=other.status.allocatable))


NODE_CHANGES: tuple[Callable[[Node, Node], Node], ...] = (
    with_labels,
    resized,
    with_taints,
    cordoned,
    with_annotations,
)


def relabelled(old: Pod, other: Pod) -> Pod:
    """With labels and annotations of another pod."""
    metadata = evolve(old.metadata, labels=dict(other.labels), annotations=dict(other.metadata.annotations))
    return Pod(metadata, old.spec, old.status)


def tolerating(old: Pod, other: Pod) -> Pod:
    """With tolerations of another pod besides its own."""
    added = tuple(each for each in other.spec.tolerations if each not in old.spec.tolerations)
    spec = evolve(old.spec, tolerations=(*old.spec.tolerations, *added))
    return Pod(old.metadata, spec, old.status)


def ungated(old: Pod, other: Pod) -> Pod:
    """Without gates."""
    return Pod(old.metadata, evolve(old.spec, scheduling_gates=()), old.status)


def scaled_down(old: Pod, other: Pod) -> Pod:
    """With containers that ask for half as much."""
    containers = tuple(
        evolve(
            each,
            resources=ResourceRequirements(
                {name: _half(name, amount) for name, amount in each.resources.requests.items()}
            ),
        )
        for each in old.spec.containers
    )
    return Pod(old.metadata, evolve(old.spec, containers=containers), old.status)


def _half(name: str, amount: Quantity) -> Quantity:
    if name == "cpu":
        return Quantity.of_milli(amount.milli_value() // 2)
    return Quantity.of(amount.value() // 2)


POD_CHANGES: tuple[Callable[[Pod, Pod], Pod], ...] = (relabelled, scaled_down)
WAITING_CHANGES: tuple[Callable[[Pod, Pod], Pod], ...] = (relabelled, tolerating, ungated)


def next_steps(world: World, node: Node, pod: Pod) -> Iterator[Change]:
    """Return what may happen next on *node* and to the waiting *pod*, made up from the rest of *world*."""
    others = [change.new for change in world.changes if isinstance(change.new, Node)]
    for other in (*world.nodes, *others):
        if other.name != node.name:
            for change in NODE_CHANGES:
                yield Change(node, change(node, other))
            yield Change(None, node_renamed(other, "another"))
    pods = (*world.pods, *(change.new for change in world.changes if isinstance(change.new, Pod)))
    for running in (each for each in world.running if each.node_name == node.name):
        yield Change(running, None)
        for other_pod in pods[:3]:
            for change_pod in POD_CHANGES:
                yield Change(running, change_pod(running, other_pod))
    for other_pod in pods[:4]:
        for change_pod in WAITING_CHANGES:
            yield Change(pod, change_pod(pod, other_pod))
