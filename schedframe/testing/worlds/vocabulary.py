"""The vocabulary that made-up clusters share, so that pods and nodes have something to say to each other.

Small on purpose: with few words, pods and nodes meet in them often enough that every branch of a plugin is
taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final, TypeAlias

from ...api import (
    BINARY_SI,
    DO_NOT_SCHEDULE,
    LABEL_HOSTNAME,
    LABEL_ZONE,
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    RESTART_ALWAYS,
    SCHEDULE_ANYWAY,
    TAINT_UNSCHEDULABLE,
    Affinity,
    Container,
    ContainerImage,
    ContainerPort,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PreferredSchedulingTerm,
    Quantity,
    ResourceRequirements,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)

Words: TypeAlias = Mapping[str, Sequence[str]]
"""Label or annotation key → the values that it may have; it may always be absent."""

NO_WORDS: Final[Words] = {}
MIB: Final = 1 << 20
NODE_LABELS: Final[Words] = {LABEL_ZONE: ("a", "b"), "disk": ("hdd", "ssd")}
POD_LABELS: Final[Words] = {"app": ("web", "db")}
ANNOTATIONS: Final[Words] = {"example.com/note": ("x", "y")}
RESOURCES: Final = ("example.com/gpu",)
NAMESPACES: Final = ("default", "shop")
PRIORITIES: Final = (None, 0, 10, 1000)
GATES: Final[tuple[tuple[str, ...], ...]] = ((), (), (), ("example.com/quota",))
IMAGES: Final = ("registry.example/web:v1", "registry.example/db:v2")


def _requirement(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key, operator, values)


def _term(*requirements: NodeSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(requirements)


_SSD: Final = _term(_requirement("disk", "In", "ssd"))
_NOT_A: Final = _term(_requirement(LABEL_ZONE, "NotIn", "a"))
_NAMED: Final = NodeSelectorTerm((), (_requirement("metadata.name", "In", "n0"),))


def _like(app: str, key: str) -> PodAffinityTerm:
    return PodAffinityTerm(LabelSelector({"app": app}), topology_key=key)


AFFINITIES: Final[tuple[Affinity | None, ...]] = (
    None,
    None,
    None,
    Affinity(NodeAffinity(NodeSelector((_SSD,)))),
    Affinity(NodeAffinity(NodeSelector((_NAMED,)))),
    Affinity(NodeAffinity(None, (PreferredSchedulingTerm(7, _SSD), PreferredSchedulingTerm(30, _NOT_A)))),
    Affinity(pod_affinity=PodAffinity((_like("web", LABEL_ZONE),))),
    Affinity(pod_affinity=PodAffinity((), (WeightedPodAffinityTerm(5, _like("db", LABEL_HOSTNAME)),))),
    Affinity(pod_anti_affinity=PodAntiAffinity((_like("web", LABEL_HOSTNAME),))),
    Affinity(pod_anti_affinity=PodAntiAffinity((), (WeightedPodAffinityTerm(9, _like("web", LABEL_ZONE)),))),
)
NODE_SELECTORS: Final[tuple[Mapping[str, str], ...]] = ({}, {}, {}, {"disk": "ssd"}, {LABEL_ZONE: "b"})

_EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
TAINTS: Final[tuple[tuple[Taint, ...], ...]] = (
    (),
    (),
    *((Taint("dedicated", value, effect),) for value, effect in product(("x", "y"), _EFFECTS)),
    (Taint("dedicated", "x", NO_SCHEDULE), Taint("busy", "", PREFER_NO_SCHEDULE)),
)
TOLERATIONS: Final[tuple[tuple[Toleration, ...], ...]] = (
    (),
    (),
    (Toleration("dedicated", "Equal", "x"),),
    (Toleration("dedicated", "Exists", effect=NO_SCHEDULE),),
    (Toleration(TAINT_UNSCHEDULABLE, "Exists"),),
    (Toleration(operator="Exists"),),
)
SPREADS: Final[tuple[tuple[TopologySpreadConstraint, ...], ...]] = (
    (),
    (),
    (),
    *(
        (TopologySpreadConstraint(1, key, action, LabelSelector({"app": "web"})),)
        for key, action in product((LABEL_ZONE, LABEL_HOSTNAME), (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY))
    ),
)
IMAGES_PRESENT: Final[tuple[tuple[ContainerImage, ...], ...]] = (
    (),
    (),
    (ContainerImage((IMAGES[0],), 300 * MIB),),
    (ContainerImage((IMAGES[0],), 300 * MIB), ContainerImage((IMAGES[1],), 900 * MIB)),
)

_PORTS: Final[tuple[tuple[ContainerPort, ...], ...]] = (
    (),
    (),
    (),
    (ContainerPort(container_port=80, host_port=8080),),
    (ContainerPort(container_port=80, host_port=8080, host_ip="10.0.0.1"),),
)


def containers(resources: Sequence[str]) -> tuple[Container, ...]:
    """Containers that ask for little or much, some of them for *resources* too, which they limit as well."""
    amounts: list[dict[str, Quantity]] = [
        {},
        {"cpu": Quantity.of_milli(250)},
        {"cpu": Quantity.of_milli(1500), "memory": Quantity.of(700 * MIB, BINARY_SI)},
        {"memory": Quantity.of(1500 * MIB, BINARY_SI)},
        *({name: Quantity.of(count)} for name in resources for count in (1, 3)),
    ]
    shapes = zip(amounts * len(_PORTS), sorted(_PORTS * len(amounts), key=len), strict=True)
    return tuple(
        Container(
            "c",
            IMAGES[i % 3] if i % 3 < len(IMAGES) else "",
            resources=ResourceRequirements(
                requests=requests,
                limits={name: amount for name, amount in requests.items() if name in resources},
            ),
            ports=ports,
        )
        for i, (requests, ports) in enumerate(shapes)
    )


SIDECARS: Final[tuple[tuple[Container, ...], ...]] = (
    (),
    (),
    (),
    (Container("side", resources=ResourceRequirements({"cpu": Quantity.of_milli(400)})),),
    (
        Container(
            "side",
            resources=ResourceRequirements({"cpu": Quantity.of_milli(400)}),
            restart_policy=RESTART_ALWAYS,
        ),
    ),
)
