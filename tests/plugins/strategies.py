"""Small clusters and pods for the properties of the builtin plugins.

The alphabets are tiny on purpose: nodes and pods meet in them often enough that every branch is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve
from hypothesis import strategies as st

from schedframe.api import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    RESTART_ALWAYS,
    Affinity,
    Container,
    ContainerImage,
    ContainerPort,
    ImageVolumeSource,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    PreferredSchedulingTerm,
    Quantity,
    ResourceRequirements,
    Taint,
    Toleration,
    Volume,
)
from schedframe.state import NodeTable

NODE_NAMES = tuple(f"node-{i}" for i in range(6))
LABEL_KEYS = ("zone", "disk", "cores")
LABEL_VALUES = ("a", "b", "7", "12")
TAINT_KEYS = ("dedicated", "node.kubernetes.io/unschedulable")
TAINT_VALUES = ("", "x", "y")
IMAGES = ("busybox", "registry.example/web:v1", "registry.example/ml@sha256:0a", "docker.io/db:latest")
EXTENDED = ("example.com/gpu", "example.com/nic", "hugepages-2Mi")
ADDRESSES = ("", "0.0.0.0", "10.0.0.1", "10.0.0.2")

_EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_MIB = 1 << 20

labels = st.dictionaries(st.sampled_from(LABEL_KEYS), st.sampled_from(LABEL_VALUES), max_size=3)
taints = st.builds(
    Taint, st.sampled_from(TAINT_KEYS), st.sampled_from(TAINT_VALUES), st.sampled_from(_EFFECTS)
)
tolerations = st.builds(
    Toleration,
    key=st.sampled_from(("", *TAINT_KEYS)),
    operator=st.sampled_from(("", "Equal", "Exists")),
    value=st.sampled_from(TAINT_VALUES),
    effect=st.sampled_from(("", *_EFFECTS)),
)
_label_requirements = st.one_of(
    st.builds(
        NodeSelectorRequirement,
        st.sampled_from(LABEL_KEYS),
        st.sampled_from(("In", "NotIn")),
        st.lists(st.sampled_from(LABEL_VALUES), min_size=1, max_size=2).map(tuple),
    ),
    st.builds(
        NodeSelectorRequirement, st.sampled_from(LABEL_KEYS), st.sampled_from(("Exists", "DoesNotExist"))
    ),
    st.builds(
        NodeSelectorRequirement,
        st.sampled_from(LABEL_KEYS),
        st.sampled_from(("Gt", "Lt")),
        st.sampled_from(("5", "7", "11")).map(lambda value: (value,)),
    ),
)
_field_requirements = st.builds(
    NodeSelectorRequirement,
    st.just("metadata.name"),
    st.sampled_from(("In", "NotIn")),
    st.sampled_from(NODE_NAMES).map(lambda name: (name,)),
)
node_selector_terms = st.builds(
    NodeSelectorTerm,
    st.lists(_label_requirements, max_size=2).map(tuple),
    st.lists(_field_requirements, max_size=1).map(tuple),
)
node_affinities = st.builds(
    NodeAffinity,
    st.none() | st.lists(node_selector_terms, min_size=1, max_size=2).map(tuple).map(NodeSelector),
    st.lists(st.builds(PreferredSchedulingTerm, st.integers(1, 100), node_selector_terms), max_size=3).map(
        tuple
    ),
)


def _amounts(
    cpu: int, memory: int, count: int, *, complete: bool = False
) -> st.SearchStrategy[dict[str, Quantity]]:
    """Amounts up to *cpu* milli-CPU, *memory* MiB and *count* of the rest.

    Any resource may be missing; cpu and memory are always there if *complete*.
    """
    counts = st.integers(0, count).map(Quantity.of)
    main = {
        "cpu": st.integers(0, cpu).map(Quantity.of_milli),
        "memory": st.integers(0, memory * _MIB).map(Quantity.of),
    }
    rest = dict.fromkeys(("ephemeral-storage", *EXTENDED), counts)
    return st.fixed_dictionaries(main if complete else {}, optional=rest if complete else {**main, **rest})


def _lists(elements: st.SearchStrategy[Any], most: int, least: int = 0) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(elements, min_size=least, max_size=most).map(tuple)


# Strategies are built once: building them for each draw takes most of the time of a draw.
_containers = st.builds(
    Container,
    name=st.just("c"),
    image=st.sampled_from(("", "web", *IMAGES)),
    resources=st.builds(ResourceRequirements, requests=_amounts(1500, 2000, 3)),
    ports=_lists(
        st.builds(
            ContainerPort,
            container_port=st.just(80),
            host_port=st.sampled_from((0, 80, 443)),
            host_ip=st.sampled_from(ADDRESSES),
            protocol=st.sampled_from(("", "TCP", "UDP")),
        ),
        most=2,
    ),
)
_specs = st.builds(
    PodSpec,
    containers=_lists(_containers, most=2, least=1),
    init_containers=_lists(
        st.builds(evolve, _containers, restart_policy=st.sampled_from(("", RESTART_ALWAYS))), most=1
    ),
    resources=st.none()
    | st.none()
    | st.builds(ResourceRequirements, requests=_amounts(3000, 4000, 0).filter(bool)),
    volumes=_lists(
        st.sampled_from(IMAGES).map(lambda image: Volume("image", image=ImageVolumeSource(image))), most=1
    ),
    node_selector=st.just({}) | st.just({}) | labels,
    affinity=st.none() | st.builds(Affinity, node_affinities),
    tolerations=_lists(tolerations, most=3),
)
_node_specs = st.builds(
    NodeSpec,
    unschedulable=st.booleans(),
    taints=st.lists(taints, max_size=2, unique_by=lambda taint: (taint.key, taint.effect)).map(tuple),
)
_node_statuses = st.builds(
    NodeStatus,
    allocatable=st.builds(
        lambda amounts, pods: {**amounts, "pods": Quantity.of(pods)},
        _amounts(4000, 8000, 6, complete=True),
        st.sampled_from((0, 1, 2, 10)),
    ),
    images=_lists(
        st.builds(
            ContainerImage,
            st.lists(st.sampled_from(IMAGES), min_size=1, max_size=2, unique=True).map(tuple),
            st.sampled_from((0, 5 * _MIB, 23 * _MIB, 300 * _MIB, 2000 * _MIB)),
        ),
        most=2,
    ),
)


@st.composite
def pods(draw: st.DrawFn, uid: str = "pod-under-test", node_name: str = "") -> Pod:
    """Draw a pod with anything that the per-node plugins read."""
    spec = evolve(draw(_specs), node_name=node_name)
    return Pod(ObjectMeta(name=uid, namespace="default", uid=uid, labels=draw(labels)), spec)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    """Draw a node of that name with labels, taints, resources and images."""
    metadata = ObjectMeta(name=name, uid=name, labels={**draw(labels), "kubernetes.io/hostname": name})
    return Node(metadata, draw(_node_specs), draw(_node_statuses))


@st.composite
def tables(draw: st.DrawFn, names: Sequence[str] = NODE_NAMES) -> NodeTable:
    """Draw a node table with a history: nodes replaced and removed, pods added and removed, rows reused."""
    table = NodeTable()
    present = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    for name in present:
        table.set_node(draw(nodes(name)))
    running = []
    for i in range(draw(st.integers(0, 6))):
        pod = draw(pods(f"running-{i}", draw(st.sampled_from(names))))
        table.add_pod(pod.node_name, pod)
        running.append(pod)
    for pod in draw(st.lists(st.sampled_from(running), unique_by=lambda pod: pod.uid)) if running else ():
        table.remove_pod(pod.node_name, pod.uid)
    for name in draw(st.lists(st.sampled_from(present), max_size=2, unique=True)):
        table.remove_node(name)
    for name in draw(st.lists(st.sampled_from(names), max_size=2, unique=True)):
        table.set_node(draw(nodes(name)))
    if not table.num_nodes:
        table.set_node(draw(nodes(names[0])))
    return table
