"""Short constructors of nodes and pods with affinity, and the answers of InterPodAffinity to them."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from plugins_builtin.args import InterPodAffinityArgs
from plugins_builtin.inter_pod_affinity import InterPodAffinity
from plugins_builtin.inter_pod_affinity.filtering import STATUSES
from schedframe.api import (
    Affinity,
    LabelSelector,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    PodStatus,
    WeightedPodAffinityTerm,
)
from schedframe.framework import CycleState
from schedframe.state import NodeInfo, NodeTable, ObjectStore

from .agreement import StandInHandle, columnar_scores, columnar_statuses, per_node_scores, per_node_statuses

ZONE, HOST = "zone", "host"


def make_node(name: str, **labels: str) -> Node:
    """Return a node that is its own host."""
    return Node(ObjectMeta(name=name, uid=name, labels={HOST: name, **labels}))


def make_pod(
    name: str,
    node_name: str = "",
    *,
    namespace: str = "default",
    affinity: Affinity | None = None,
    **labels: str,
) -> Pod:
    """Return a pod with these labels."""
    metadata = ObjectMeta(name=name, namespace=namespace, uid=name, labels=labels)
    return Pod(metadata, PodSpec(affinity=affinity, node_name=node_name))


def nominated(pod: Pod, node_name: str) -> Pod:
    """Return the pod nominated to a node."""
    return evolve(pod, status=PodStatus(nominated_node_name=node_name))


def term(app: str | None, key: str = ZONE, **more: Any) -> PodAffinityTerm:
    """Return a term for pods of that app; ``None``: without selector."""
    selector = None if app is None else LabelSelector({"app": app} if app else {})
    return PodAffinityTerm(selector, topology_key=key, **more)


def near(*apps: str, key: str = ZONE) -> Affinity:
    """Required affinity to pods of these apps, one term each."""
    return Affinity(pod_affinity=PodAffinity(tuple(term(app, key) for app in apps)))


def far_from(*apps: str, key: str = ZONE) -> Affinity:
    """Required anti-affinity to pods of these apps, one term each."""
    return Affinity(pod_anti_affinity=PodAntiAffinity(tuple(term(app, key) for app in apps)))


def wants(*terms: PodAffinityTerm) -> Affinity:
    """Required affinity."""
    return Affinity(pod_affinity=PodAffinity(terms))


def rather(
    near: dict[str, int] | None = None, far: dict[str, int] | None = None, key: str = ZONE
) -> Affinity:
    """Preferred affinity and anti-affinity: app → weight."""

    def weighted(apps: dict[str, int]) -> tuple[WeightedPodAffinityTerm, ...]:
        return tuple(WeightedPodAffinityTerm(weight, term(app, key)) for app, weight in apps.items())

    return Affinity(
        pod_affinity=PodAffinity(preferred=weighted(near or {})),
        pod_anti_affinity=PodAntiAffinity(preferred=weighted(far or {})),
    )


class World:
    """Four nodes: ``a`` and ``b`` in zone z1, ``c`` in z2, ``d`` without a zone."""

    def __init__(self, *pods: Pod, hard: int = 1, ignore: bool = False) -> None:
        self.table, self.objects = NodeTable(), ObjectStore()
        for name, zone in (("a", "z1"), ("b", "z1"), ("c", "z2")):
            self.table.set_node(make_node(name, zone=zone))
        self.table.set_node(make_node("d"))
        for pod in pods:
            self.table.add_pod(pod.node_name, pod)
        args = InterPodAffinityArgs(
            hard_pod_affinity_weight=hard, ignore_preferred_terms_of_existing_pods=ignore
        )
        self.plugin = InterPodAffinity(args, StandInHandle(table=self.table, objects=self.objects))

    def add_namespace(self, name: str, **labels: str) -> None:
        """Add a namespace."""
        self.objects.set(Namespace(ObjectMeta(name=name, labels=labels)))

    def info(self, name: str) -> NodeInfo:
        """Return a node of the table."""
        row = self.table.live_row(name)
        assert row is not None
        return self.table.info(row)

    def before(self, pod: Pod) -> CycleState:
        """Return the state after a pre_filter that does not skip."""
        state = CycleState()
        assert self.plugin.pre_filter(state, pod) is None
        return state

    def rejected(self, pod: Pod, state: CycleState | None = None) -> dict[str, int]:
        """Node → filter code, by both forms."""
        if state is None:
            state = CycleState()
            if self.plugin.pre_filter(state, pod) is not None:
                return {}
        rows = self.table.rows()
        found = per_node_statuses(self.plugin, state, pod, rows)
        assert columnar_statuses(self.plugin, state, pod, rows) == found
        codes = {status: code for code, status in enumerate(STATUSES, 1)}
        return {
            name: codes[status]
            for name, status in zip(rows.names(), found, strict=True)
            if not status.is_success
        }

    def scores(self, pod: Pod) -> dict[str, int] | None:
        """Node → raw score by both forms; ``None`` if scoring is skipped."""
        state, rows = CycleState(), self.table.rows()
        if self.plugin.pre_score(state, pod) is not None:
            return None
        found = per_node_scores(self.plugin, state, pod, rows)
        assert columnar_scores(self.plugin, state, pod, rows) == found
        return dict(zip(rows.names(), found, strict=True))


def everywhere(code: int, *but: str) -> dict[str, int]:
    """Return that filter code for all four nodes but these."""
    return {name: code for name in "abcd" if name not in but}
