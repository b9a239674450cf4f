"""Small clusters and pods for the properties of the builtin plugins.

The alphabets are tiny on purpose: nodes and pods meet in them often enough that every branch is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def amounts_of(*, cpu: int | None = None, memory: int | None = None, **more: int) -> dict[str, Quantity]:
    """Amounts by resource: *cpu* in milli-CPU, *memory* in MiB, others (``ephemeral_storage``) in units."""
    amounts = {name.replace("_", "-"): Quantity.of(amount) for name, amount in more.items()}
    if cpu is not None:
        amounts["cpu"] = Quantity.of_milli(cpu)
    if memory is not None:
        amounts["memory"] = Quantity.of(memory * _MIB)
    return amounts


@st.composite
def _amounts(draw: st.DrawFn, cpu: int, memory: int, count: int, optional: bool) -> dict[str, Quantity]:
    """Amounts up to *cpu* milli-CPU, *memory* MiB and *count* of the rest; each resource may be missing."""
    amounts = {}
    if not optional or draw(st.booleans()):
        amounts["cpu"] = Quantity.of_milli(draw(st.integers(0, cpu)))
    if not optional or draw(st.booleans()):
        amounts["memory"] = Quantity.of(draw(st.integers(0, memory * _MIB)))
    if draw(st.integers(0, 3)) == 0:
        amounts["ephemeral-storage"] = Quantity.of(draw(st.integers(0, count)))
    for name in EXTENDED:
        if draw(st.integers(0, 2)) == 0:
            amounts[name] = Quantity.of(draw(st.integers(0, count)))
    return amounts


@st.composite
def containers(draw: st.DrawFn) -> Container:
    """A container with any of requests, an image and host ports."""
    ports = st.builds(
        ContainerPort,
        container_port=st.just(80),
        host_port=st.sampled_from((0, 80, 443)),
        host_ip=st.sampled_from(ADDRESSES),
        protocol=st.sampled_from(("", "TCP", "UDP")),
    )
    return Container(
        name="c",
        image=draw(st.sampled_from(("", "web", *IMAGES))),
        resources=ResourceRequirements(requests=draw(_amounts(1500, 2000, 3, optional=True))),
        ports=tuple(draw(st.lists(ports, max_size=2))),
    )


@st.composite
def pods(draw: st.DrawFn, uid: str = "pod-under-test", node_name: str = "") -> Pod:
    """A pod that may ask for anything that the per-node plugins look at."""
    init = draw(st.lists(containers(), max_size=1))
    sidecar = draw(st.booleans())
    return Pod(
        ObjectMeta(name=uid, namespace="default", uid=uid, labels=draw(labels)),
        PodSpec(
            containers=tuple(draw(st.lists(containers(), min_size=1, max_size=2))),
            init_containers=tuple(evolve(c, restart_policy=RESTART_ALWAYS) if sidecar else c for c in init),
            node_name=node_name,
            node_selector=draw(st.just({}) | st.just({}) | labels),
            affinity=draw(st.none() | st.builds(Affinity, node_affinities)),
            tolerations=tuple(draw(st.lists(tolerations, max_size=3))),
        ),
    )


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    """A node of that name with some labels, taints, room and images."""
    allocatable = draw(_amounts(4000, 8000, 6, optional=draw(st.integers(0, 5)) == 0))
    allocatable["pods"] = Quantity.of(draw(st.sampled_from((0, 1, 2, 10))))
    images = st.builds(
        ContainerImage,
        st.lists(st.sampled_from(IMAGES), min_size=1, max_size=2, unique=True).map(tuple),
        st.sampled_from((0, 5 * _MIB, 23 * _MIB, 300 * _MIB, 2000 * _MIB)),
    )
    return Node(
        ObjectMeta(name=name, uid=name, labels={**draw(labels), "kubernetes.io/hostname": name}),
        NodeSpec(
            unschedulable=draw(st.booleans()),
            taints=tuple(
                draw(st.lists(taints, max_size=2, unique_by=lambda taint: (taint.key, taint.effect)))
            ),
        ),
        NodeStatus(allocatable=allocatable, images=tuple(draw(st.lists(images, max_size=2)))),
    )


@st.composite
def tables(draw: st.DrawFn, names: Sequence[str] = NODE_NAMES) -> NodeTable:
    """A node table with a history: nodes replaced and removed (holes), pods come and gone, rows reused."""
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
