"""DynamicResources in a scheduler: from claims in a cluster to allocations and reservations written there."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.dynamic_resources.allocation_memo import ERR_CANNOT_ALLOCATE
from plugins_builtin.dynamic_resources.binding import DEALLOCATED, STILL_NOT_SCHEDULABLE
from plugins_builtin.dynamic_resources.claims.tracker import tracker_of
from plugins_builtin.dynamic_resources.claims.writes import FINALIZER
from plugins_builtin.dynamic_resources.filtering import ERR_NOT_AVAILABLE, err_no_class
from plugins_builtin.dynamic_resources.plugin import ERR_NO_STATE, NOTHING_TO_DEALLOCATE, DynamicResources
from schedframe import Conflict, OutcomeUnknown, Simulation
from schedframe.api import (
    AllocatedDeviceStatus,
    Condition,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from schedframe.framework import CycleState
from tests.plugins.agreement import columnar_scores, per_node_scores
from tests.profiles import few

from .devices import claim, device, device_class, devices_of, node, pod, slice_of

ONE = DeviceRequest("r", ExactDeviceRequest("gpu"))
GPU = "example.com/gpu"


def cluster(*objects: Any, devices: int = 2, nodes: int = 1) -> Simulation:
    """Nodes n1, n2 …; *devices*: the number of devices of each."""
    names = [f"n{i}" for i in range(1, nodes + 1)]
    slices = [slice_of(name, [device(f"d{i}") for i in range(devices)]) for name in names] if devices else []
    return Simulation([*(node(name) for name in names), *slices, device_class("gpu", resource=GPU), *objects])


def plugin(simulation: Simulation) -> DynamicResources:
    framework = simulation.scheduler.core.frameworks["default-scheduler"]
    found = framework.plugin("DynamicResources")
    assert isinstance(found, DynamicResources)
    return found


def claim_in(simulation: Simulation, name: str) -> ResourceClaim:
    found = simulation.cluster.get("ResourceClaim", f"default/{name}")
    assert isinstance(found, ResourceClaim)
    return found


def users_of(found: ResourceClaim) -> list[str]:
    return [consumer.name for consumer in found.status.reserved_for]


def in_use(simulation: Simulation) -> set[str]:
    tracker = tracker_of(simulation.scheduler.core.objects)
    tracker.sync()
    tracker.check_invariants()
    return {name for _, _, name in tracker.usage.whole}


def pinned(to: str) -> NodeSelector:
    return NodeSelector(
        (NodeSelectorTerm(match_fields=(NodeSelectorRequirement("metadata.name", "In", (to,)),)),)
    )


# ---- from pending to bound -------------------------------------------------------------------------------


def test_devices_are_written_into_the_claim_before_the_pod_is_bound() -> None:
    simulation = cluster(claim("x", ONE))
    [placed] = simulation.schedule([pod("p", "x")])
    assert placed.node_name == "n1"
    written = claim_in(simulation, "x")
    assert devices_of(written) == ["n1/d0"]
    assert written.status.allocation is not None
    assert written.status.allocation.node_selector == pinned("n1")
    assert written.status.allocation.allocation_timestamp == simulation.clock()
    assert users_of(written) == ["p"]
    assert written.metadata.finalizers == (FINALIZER,)
    assert in_use(simulation) == {"d0"}


def test_pods_share_a_claim_and_others_get_what_is_left() -> None:
    simulation = cluster(*(claim(name, ONE) for name in "xyz"))
    placed = simulation.schedule([pod("a", "x"), pod("b", "x"), pod("c", "y"), pod("d", "z")])
    assert [each.node_name for each in placed] == ["n1", "n1", "n1", None]
    assert ERR_CANNOT_ALLOCATE in placed[3].message
    assert users_of(claim_in(simulation, "x")) == ["a", "b"]
    assert devices_of(claim_in(simulation, "y")) == ["n1/d1"]


def test_a_pod_waits_for_its_claim() -> None:
    simulation = cluster()
    [waiting] = simulation.schedule([pod("p", "x")])
    assert waiting.message == 'could not find ResourceClaim "default/x"'
    simulation.add(claim("x", ONE))
    assert [each.node_name for each in simulation.schedule()] == ["n1"]


def test_a_pod_waits_for_the_class() -> None:
    simulation = cluster(claim("x", DeviceRequest("r", ExactDeviceRequest("nic"))))
    [waiting] = simulation.schedule([pod("p", "x")])
    assert err_no_class("r", "nic") in waiting.message
    assert STILL_NOT_SCHEDULABLE not in waiting.message
    simulation.add(device_class("nic"))
    simulation.clock.advance(60)
    assert [each.node_name for each in simulation.schedule()] == ["n1"]


def test_a_released_device_activates_the_next_pod() -> None:
    simulation = cluster(claim("x", ONE), claim("y", ONE), devices=1)
    simulation.schedule([pod("a", "x"), pod("b", "y")])
    freed = claim_in(simulation, "x")
    simulation.add(evolve(freed, status=evolve(freed.status, allocation=None, reserved_for=())))
    simulation.clock.advance(60)
    simulation.schedule()
    assert devices_of(claim_in(simulation, "y")) == ["n1/d0"]


def test_pods_without_claims_are_skipped_and_scored_zero() -> None:
    simulation = cluster(nodes=2)
    record = simulation.evaluate(pod("p")).to_dict()
    assert "DynamicResources" in record["prefilter"]["skip_filter_plugins"]
    assert record["scores"]["DynamicResources"] == {"n1": 0, "n2": 0}
    full = simulation.evaluate(pod("q", requests={"cpu": "9"}))
    assert NOTHING_TO_DEALLOCATE in str(full.message)


@few
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(1, 3))
def test_scores_by_rows_are_those_node_by_node(devices: list[int], count: int) -> None:
    names = [f"n{i}" for i in range(len(devices))]
    choice = DeviceRequest(
        "r", first_available=(DeviceSubRequest("many", "gpu", count=count), DeviceSubRequest("one", "gpu"))
    )
    simulation = Simulation(
        [
            *(node(name) for name in names),
            *(
                slice_of(n, [device(f"d{i}") for i in range(c)])
                for n, c in zip(names, devices, strict=True)
                if c
            ),
            device_class("gpu"),
            claim("x", choice),
        ]
    )
    tested, state, wanting = plugin(simulation), CycleState(), pod("p", "x")
    rows = simulation.scheduler.core.cache.table.rows()
    assert tested.pre_filter(state, wanting) is None
    for info in rows:
        tested.filter(state, info)
    scores = per_node_scores(tested, state, wanting, rows)
    assert scores == columnar_scores(tested, state, wanting, rows)
    assert scores == [0 if not there else 8 if there >= count else 7 for there in devices]


def test_cached_results_are_used_only_while_nothing_changes() -> None:
    simulation = cluster(*(claim(f"x{i}", ONE) for i in range(4)), devices=1, nodes=2)
    placed = simulation.schedule([pod(f"p{i}", f"x{i}") for i in range(4)])
    assert sorted(str(each.node_name) for each in placed) == ["None", "None", "n1", "n2"]
    simulation.add(slice_of("n1", [device("d0"), device("d1")]))
    simulation.clock.advance(60)
    assert sum(each.node_name == "n1" for each in simulation.schedule()) == 1


# ---- allocated claims ------------------------------------------------------------------------------------


def stuck(*users: str, **changes: Any) -> ResourceClaim:
    """A claim that is allocated on another node."""
    made = claim("x", ONE, allocated=["n2/d0"])
    assert made.status.allocation is not None
    consumers = tuple(ResourceClaimConsumerReference("", "pods", user, f"uid-of-{user}") for user in users)
    allocation = evolve(made.status.allocation, node_selector=pinned("n2"))
    return evolve(made, status=evolve(made.status, allocation=allocation, reserved_for=consumers, **changes))


def test_explanations_name_the_claims_or_count_the_devices() -> None:
    simulation = cluster(claim("y", ONE), stuck("other"), devices=1)
    assert simulation.evaluate(pod("p", "x")).explanations == {
        "n1": "allocated elsewhere, or not ready: default/x"
    }
    simulation.schedule([pod("q", "y")])
    simulation.add(claim("z", ONE), node("n2"))
    told = simulation.evaluate(pod("p", "z")).explanations
    assert told == {"n1": "1 of 1 devices in use", "n2": "no devices"}


def test_an_idle_claim_that_is_allocated_elsewhere_is_deallocated() -> None:
    simulation = cluster(stuck())
    evaluation = simulation.evaluate(pod("p", "x"))
    assert evaluation.statuses["n1"].reasons == (ERR_NOT_AVAILABLE,)  # type: ignore[union-attr]  # rejected
    assert DEALLOCATED in str(evaluation.message)
    assert evaluation.post_filter is not None
    assert [what for what, _ in evaluation.post_filter.writes.written] == ["update"]
    assert devices_of(claim_in(simulation, "x")) == ["n2/d0"], "an evaluation changes nothing"
    simulation.schedule([pod("p", "x")])
    simulation.clock.advance(60)
    simulation.schedule()
    assert devices_of(claim_in(simulation, "x")) == ["n1/d0"]


def test_a_claim_in_use_is_not_deallocated() -> None:
    simulation = cluster(stuck("other"))
    [waiting] = simulation.schedule([pod("p", "x")])
    assert STILL_NOT_SCHEDULABLE in waiting.message
    assert devices_of(claim_in(simulation, "x")) == ["n2/d0"]


def test_post_filter_without_pre_filter_is_an_error() -> None:
    status = plugin(cluster()).post_filter(CycleState(), pod("p", "x"), {})
    assert status.reasons == (ERR_NO_STATE,)


# ---- writes that fail ------------------------------------------------------------------------------------


def test_a_conflict_is_retried_with_the_current_claim() -> None:
    simulation = cluster(claim("x", ONE))
    simulation.cluster.fail_next("update", Conflict("another client was faster"), 2)
    assert [each.node_name for each in simulation.schedule([pod("p", "x")])] == ["n1"]


def test_devices_stay_in_use_until_the_cluster_answers_again() -> None:
    simulation = cluster(claim("x", ONE), claim("y", ONE), devices=1)
    down = [True]
    simulation.cluster.fail_next("update", OutcomeUnknown("timeout"), 1)
    simulation.cluster.fail_next(
        "get", OutcomeUnknown("timeout"), 10_000, lambda kind: kind == "ResourceClaim" and down[0]
    )
    simulation.schedule([pod("p", "x")])
    simulation.clock.advance(601)
    simulation.schedule()
    assert in_use(simulation) == {"d0"}, "the attempt is over, and the answer still out"
    assert simulation.cluster.get("Pod", "default/p").spec.node_name == ""
    down[0] = False
    [other] = simulation.schedule([pod("q", "y")])
    assert other.node_name == "n1"
    assert devices_of(claim_in(simulation, "y")) == ["n1/d0"]


def test_a_failed_write_releases_the_devices() -> None:
    simulation = cluster(claim("x", ONE), claim("y", ONE), devices=1)
    simulation.cluster.fail_next("update", RuntimeError("no"), 1)
    placed = simulation.schedule([pod("p", "x"), pod("q", "y")])
    assert [each.node_name for each in placed] == [None, "n1"]
    assert in_use(simulation) == {"d0"}
    assert devices_of(claim_in(simulation, "x")) == []


def test_a_failed_bind_removes_the_reservation() -> None:
    simulation = cluster(claim("x", ONE))
    simulation.cluster.fail_next("bind", RuntimeError("no"), 1)
    simulation.schedule([pod("p", "x")])
    assert users_of(claim_in(simulation, "x")) == []
    assert devices_of(claim_in(simulation, "x")) == ["n1/d0"], "still allocated, for the next pod"
    simulation.clock.advance(60)
    assert [each.node_name for each in simulation.schedule()] == ["n1"]
    assert users_of(claim_in(simulation, "x")) == ["p"]


@pytest.mark.parametrize("applied", [True, False])
def test_a_write_with_an_unknown_outcome_is_read_back(applied: bool) -> None:
    simulation = cluster(claim("x", ONE), devices=1)
    simulation.cluster.fail_next("update", OutcomeUnknown("timeout"), 1, applied=applied)
    simulation.schedule([pod("p", "x")])
    simulation.clock.advance(2)
    simulation.schedule()
    assert simulation.cluster.get("Pod", "default/p").spec.node_name == "n1"
    assert devices_of(claim_in(simulation, "x")) == ["n1/d0"]
    assert users_of(claim_in(simulation, "x")) == ["p"]


def test_devices_stay_in_use_while_the_outcome_of_a_write_is_unknown() -> None:
    simulation = cluster(claim("x", ONE), claim("y", ONE), devices=1)
    simulation.cluster.fail_next("update", OutcomeUnknown("timeout"), 1)
    waiting, other = simulation.schedule([pod("p", "x"), pod("q", "y")])
    assert (waiting.node_name, other.node_name) == (None, None)
    assert in_use(simulation) == {"d0"}
    simulation.cluster.delete("Pod", "default/p")
    simulation.scheduler.sync()
    assert in_use(simulation) == set()


# ---- devices that must get ready -------------------------------------------------------------------------


def with_conditions() -> Simulation:
    slow = device("d0", binding_conditions=("Ready",), binding_failure_conditions=("Broken",))
    return cluster(claim("x", ONE), slice_of("n1", [slow]), devices=0)


def reporting(simulation: Simulation, type: str) -> None:
    found = claim_in(simulation, "x")
    said = AllocatedDeviceStatus("gpu.example.com", "n1", "d0", conditions=(Condition(type, "True"),))
    simulation.add(evolve(found, status=evolve(found.status, devices=(said,))))


def test_binding_waits_for_the_devices_without_blocking() -> None:
    simulation = with_conditions()
    waiting, other = simulation.schedule([pod("p", "x"), pod("q")])
    assert (waiting.node_name, other.node_name) == (None, "n1")
    assert users_of(claim_in(simulation, "x")) == ["p"]
    assert "BindingConditionsPending" in [event.reason for event in simulation.cluster.events]
    reporting(simulation, "Ready")
    simulation.schedule()
    assert simulation.cluster.get("Pod", "default/p").spec.node_name == "n1"


def test_a_device_that_fails_ends_the_attempt_and_is_released() -> None:
    simulation = with_conditions()
    simulation.schedule([pod("p", "x")])
    reporting(simulation, "Broken")
    assert users_of(claim_in(simulation, "x")) == []
    simulation.clock.advance(60)
    simulation.schedule()
    again = claim_in(simulation, "x")
    assert again.status.devices == (), "released, and allocated again"
    assert (devices_of(again), users_of(again)) == (["n1/d0"], ["p"])


def test_devices_that_take_too_long_fail_the_attempt() -> None:
    simulation = with_conditions()
    simulation.schedule([pod("p", "x")])
    simulation.clock.advance(601)
    simulation.schedule()
    assert users_of(claim_in(simulation, "x")) == []
    simulation.clock.advance(60)
    simulation.schedule()
    again = claim_in(simulation, "x")
    assert users_of(again) == ["p"]
    assert again.status.allocation is not None
    assert again.status.allocation.allocation_timestamp == simulation.clock()


def test_network_devices_admit_the_nodes_that_all_of_them_admit() -> None:
    zone = NodeSelectorRequirement("zone", "In", ("a", "b"))
    made = slice_of("", [device("d0")])
    selector = NodeSelector((NodeSelectorTerm((zone,)),))
    zonal = evolve(made, spec=evolve(made.spec, all_nodes=None, node_selector=selector))
    away = evolve(node("n2"), metadata=evolve(node("n2").metadata, labels={"zone": "c"}))
    near = evolve(node("n1"), metadata=evolve(node("n1").metadata, labels={"zone": "a"}))
    simulation = Simulation([near, away, zonal, device_class("gpu"), claim("x", ONE)])
    assert [each.node_name for each in simulation.schedule([pod("p", "x")])] == ["n1"]
    written = claim_in(simulation, "x").status.allocation
    assert written is not None
    assert written.node_selector == selector
