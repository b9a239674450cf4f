"""Scores of spreading for nodes as an extender sent them back. The numbers are kube-scheduler's, v1.36.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, evolve

from schedframe import InMemoryCluster, Node, Pod, Scheduler, VirtualClock
from schedframe.api import LabelSelector, TopologySpreadConstraint
from schedframe.framework import BaseExtender, ExtenderFilterResult, ExtenderVerb, OfferedNodes
from tests.cycle.build import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
LABELS = {"app": "web"}


@define(eq=False)
class SendsBack(BaseExtender):
    """Answers with nodes made from those that it is offered."""

    made: Callable[[list[Node]], list[Node]] = list
    verbs: frozenset[ExtenderVerb] = frozenset({ExtenderVerb.FILTER})

    def filter(self, pod: Pod, nodes: OfferedNodes) -> ExtenderFilterResult:
        return ExtenderFilterResult(nodes=self.made(list(nodes.nodes)))


def spread(made: Callable[[list[Node]], list[Node]], *keys: str) -> dict[str, int]:
    """Scores for a pod that spreads over *keys*: two zones of two nodes, a node without one, a pod on two."""
    cluster = InMemoryCluster()
    for i, zone in enumerate("aabb"):
        cluster.apply(make_node(f"n{i}", labels={ZONE: zone}))
    cluster.apply(make_node("n4"))
    cluster.apply(make_pod("r0", node_name="n0", labels=LABELS))
    cluster.apply(make_pod("r1", node_name="n3", labels=LABELS))
    cluster.apply(make_pod("r2", node_name="n3", labels=LABELS))
    constraints = tuple(
        TopologySpreadConstraint(
            max_skew=1,
            topology_key=key,
            when_unsatisfiable="ScheduleAnyway",
            label_selector=LabelSelector(match_labels=LABELS),
        )
        for key in keys
    )
    cluster.create(make_pod(labels=LABELS, topology_spread_constraints=constraints))
    scheduler = Scheduler(cluster, extenders=[SendsBack(made=made)], clock=VirtualClock())
    decision = scheduler.schedule_one()
    assert decision is not None
    assert decision.error is None, decision.error
    assert decision.scores is not None
    names = decision.scores.rows.names()
    return dict(zip(names, decision.scores.by_plugin["PodTopologySpread"].tolist(), strict=True))


def without(*names: str) -> Callable[[list[Node]], list[Node]]:
    return lambda nodes: [node for node in nodes if node.name not in names]


def relabelled(**zones: str) -> Callable[[list[Node]], list[Node]]:
    def made(nodes: list[Node]) -> list[Node]:
        return [_in_zone(node, zones[node.name]) if node.name in zones else node for node in nodes]

    return made


def _in_zone(node: Node, zone: str) -> Node:
    metadata: Any = node.metadata
    return evolve(node, metadata=evolve(metadata, labels={**node.labels, ZONE: zone}))


def test_domains_keep_their_scores_in_any_order() -> None:
    assert spread(lambda nodes: nodes[::-1], ZONE) == {"n3": 66, "n1": 200, "n4": 0, "n2": 66, "n0": 200}


def test_domains_keep_their_scores_without_some_nodes() -> None:
    assert spread(without("n0"), ZONE) == {"n2": 66, "n4": 0, "n1": 200, "n3": 66}


def test_a_node_without_the_label_is_ignored() -> None:
    assert spread(without("n0", "n2"), ZONE) == {"n4": 0, "n1": 200, "n3": 66}


def test_a_node_is_in_the_domain_that_it_was_sent_back_with() -> None:
    assert spread(relabelled(n4="a", n0="b"), ZONE) == {"n0": 66, "n2": 66, "n4": 200, "n1": 200, "n3": 66}


def test_a_domain_that_no_node_of_the_cluster_is_in_has_no_pods() -> None:
    assert spread(relabelled(n0="new"), ZONE) == {"n0": 200, "n2": 0, "n4": 0, "n1": 66, "n3": 0}


def test_pods_of_a_node_that_was_sent_back_do_not_count_by_host() -> None:
    assert spread(list, HOSTNAME) == dict.fromkeys(("n0", "n2", "n4", "n1", "n3"), 200)


def test_domains_and_hosts_together() -> None:
    assert spread(without("n2"), ZONE, HOSTNAME) == {"n0": 200, "n4": 0, "n1": 200, "n3": 66}
