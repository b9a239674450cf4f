"""PodTopologySpread: explanations of nodes and of domains."""

from __future__ import annotations

from attrs import evolve

from plugins_builtin.args import PodTopologySpreadArgs
from plugins_builtin.pod_topology_spread import PodTopologySpread
from schedframe import evaluate
from schedframe.api import SCHEDULE_ANYWAY, LabelSelector, NodeStatus, Pod, Quantity
from schedframe.framework import CycleState
from schedframe.state import NodeTable
from tests.plugins.agreement import StandInHandle
from tests.plugins.spreading import HOSTNAME, cluster, constraint, make_node, make_pod, run

COUNTS = "matching pods (skew with this one)"


def explained(table: NodeTable, pod: Pod) -> tuple[dict[str, str | None], list[str]]:
    """Return the explanation of each node, and those of the pod."""
    plugin, state = PodTopologySpread(PodTopologySpreadArgs(), StandInHandle(table=table)), CycleState()
    rows = table.rows()
    filters = plugin.pre_filter(state, pod, rows) is None
    plugin.pre_score(state, pod, rows)
    nodes = {info.name: plugin.explain(state, info) for info in rows} if filters else {}
    return nodes, plugin.explain_pod(state, pod)


def test_a_rejection_is_explained_by_numbers() -> None:
    table = cluster(a=0, b=2)
    table.set_node(make_node("bare"))
    nodes, _ = explained(table, make_pod("p", constraint()))
    assert nodes == {
        "a1": None,
        "b1": ("topology.kubernetes.io/zone b: matching pods 2 and this pod, the least is 0, maxSkew is 1"),
        "bare": "no label topology.kubernetes.io/zone",
    }


def test_too_few_domains_are_explained() -> None:
    nodes, _ = explained(cluster(a=1), make_pod("p", constraint(min_domains=2), labels={}))
    assert nodes == {"a1": None}
    nodes, _ = explained(cluster(a=1), make_pod("p", constraint(max_skew=0, min_domains=2), labels={}))
    assert nodes["a1"] == (
        "topology.kubernetes.io/zone a: matching pods 1, the least is 0 (domains 1, minDomains is 2), "
        "maxSkew is 0"
    )


def test_domains_are_listed_for_each_constraint() -> None:
    table = cluster(b=2, a=0)
    table.set_node(make_node("nameless", zone=""))
    soft = constraint(HOSTNAME, 3, SCHEDULE_ANYWAY, LabelSelector({"app": "db"}))
    run(table, "a1", 1, labels={"app": "db"})
    assert explained(table, make_pod("p", soft, constraint()))[1] == [
        f"DoNotSchedule topology.kubernetes.io/zone, maxSkew 1, {COUNTS}: (empty) 0 (1), a 0 (1), b 2 (3)",
        f"ScheduleAnyway kubernetes.io/hostname, maxSkew 3, {COUNTS}: b1 0 (0), nameless 0 (0), a1 1 (1)",
    ]
    assert explained(table, make_pod("p"))[1] == []
    nowhere = make_pod("p", constraint("no.such/key"))
    assert explained(table, nowhere)[1] == [
        "DoNotSchedule no.such/key, maxSkew 1, matching pods (skew with this one): no domain"
    ]


def test_of_many_domains_those_with_the_fewest_and_the_most_pods_are_listed() -> None:
    table = NodeTable()
    for i in range(20):
        table.set_node(make_node(f"n{i:02}"))
        run(table, f"n{i:02}", i)
    (line,) = explained(table, make_pod("p", constraint(HOSTNAME)))[1]
    assert line.endswith(
        f"{COUNTS}: n00 0 (1), n01 1 (2), n02 2 (3), n03 3 (4), (12 more), "
        "n16 16 (17), n17 17 (18), n18 18 (19), n19 19 (20)"
    )


def test_an_evaluation_contains_the_explanations() -> None:
    room = NodeStatus(allocatable={"pods": Quantity.of(10)})
    nodes = [evolve(make_node(f"{zone}1", zone=zone), status=room) for zone in "ab"]
    running = make_pod("r", node_name="b1")
    found = evaluate([*nodes, running], make_pod("p", constraint()))
    assert found.explanations["b1"].startswith("topology.kubernetes.io/zone b: matching pods 1 and this pod")
