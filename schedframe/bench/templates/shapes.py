"""Workloads of nodes and pods: functions from a size to operations.

Nodes, pods and namespaces are like those of the workload of scheduler_perf that the template names. Pods that
run before the measurement are spread evenly over the nodes instead of being scheduled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from random import Random
from typing import Any, Final

from ..._base.value import record
from ...api import Pod
from ..bench_run import BenchRun
from ..interference import Interference, Unit
from ..objects import HOSTNAME, ZONE, home_of, make_node, make_pod, make_service, node_name
from ..operations import Create, CreateBacklog, Operation, SchedulePods
from ..options import Size

Spec = Mapping[str, Any]

THREE_ZONES: Final = ("moon-1", "moon-2", "moon-3")
ONE_ZONE: Final = ("zone1",)
NAMESPACES: Final = ("sched-0", "sched-1")
"""Namespaces of the running and of the measured pods."""
TOO_MANY_CPUS: Final = "9"
"""A request that no node of 4 CPUs can meet."""
SIZES: Final = tuple((f"{50 * i}m", f"{128 * j}Mi") for i in (1, 2, 3, 5) for j in (1, 2, 6))
DISTINCT_SIZES: Final = 1000
VICTIMS_PER_NODE: Final = 4
LONGEST_BACKOFF_S: Final = 15.0
"""Backoffs after a preemption are waited for up to this; kube-scheduler's longest is 10 s."""
CHURN_INTERVAL: Final = 10
"""Measured cycles between two changes of ``node-churn``."""


def _nodes(size: Size, zones: Sequence[str] = ()) -> Create:
    return Create("nodes", size.nodes, lambda i: make_node(i, zones))


def _running(size: Size, namespace: str = "default", **details: Any) -> Create:
    def make(i: int) -> Pod:
        return make_pod(f"running-{i:06d}", namespace=namespace, node=home_of(i, size.nodes), **details)

    return Create("running pods", size.init, make)


def _measured(size: Size, namespace: str = "default", **details: Any) -> SchedulePods:
    return SchedulePods(size.pods, lambda i: make_pod(f"pod-{i:06d}", namespace=namespace, **details))


# ---- constraints on the node alone -------------------------------------------------------------------------


def basic(size: Size) -> Sequence[Operation]:
    """Equal pods on equal nodes."""
    return _nodes(size), _running(size), _measured(size)


def mixed_sizes(size: Size) -> Sequence[Operation]:
    """Pods of twelve sizes in turn."""

    def make(i: int) -> Pod:
        cpu, memory = SIZES[i % len(SIZES)]
        return make_pod(f"pod-{i:06d}", cpu=cpu, memory=memory)

    return _nodes(size), _running(size), SchedulePods(size.pods, make)


def distinct_classes(size: Size) -> Sequence[Operation]:
    """Pods of 1,000 sizes; each 1,000 pods have all sizes, in random order."""
    order: list[int] = []
    rng = Random(size.pods)
    while len(order) < size.pods:
        order += rng.sample(range(DISTINCT_SIZES), DISTINCT_SIZES)

    def make(i: int) -> Pod:
        return make_pod(f"pod-{i:06d}", memory=f"{100 + order[i]}Mi")

    return _nodes(size), _running(size), SchedulePods(size.pods, make)


def taints(size: Size) -> Sequence[Operation]:
    """Nodes in turn: no taint, a tolerated one, one that is only avoided, one that is not tolerated."""
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
    """Pods with a required node affinity term that all nodes match."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}]}
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    }
    return (
        _nodes(size, ONE_ZONE),
        _running(size, affinity=affinity),
        _measured(size, affinity=affinity),
    )


# ---- constraints on other pods -----------------------------------------------------------------------------


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
    """Pods that are spread over three zones by a required constraint."""
    return _spread(size, "DoNotSchedule")


def spread_preferred(size: Size) -> Sequence[Operation]:
    """Pods that are spread over three zones by a preferred constraint."""
    return _spread(size, "ScheduleAnyway")


def _term(colour: str, topology_key: str) -> Spec:
    return {
        "labelSelector": {"matchLabels": {"color": colour}},
        "topologyKey": topology_key,
        "namespaces": list(NAMESPACES),
    }


def _related(size: Size, colour: str, affinity: Spec, zones: Sequence[str] = ()) -> Sequence[Operation]:
    """Running and measured pods in two namespaces, with the same label and pod affinity."""
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
    """At most one pod per node, by a required term: pods beyond the number of nodes stay pending."""
    return _related(size, "green", _required("podAntiAffinity", _term("green", HOSTNAME)))


def anti_affinity_preferred(size: Size) -> Sequence[Operation]:
    """One pod per node if possible, by a preferred term."""
    return _related(size, "yellow", _preferred("podAntiAffinity", _term("yellow", HOSTNAME)))


def pod_affinity(size: Size) -> Sequence[Operation]:
    """All pods in one zone, which has all nodes, by a required term."""
    return _related(size, "blue", _required("podAffinity", _term("blue", ZONE)), ONE_ZONE)


def pod_affinity_preferred(size: Size) -> Sequence[Operation]:
    """Pods on nodes that have such pods, by a preferred term."""
    return _related(size, "red", _preferred("podAffinity", _term("red", HOSTNAME)))


# ---- pods that find no node --------------------------------------------------------------------------------


def unschedulable_backlog(size: Size) -> Sequence[Operation]:
    """Pods that fit no node stay pending while others are scheduled; each placement is an event for them."""
    backlog = CreateBacklog(size.init, lambda i: make_pod(f"waiting-{i:06d}", cpu=TOO_MANY_CPUS, priority=10))
    return _nodes(size), backlog, _measured(size)


def unschedulable_attempts(size: Size) -> Sequence[Operation]:
    """Pods that fit no node: every attempt fails after preemption was tried."""
    return _nodes(size), _running(size), _measured(size, cpu=TOO_MANY_CPUS, priority=10)


def preemption(size: Size) -> Sequence[Operation]:
    """Nodes full of pods of priority 0; each measured pod needs the room of three of them."""

    def victim(i: int) -> Pod:
        return make_pod(
            f"low-{i:06d}", node=home_of(i, size.nodes), cpu="900m", terminationGracePeriodSeconds=0
        )

    fill = Create("pods of low priority", VICTIMS_PER_NODE * size.nodes, victim)

    def make(i: int) -> Pod:
        return make_pod(f"pod-{i:06d}", cpu="3", priority=10)

    return _nodes(size), fill, SchedulePods(size.pods, make, patience=LONGEST_BACKOFF_S)


# ---- a cluster that changes --------------------------------------------------------------------------------


@record(frozen=True)
class ChurnNodes:
    """Lets a node and a service join and leave in turn, at an interval of measured cycles."""

    first: int
    """Number of the first node that joins."""

    def run(self, bench: BenchRun) -> None:
        """Begin; the changes are made while pods are scheduled."""
        cluster, turns = bench.fixture.cluster, count()

        def act() -> bool:
            pair, is_second = divmod(next(turns), 2)
            if is_second:
                cluster.delete("Node", node_name(self.first + pair))
                cluster.delete("Service", f"default/churn-{pair}")
            else:
                cluster.apply(make_node(self.first + pair))
                cluster.apply(make_service(f"churn-{pair}"))
            return True

        bench.start(Interference(CHURN_INTERVAL, Unit.CYCLES, act))


def node_churn(size: Size) -> Sequence[Operation]:
    """Equal pods, while a node and a service join, and leave again ten cycles later."""
    return _nodes(size), _running(size), ChurnNodes(size.nodes), _measured(size)
