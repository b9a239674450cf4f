"""Hypothesis strategies for pods, nodes, whole clusters, workloads, and what happens to them.

Needs the extra ``testing``. Values are API objects (:class:`schedframe.Pod`, …). The vocabulary is small, so
that pods and nodes meet; give a plugin's own labels, annotations and resources where it looks at such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from attrs import evolve
from hypothesis import strategies as st

from ..api import (
    BINARY_SI,
    LABEL_HOSTNAME,
    Namespace,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    Quantity,
)
from . import vocabulary
from .changing import event_sequences
from .naming import node_renamed, placed, renamed
from .vocabulary import NO_WORDS, Words
from .world import World

Strategy = st.SearchStrategy

__all__ = [
    "Words",
    "clusters",
    "event_sequences",
    "labels",
    "namespace",
    "nodes",
    "pods",
    "workloads",
    "worlds",
]

MAX_NODES: Final = 4
MAX_RUNNING: Final = 5

_CPU: Final = (4000, 1000, 250, 0)
_MEMORY: Final = (4096, 1024, 0)
_ROOM: Final = (110, 2, 1, 0)


def labels(*vocabularies: Words) -> Strategy[dict[str, str]]:
    """Dictionaries of labels (or annotations): each key with one of its values, or left out."""
    return _labels(tuple(tuple((k, tuple(v)) for k, v in one.items()) for one in vocabularies))


@lru_cache(maxsize=256)
def _labels(vocabularies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]) -> Strategy[dict[str, str]]:
    merged = {key: values for one in vocabularies for key, values in one}
    choices = [st.sampled_from((None, *values)) for values in merged.values()]
    keys = tuple(merged)
    return st.tuples(*choices).map(
        lambda chosen: {key: value for key, value in zip(keys, chosen, strict=True) if value is not None}
    )


def _made(prefix: str) -> Strategy[str]:
    return st.integers(0, 99).map(lambda i: f"{prefix}{i}")


def pods(
    name: str | None = None,
    *,
    labels: Words = NO_WORDS,
    annotations: Words = NO_WORDS,
    resources: Sequence[str] = vocabulary.RESOURCES,
    namespaces: Sequence[str] = vocabulary.NAMESPACES,
    node_name: str = "",
) -> Strategy[Pod]:
    """Pods that may ask for anything that the builtin plugins look at; most ask for little.

    *labels* and *annotations* come on top of those that pods have anyway; some containers request
    *resources*. The uid is the name.
    """
    specs = st.builds(
        PodSpec,
        containers=st.lists(
            st.sampled_from(vocabulary.containers(tuple(resources))), min_size=1, max_size=2
        ).map(tuple),
        init_containers=st.sampled_from(vocabulary.SIDECARS),
        node_selector=st.sampled_from(vocabulary.NODE_SELECTORS),
        affinity=st.sampled_from(vocabulary.AFFINITIES),
        tolerations=st.sampled_from(vocabulary.TOLERATIONS),
        topology_spread_constraints=st.sampled_from(vocabulary.SPREADS),
        scheduling_gates=st.just(()) if node_name else st.sampled_from(vocabulary.GATES),
        priority=st.sampled_from(vocabulary.PRIORITIES),
        node_name=st.just(node_name),
    )
    metadata = st.builds(
        _metadata,
        st.just(name) if name is not None else _made("pod-"),
        st.sampled_from(tuple(namespaces)),
        _labels_of(vocabulary.POD_LABELS, labels),
        _labels_of(vocabulary.ANNOTATIONS, annotations),
    )
    return st.builds(Pod, metadata, specs)


def nodes(
    name: str | None = None,
    *,
    labels: Words = NO_WORDS,
    annotations: Words = NO_WORDS,
    resources: Sequence[str] = vocabulary.RESOURCES,
) -> Strategy[Node]:
    """Nodes, roomy or crowded, open or closed, tainted or not.

    *labels* and *annotations* come on top of those that nodes have anyway; some nodes have *resources*. The
    label ``kubernetes.io/hostname`` is the name.
    """
    metadata = st.builds(
        _metadata,
        st.just(name) if name is not None else _made("n"),
        st.just(""),
        _labels_of(vocabulary.NODE_LABELS, labels),
        _labels_of(NO_WORDS, annotations),
    ).map(_with_hostname)
    spec = st.builds(
        NodeSpec,
        unschedulable=st.sampled_from((False, False, True)),
        taints=st.sampled_from(vocabulary.TAINTS),
    )
    amounts = st.builds(
        _amounts,
        st.sampled_from(_CPU),
        st.sampled_from(_MEMORY),
        st.sampled_from(_ROOM),
        st.tuples(*(st.sampled_from((0, 1, 4)) for _ in resources)),
        st.just(tuple(resources)),
    )
    status = st.builds(NodeStatus, allocatable=amounts, images=st.sampled_from(vocabulary.IMAGES_PRESENT))
    return st.builds(Node, metadata, spec, status)


def _labels_of(usual: Words, given: Words) -> Strategy[dict[str, str]]:
    return labels(usual, given)


def _metadata(name: str, namespace: str, labels: dict[str, str], annotations: dict[str, str]) -> ObjectMeta:
    uid = f"{namespace}-{name}" if namespace else name
    return ObjectMeta(name=name, namespace=namespace, uid=uid, labels=labels, annotations=annotations)


def _with_hostname(metadata: ObjectMeta) -> ObjectMeta:
    return evolve(metadata, labels={**metadata.labels, LABEL_HOSTNAME: metadata.name})


def _amounts(
    cpu: int, memory: int, room: int, counts: Sequence[int], resources: Sequence[str]
) -> Mapping[str, Quantity]:
    return {
        "cpu": Quantity.of_milli(cpu),
        "memory": Quantity.of(memory * vocabulary.MIB, BINARY_SI),
        "pods": Quantity.of(room),
        **{name: Quantity.of(count) for name, count in zip(resources, counts, strict=True) if count},
    }


def _lists(elements: Strategy[Any], least: int, most: int) -> Strategy[list[Any]]:
    """Lists of all lengths alike: those that Hypothesis ends by itself are short."""
    lengths = st.sampled_from(range(least, most + 1))
    return lengths.flatmap(lambda length: st.lists(elements, min_size=length, max_size=length))


# ---- several of them ---------------------------------------------------------------------------------------


@st.composite
def workloads(
    draw: st.DrawFn, pods: Strategy[Pod] | None = None, *, min_size: int = 1, max_size: int = 4
) -> tuple[Pod, ...]:
    """Pods that wait, each under a name of its own; some share what they ask for with the one before."""
    drawn = draw(_lists(pods if pods is not None else _PODS, min_size, max_size))
    alike = [draw(st.sampled_from((False, False, True))) for _ in drawn]
    made: list[Pod] = []
    for i, (pod, same) in enumerate(zip(drawn, alike, strict=True)):
        made.append(renamed(made[-1] if same and made else pod, f"pod-{i}"))
    return tuple(made)


@st.composite
def clusters(
    draw: st.DrawFn,
    nodes: Strategy[Node] | None = None,
    pods: Strategy[Pod] | None = None,
    *,
    max_nodes: int = MAX_NODES,
    max_running: int = MAX_RUNNING,
) -> tuple[tuple[Node, ...], tuple[Pod, ...]]:
    """Nodes (``n0``, ``n1``, …, unless the strategy names them) and pods that run on them."""
    drawn = draw(_lists(nodes if nodes is not None else _NODES, 1, max_nodes))
    found = tuple(_distinct(drawn, named=nodes is not None))
    running = draw(_lists(pods if pods is not None else _PODS, 0, max_running))
    places = [draw(st.integers(0, len(found) - 1)) for _ in running]
    return found, tuple(
        placed(pod, f"running-{i}", found[place].name)
        for i, (pod, place) in enumerate(zip(running, places, strict=True))
    )


@st.composite
def worlds(
    draw: st.DrawFn,
    *,
    pods: Strategy[Pod] | None = None,
    nodes: Strategy[Node] | None = None,
    objects: Strategy[Sequence[Any]] | None = None,
    max_changes: int = 4,
) -> World:
    """All that a plugin is checked in: a cluster, waiting pods, other objects, and a sequence of events."""
    found, running = draw(clusters(nodes, pods))
    waiting = draw(workloads(pods, min_size=2, max_size=3))
    others = tuple(draw(objects if objects is not None else _OBJECTS))
    known = objects if objects is not None else _OBJECTS
    changes = draw(event_sequences(found, running, waiting, others, nodes, pods, known, max_changes))
    choices = tuple(draw(st.lists(st.integers(0, 11), min_size=6, max_size=6)))
    return World(found, running, waiting, others, changes, choices)


_PODS: Final = pods("pod")
_NODES: Final = nodes("node")


def namespace(name: str, labels: dict[str, str]) -> Namespace:
    """A namespace with labels."""
    return Namespace(ObjectMeta(name=name, uid=name, labels=labels))


_OBJECTS: Final = st.tuples(
    *(
        st.builds(namespace, st.just(name), labels({"team": ("red", "blue")}))
        for name in vocabulary.NAMESPACES
    )
)


def _distinct(drawn: Sequence[Node], *, named: bool) -> list[Node]:
    """Each node under a name of its own; its own one if the strategy gave one that is free."""
    taken: set[str] = set()
    found = []
    for i, node in enumerate(drawn):
        name = node.name if named and node.name and node.name not in taken else f"n{i}"
        while name in taken:
            name += "x"
        taken.add(name)
        found.append(node if name == node.name else node_renamed(node, name))
    return found
