"""What a group waits for, in one value and as text."""

from __future__ import annotations

import json

import pytest
from attrs import define

from schedframe import Handle, InputError, Pod, Simulation, hookimpl
from schedframe.why import Verdict, explain, explain_group
from tests.cycle.pod_groups.helpers import (
    GANGS,
    TOPOLOGY,
    ZONE,
    group,
    node,
    pod,
    scheduler_of,
    zoned,
)


def test_a_group_that_lacks_members() -> None:
    _, scheduler, _ = scheduler_of(zoned("n", "a"), group("g", 3), pod("p", "g"), gates=TOPOLOGY)
    found = explain_group(scheduler, "default/g")
    assert (found.min_count, found.missing_members, found.can_run) == (3, 2, False)
    assert found.change == "create 2 more pods of the group"
    assert "minCount" in found.gated["default/p"]


@define(eq=False)
class Chatty:
    """Records an event whenever a pod is about to enter the queue."""

    handle: Handle | None = None

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> None:
        if self.handle is not None:
            self.handle.record_event(pod, "Seen", "the pod was looked at")


def test_events_of_plugins_are_not_recorded() -> None:
    plugin = Chatty()
    objects = zoned("n", "a"), group("g", 1), pod("p", "g")
    cluster, scheduler, _ = scheduler_of(*objects, gates=TOPOLOGY, plugins=[plugin])
    plugin.handle = scheduler.core.frameworks["default-scheduler"].handle
    assert explain_group(scheduler, "default/g").can_run
    assert (cluster.events, scheduler.events.series()) == ((), ())


def test_a_group_without_its_object() -> None:
    _, scheduler, _ = scheduler_of(zoned("n", "a"), pod("p", "g"), gates=TOPOLOGY)
    assert explain_group(scheduler, "default/g").change == "create the PodGroup default/g"


def test_the_best_domain_and_what_it_lacks() -> None:
    nodes = [zoned(f"{zone}{i}", zone, cpu=2) for zone, count in (("a", 2), ("b", 1)) for i in range(count)]
    members = [pod(f"p{i}", "g", cpu=2) for i in range(3)]
    _, scheduler, _ = scheduler_of(*nodes, group("g", 3, ZONE), *members, gates=TOPOLOGY)
    before = scheduler.core.search.rng.getstate()
    found = explain_group(scheduler, "default/g")
    assert [(each.name, len(each.fitting)) for each in found.domains] == [("a", 2), ("b", 1)]
    assert found.change == "make room for 1 more pod in a"
    assert not found.can_run
    assert any("Insufficient cpu" in why for why in found.reasons.values())
    assert "to run it, make room" in str(found)
    assert scheduler.core.search.rng.getstate() == before
    assert not scheduler.core.cache.states
    scheduler.core.cache.check_invariants()


def test_a_group_that_can_run() -> None:
    _, scheduler, _ = scheduler_of(zoned("n", "a"), group("g", 1), pod("p", "g"), gates=TOPOLOGY)
    found = explain_group(scheduler, "default/g")
    assert found.can_run
    assert found.change == ""


def test_what_cannot_be_explained_is_refused() -> None:
    _, scheduler, _ = scheduler_of(zoned("n", "a"), gates=TOPOLOGY)
    with pytest.raises(InputError, match="no group"):
        explain_group(scheduler, "default/none")
    with Simulation() as simulation, pytest.raises(InputError, match="groups are off"):
        explain_group(simulation.scheduler, "default/g")


def test_the_reasons_are_those_of_the_best_domain() -> None:
    nodes = [zoned("a0", "a", cpu=8), zoned("b0", "b", cpu=1)]
    members = [pod(f"p{i}", "g", cpu=3) for i in range(3)]
    for seed in range(4):
        _, scheduler, _ = scheduler_of(*nodes, group("g", 3, ZONE), *members, gates=TOPOLOGY)
        scheduler.core.rng.seed(seed)
        found = explain_group(scheduler, "default/g")
        assert found.domains[0].name == "a"
        assert list(found.reasons) == ["default/p2"]


def test_a_member_that_is_needed_and_kept_out_is_the_smallest_change() -> None:
    members = [pod("p0", "g"), pod("p1", "g", schedulingGates=[{"name": "wait"}])]
    _, scheduler, _ = scheduler_of(node("n"), group("g", 2), *members)
    found = explain_group(scheduler, "default/g")
    assert list(found.gated) == ["default/p1"]
    assert found.change == "remove what keeps default/p1 out of the queue"
    assert not found.can_run


def test_a_member_that_is_kept_out_but_not_needed_does_not_matter() -> None:
    members = [pod("p0", "g"), pod("p1", "g", schedulingGates=[{"name": "wait"}])]
    _, scheduler, _ = scheduler_of(node("n"), group("g", 1), *members)
    found = explain_group(scheduler, "default/g")
    assert (found.can_run, found.change) == (True, "")


def test_without_gangs_no_object_is_needed() -> None:
    _, scheduler, _ = scheduler_of(node("n"), pod("p", "g"), gates={"GenericWorkload": True})
    found = explain_group(scheduler, "default/g")
    assert (found.exists, found.can_run, found.change) == (False, True, "")


def test_victims_of_the_group_as_a_whole_are_named_and_stay() -> None:
    low = [pod(f"low{i}", cpu=4, nodeName=f"n{i}", priority=1) for i in range(2)]
    members = [pod(f"p{i}", "g", cpu=4, priority=10) for i in range(2)]
    gates = {**TOPOLOGY, "WorkloadAwarePreemption": True}
    nodes = [node("n0"), node("n1")]
    cluster, scheduler, _ = scheduler_of(*nodes, *low, group("g", 2, priority=10), *members, gates=gates)
    found = explain_group(scheduler, "default/g")
    assert found.can_run
    assert sorted(found.victims) == ["default/low0", "default/low1"]
    assert "would be evicted" in str(found)
    assert len(cluster.list("Pod")) == 4
    assert not any(each.is_terminating for each in cluster.list("Pod"))


@pytest.mark.parametrize("source", ["scheduler", "cluster", "objects"])
def test_a_member_is_explained_with_its_group(source: str) -> None:
    nodes = [zoned(f"{zone}{i}", zone, cpu=2) for zone, count in (("a", 2), ("b", 1)) for i in range(count)]
    objects = [*nodes, group("g", 3, ZONE), *[pod(f"p{i}", "g", cpu=2) for i in range(3)]]
    cluster, scheduler, _ = scheduler_of(*objects, gates=TOPOLOGY)
    if source == "scheduler":
        found = explain(scheduler, "default/p0")
    else:
        found = explain(cluster if source == "cluster" else objects, "default/p0", feature_gates=TOPOLOGY)
    assert found.verdict is Verdict.PENDING
    assert found.group is not None
    assert found.group.change == "make room for 1 more pod in a"
    assert found.message.startswith("waits for its group default/g: 0/2 placements are available")
    assert "make room for 1 more pod in a" in str(found)
    assert json.loads(found.to_json())["group"]["domains"][0]["name"] == "a"
    assert not found.notes


def test_a_member_below_the_quorum_is_gated_and_says_what_is_missing() -> None:
    _, scheduler, _ = scheduler_of(node("n"), group("g", 3), pod("p", "g"), gates=GANGS)
    found = explain(scheduler, "p")
    assert found.verdict is Verdict.GATED
    assert found.group is not None
    assert found.group.change == "create 2 more pods of the group"


def test_a_member_whose_groups_are_off_says_so() -> None:
    found = explain([node("n"), group("g", 3), pod("p", "g")], "p")
    assert found.verdict is Verdict.FITS
    assert found.group is None
    assert any("GenericWorkload" in note for note in found.notes)


def test_a_pod_without_a_group_has_no_group_in_its_explanation() -> None:
    found = explain([node("n"), pod("p")], "p", feature_gates=GANGS)
    assert found.group is None
    assert found.to_dict()["group"] is None
    assert not found.notes
