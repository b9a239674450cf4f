"""The workloads behind the templates: each a function from its size to the operations.

Where scheduler_perf of Kubernetes has a workload of that kind its shape is taken over: what nodes and pods
look like, in which namespaces they are. Pods that run before are spread evenly instead of being scheduled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from ..api import Pod
from .objects import HOSTNAME, ZONE, make_node, make_pod, make_service, node_name
from .sizes import Size
from .workload import Arena, Backlog, Create, Meanwhile, Operation, SchedulePods

Spec = Mapping[str, Any]

THREE_ZONES: Final = ("moon-1", "moon-2", "moon-3")
ONE_ZONE: Final = ("zone1",)
NAMESPACES: Final = ("sched-0", "sched-1")
"""Of the pods that run before, and of the measured ones."""
TOO_MANY_CPUS: Final = "9"
SIZES: Final = tuple((f"{50 * i}m", f"{128 * j}Mi") for i in (1, 2, 3, 5) for j in (1, 2, 6))
DISTINCT: Final = 1000
VICTIMS_A_NODE: Final = 4
CHURN_EVERY: Final = 10


def _nodes(size: Size, zones: Sequence[str] = ()) -> Create:
    return Create("nodes", size.nodes, lambda i: make_node(i, zones))


def _home(i: int, size: Size) -> str:
    """The node of the i-th running pod."""
    return node_name(i % max(size.nodes, 1))


def _running(size: Size, namespace: str = "default", **details: Any) -> Create:
    def make(i: int) -> Pod:
        return make_pod(f"running-{i:06d}", namespace=namespace, node=_home(i, size), **details)

    return Create("running pods", size.init, make)


def _measured(size: Size, namespace: str = "default", **details: Any) -> SchedulePods:
    return SchedulePods(size.pods, lambda i: make_pod(f"pod-{i:06d}", namespace=namespace, **details))


# ---- what the node alone decides ---------------------------------------------------------------------------


def basic(size: Size) -> Sequence[Operation]:
    """Equal nodes, equal pods."""
    return _nodes(size), _running(size), _measured(size)


def mixed_sizes(size: Size) -> Sequence[Operation]:
    """Pods of twelve sizes in turn."""

    def make(i: int) -> Pod:
        cpu, memory = SIZES[i % len(SIZES)]
        return make_pod(f"pod-{i:06d}", cpu=cpu, memory=memory)

    return _nodes(size), _running(size), SchedulePods(size.pods, make)


def distinct_classes(size: Size) -> Sequence[Operation]:
    """Pods of a thousand sizes: rounds of all of them, each shuffled."""
    order: list[int] = []
    rng = Random(size.pods)
    while len(order) < size.pods:
        order += rng.sample(range(DISTINCT), DISTINCT)

    def make(i: int) -> Pod:
        return make_pod(f"pod-{i:06d}", memory=f"{100 + order[i]}Mi")

    return _nodes(size), _running(size), SchedulePods(size.pods, make)


def taints(size: Size) -> Sequence[Operation]:
    """Of four nodes two are free, one has a taint that is tolerated, one a taint that is not."""
    kinds: Sequence[Sequence[Mapping[str, str]]] = (
        (),
        ({"key": "dedicated", "value": "batch", "effect": "NoSchedule"},),
        ({"key": "broken", "effect": "PreferNoSchedule"},),
        ({"key": "dedicated", "value": "other", "effect": "NoSchedule"},),
    )
    nodes = Create("nodes", size.nodes, lambda i: make_node(i, taints=kinds[i % len(kinds)]))
    tolerated = [{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}]
    return nodes, _running(size), _measured(size, tolerations=tolerated)


def node_affinity(size: Size) -> Sequence[Operation]:
    """A required term that all nodes meet."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}]}
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    }
    return (
        _nodes(size, ONE_ZONE),
        _running(size, affinity=affinity),
        _measured(size, affinity=affinity),
    )


# ---- what depends on where other pods are ------------------------------------------------------------------


def _spread(size: Size, when: str) -> Sequence[Operation]:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"color": "blue"}},
    }
    measured = _measured(size, labels={"color": "blue"}, topologySpreadConstraints=[constraint])
    return _nodes(size, THREE_ZONES), _running(size), measured


def spread_required(size: Size) -> Sequence[Operation]:
    """Evenly over three zones, or not at all."""
    return _spread(size, "DoNotSchedule")


def spread_preferred(size: Size) -> Sequence[Operation]:
    """Evenly over three zones, if that can be."""
    return _spread(size, "ScheduleAnyway")


def _term(colour: str, topology_key: str) -> Spec:
    return {
        "labelSelector": {"matchLabels": {"color": colour}},
        "topologyKey": topology_key,
        "namespaces": list(NAMESPACES),
    }


def _related(size: Size, colour: str, affinity: Spec, zones: Sequence[str] = ()) -> Sequence[Operation]:
    """Pods that look for each other or avoid each other, in two namespaces."""
    details: dict[str, Any] = {"labels": {"color": colour}, "affinity": affinity}
    return (
        _nodes(size, zones),
        _running(size, NAMESPACES[0], **details),
        _measured(size, NAMESPACES[1], **details),
    )


def _required(relation: str, term: Spec) -> Spec:
    return {relation: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _preferred(relation: str, term: Spec) -> Spec:
    weighted = {"weight": 1, "podAffinityTerm": term}
    return {relation: {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}


def anti_affinity(size: Size) -> Sequence[Operation]:
    """One pod a node: no more of them than nodes."""
    return _related(size, "green", _required("podAntiAffinity", _term("green", HOSTNAME)))


def anti_affinity_preferred(size: Size) -> Sequence[Operation]:
    """Rather one pod a node."""
    return _related(size, "yellow", _preferred("podAntiAffinity", _term("yellow", HOSTNAME)))


def pod_affinity(size: Size) -> Sequence[Operation]:
    """All in one zone, where all nodes are."""
    return _related(size, "blue", _required("podAffinity", _term("blue", ZONE)), ONE_ZONE)


def pod_affinity_preferred(size: Size) -> Sequence[Operation]:
    """Rather on nodes that have some already."""
    return _related(size, "red", _preferred("podAffinity", _term("red", HOSTNAME)))


# ---- pods that find no node --------------------------------------------------------------------------------


def unschedulable_backlog(size: Size) -> Sequence[Operation]:
    """Pods that no node can ever take wait, and hear of every pod that is placed."""
    backlog = Backlog(size.init, lambda i: make_pod(f"waiting-{i:06d}", cpu=TOO_MANY_CPUS, priority=10))
    return _nodes(size), backlog, _measured(size)


def unschedulable_attempts(size: Size) -> Sequence[Operation]:
    """Every attempt ends without a node, preemption having been tried."""
    return _nodes(size), _running(size), _measured(size, cpu=TOO_MANY_CPUS, priority=10)


def preemption(size: Size) -> Sequence[Operation]:
    """All nodes are full of pods of priority 0; a measured one needs the room of three of them."""

    def victim(i: int) -> Pod:
        return make_pod(f"low-{i:06d}", node=_home(i, size), cpu="900m", terminationGracePeriodSeconds=0)

    fill = Create("pods of low priority", VICTIMS_A_NODE * size.nodes, victim)

    def make(i: int) -> Pod:
        return make_pod(f"pod-{i:06d}", cpu="3", priority=10)

    return _nodes(size), fill, SchedulePods(size.pods, make, patience=15.0)


# ---- a cluster that changes --------------------------------------------------------------------------------


def node_churn(size: Size) -> Sequence[Operation]:
    """A node joins, and leaves again ten cycles later; so does a service."""

    def happen(arena: Arena, cycles: int) -> None:
        turn = cycles // CHURN_EVERY
        node, service = make_node(size.nodes + turn // 2), make_service(f"churn-{turn // 2}")
        if turn % 2:
            arena.cluster.apply(node)
            arena.cluster.apply(service)
        else:
            arena.cluster.delete("Node", node_name(size.nodes + (turn - 1) // 2))
            arena.cluster.delete("Service", f"default/churn-{(turn - 1) // 2}")

    def make(i: int) -> Pod:
        return make_pod(f"pod-{i:06d}")

    return _nodes(size), _running(size), SchedulePods(size.pods, make, Meanwhile(CHURN_EVERY, happen))
