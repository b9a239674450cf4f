"""Random clusters and pods that fit often, and meet each other often; everything follows from a Random."""

from __future__ import annotations

from random import Random
from typing import Any

from schedframe import Node, Pod, Taint, Toleration
from schedframe.api import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    Affinity,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)

from .build import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
IMAGES = {"web": 400 << 20, "ml": 900 << 20, "tiny": 1 << 20}


def node(random: Random, name: str, *, images: bool = True) -> Node:
    """Most nodes are open and have room; some are closed, tainted or, with *images*, full of images."""
    labels = {ZONE: random.choice("ab")}
    if random.random() < 0.5:
        labels["disk"] = random.choice(("ssd", "hdd"))
    if random.random() < 0.3:
        labels["cores"] = random.choice(("5", "9"))
    taints = [
        Taint("dedicated", random.choice("xy"), random.choice((NO_SCHEDULE, NO_EXECUTE)))
        for _ in range(random.random() < 0.2)
    ]
    taints += [Taint("slow", random.choice("xy"), PREFER_NO_SCHEDULE) for _ in range(random.random() < 0.4)]
    return make_node(
        name,
        cpu=random.choice((2, 3, 4)),
        pods=random.choice((3, 6, 110)),
        labels=labels,
        taints=tuple(taints),
        unschedulable=random.random() < 0.1,
        images={image: size for image, size in IMAGES.items() if images and random.random() < 0.4},
        **({"example.com/gpu": 2} if random.random() < 0.4 else {}),
    )


def template(random: Random, name: str, *, others: bool) -> Pod:
    """A pod to be created under many names. *others*: it may say something about other pods."""
    spec: dict[str, Any] = {}
    labels = {"app": random.choice("abc")}
    for key, values in (("zone", "ab"), ("disk", ("7", "12")), ("cores", ("5", "7"))):
        if random.random() < 0.3:
            labels[key] = random.choice(values)
    if random.random() < 0.3:
        keys = random.choice(("", "dedicated", "slow"))
        spec["tolerations"] = (Toleration(key=keys, operator="Exists"),)
    if random.random() < 0.2:
        spec["node_selector"] = {"disk": random.choice(("ssd", "hdd"))}
    affinity = _affinity(random, others)
    if affinity is not None:
        spec["affinity"] = affinity
    if others and random.random() < 0.3:
        spec["topology_spread_constraints"] = (_spread(random, labels["app"]),)
    return make_pod(
        name,
        cpu=random.choice((0, "500m", 1, 2)),
        labels=labels,
        priority=random.choice((None, None, 5)),
        host_port=random.choice((0, 0, 0, 80)),
        image=random.choice(("", *IMAGES)),
        **spec,
    )


def _affinity(random: Random, others: bool) -> Affinity | None:
    nodes = _node_affinity(random) if random.random() < 0.4 else None
    near = far = None
    if others and random.random() < 0.3:
        near = PodAffinity(preferred=(WeightedPodAffinityTerm(random.choice((1, 50)), _term(random)),))
    if others and random.random() < 0.3:
        far = PodAntiAffinity(required=(_term(random),))
    return Affinity(nodes, near, far) if nodes or near or far else None


def _term(random: Random) -> PodAffinityTerm:
    chosen = LabelSelector(match_labels={"app": random.choice("abc")})
    return PodAffinityTerm(label_selector=chosen, topology_key=random.choice((ZONE, HOST)))


def _node_affinity(random: Random) -> NodeAffinity:
    def term() -> NodeSelectorTerm:
        if random.random() < 0.3:
            return NodeSelectorTerm((NodeSelectorRequirement("cores", "Gt", ("6",)),))
        return NodeSelectorTerm((NodeSelectorRequirement(ZONE, "In", (random.choice("ab"),)),))

    required = NodeSelector((term(),)) if random.random() < 0.4 else None
    preferred = tuple(
        PreferredSchedulingTerm(random.choice((1, 30, 100)), term()) for _ in range(random.choice((0, 1, 2)))
    )
    return NodeAffinity(required, preferred)


def _spread(random: Random, app: str) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        max_skew=random.choice((1, 2)),
        topology_key=random.choice((ZONE, HOST)),
        when_unsatisfiable=random.choice(("DoNotSchedule", "ScheduleAnyway")),
        label_selector=LabelSelector(match_labels={"app": app}),
    )
