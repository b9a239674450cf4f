"""Who is a member of an attempt: gated, nominated, pinned, ended and foreign pods; mixed priorities."""

from __future__ import annotations

from typing import Any

from schedframe.queue import Pool

from .helpers import GANGS, TOPOLOGY, ZONE, group, node, nodes_of, pod, pools, scheduler_of, zoned

GATED = {"schedulingGates": [{"name": "example.com/later"}]}


def test_a_member_with_a_scheduling_gate_counts_for_the_quorum_and_is_not_tried() -> None:
    cluster, scheduler, _ = scheduler_of(node("n", cpu=8), group("g", 3))
    cluster.create(pod("gated", "g", **GATED))
    cluster.create(pod("a", "g"))
    cluster.create(pod("b", "g"))
    scheduler.run_until_idle()
    assert not nodes_of(cluster)  # three members are there, and two of them fit
    assert pools(scheduler)["gated"] is Pool.GATED
    cluster.apply(pod("gated", "g"))
    scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"gated", "a", "b"}


def test_a_gang_of_more_than_there_are_pods_is_never_tried() -> None:
    cluster, scheduler, clock = scheduler_of(node("n", cpu=8), group("g", 5))
    for name in "abcd":
        cluster.create(pod(name, "g"))
    scheduler.run_until_idle()
    clock.advance(4000)
    scheduler.run_until_idle()
    assert scheduler.groups is not None
    assert scheduler.groups.searches == 0
    assert {each.attempts for each in scheduler.pending()} == {0}


def test_members_of_higher_priority_are_placed_first() -> None:
    cluster, scheduler, _ = scheduler_of(node("n", cpu=2), group("g", 2))
    for name, priority in (("low", 0), ("high", 10), ("higher", 20)):
        cluster.create(pod(name, "g", priority=priority))
    scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"high", "higher"}


def test_a_basic_group_runs_as_far_as_it_fits() -> None:
    cluster, scheduler, _ = scheduler_of(node("n", cpu=2), group("g"))
    for name in "abc":
        cluster.create(pod(name, "g"))
    scheduler.run_until_idle()
    assert len(nodes_of(cluster)) == 2
    assert list(pools(scheduler).values()) == [Pool.BACKOFF]


def test_groups_of_one_workload_have_nothing_to_do_with_each_other() -> None:
    template = {"name": "t", "schedulingPolicy": {"gang": {"minCount": 2}}}
    workload = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"podGroupTemplates": [template]},
    }
    origin = {"podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}}
    groups = [group(name, 2, **origin) for name in ("g1", "g2")]
    cluster, scheduler, _ = scheduler_of(node("n", cpu=2), workload, *groups)
    for name, of in (("a", "g1"), ("b", "g2"), ("c", "g2")):
        cluster.create(pod(name, of))
    scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"b", "c"}


def test_a_group_of_another_namespace_is_another_group() -> None:
    elsewhere: dict[str, Any] = pod("b", "g")
    elsewhere["metadata"]["namespace"] = "other"
    cluster, scheduler, _ = scheduler_of(node("n"), group("g", 2))
    cluster.create(pod("a", "g"))
    cluster.create(elsewhere)
    scheduler.run_until_idle()
    assert not nodes_of(cluster)
    assert set(pools(scheduler).values()) == {Pool.GATED}


def test_members_that_run_pin_a_constrained_group_to_their_domain() -> None:
    nodes = [zoned("a0", "a", cpu=1), zoned("b0", "b", cpu=8), zoned("b1", "b", cpu=8)]
    first = pod("first", "g", nodeName="a0", cpu=0.5)
    cluster, scheduler, _ = scheduler_of(*nodes, group("g", 2, ZONE), first, gates=TOPOLOGY)
    cluster.create(pod("second", "g"))
    scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"first"}  # there is no room in its zone, and no other may be used
    cluster.create(zoned("a1", "a"))
    scheduler.run_until_idle()
    assert nodes_of(cluster)["second"] == "a1"


def test_members_that_ended_do_not_count() -> None:
    cluster, scheduler, _ = scheduler_of(node("n"), group("g", 2))
    ended = pod("ended", "g", nodeName="n") | {"status": {"phase": "Succeeded"}}
    cluster.create(ended)
    cluster.create(pod("a", "g"))
    scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"ended"}


def test_a_nominated_member_is_tried_on_its_node_first_and_keeps_others_off_it() -> None:
    cluster, scheduler, _ = scheduler_of(node("n0", cpu=2), node("n1", cpu=2), group("g", 2), gates=GANGS)
    nominated = pod("a", "g", cpu=2, priority=5) | {"status": {"nominatedNodeName": "n1"}}
    cluster.create(nominated)
    cluster.create(pod("lone", cpu=2))
    scheduler.run_until_idle()
    assert nodes_of(cluster) == {"lone": "n0"}  # the member waits for its quorum, its nomination counts
    cluster.create(node("n2", cpu=2))
    cluster.create(pod("b", "g", cpu=2, priority=5))
    scheduler.run_until_idle()
    assert nodes_of(cluster) == {"lone": "n0", "a": "n1", "b": "n2"}


def test_a_nomination_outlasts_an_attempt_without_any_placement() -> None:
    cluster, scheduler, _ = scheduler_of(node("n"), group("g", 1, ZONE), gates=TOPOLOGY)
    cluster.create(pod("a", "g") | {"status": {"nominatedNodeName": "n"}})
    scheduler.run_until_idle()
    found = cluster.get("Pod", "default/a")
    assert found is not None
    condition = found.status.condition("PodScheduled")
    assert condition is not None
    assert condition.message == "no feasible placements found"
    assert found.status.nominated_node_name == "n"
    assert scheduler.core.queue.nominator.node_of(found) == "n"


def test_a_nomination_ends_with_an_attempt_that_fails() -> None:
    running = pod("b", "g", nodeName="n")  # on a node without the label of the constraint
    cluster, scheduler, _ = scheduler_of(node("n"), running, group("g", 1, ZONE), gates=TOPOLOGY)
    scheduler.core.observers.faulted = lambda status, pod: None
    cluster.create(pod("a", "g") | {"status": {"nominatedNodeName": "n"}})
    scheduler.run_until_idle()
    found = cluster.get("Pod", "default/a")
    assert found is not None
    assert not found.status.nominated_node_name
    assert scheduler.core.queue.nominator.node_of(found) is None
