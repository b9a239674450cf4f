"""Extended resources that a device class backs."""

from __future__ import annotations

from attrs import evolve

from plugins_builtin.dynamic_resources.allocation_memo import ERR_CANNOT_ALLOCATE
from plugins_builtin.dynamic_resources.binding import DELETED
from plugins_builtin.dynamic_resources.claims.tracker import EXTENDED_RESOURCE_ANNOTATION
from plugins_builtin.dynamic_resources.filtering import ERR_LEFT_OVER
from schedframe import OutcomeUnknown, Simulation
from schedframe.api import OwnerReference, Pod, ResourceClaim

from .devices import claim, device, device_class, devices_of, node, pod, slice_of
from .test_dynamic_resources import GPU, ONE, claim_in, cluster, in_use, users_of


def gpu_pod(name: str, count: int = 1) -> Pod:
    return pod(name, requests={"cpu": "100m", GPU: str(count)})


def test_a_claim_is_created_for_extended_resources() -> None:
    simulation = cluster()
    [placed] = simulation.schedule([gpu_pod("p", 2)])
    assert placed.node_name == "n1"
    status = placed.pod.status.extended_resource_claim_status
    assert status is not None
    assert [(m.container_name, m.resource_name, m.request_name) for m in status.request_mappings] == [
        ("c", GPU, "container-0-request-1"),
    ]
    made = claim_in(simulation, status.resource_claim_name)
    assert devices_of(made) == ["n1/d0", "n1/d1"]
    assert users_of(made) == ["p"]
    assert made.metadata.annotations == {EXTENDED_RESOURCE_ANNOTATION: "true"}
    assert in_use(simulation) == {"d0", "d1"}


def test_the_claim_is_deleted_with_a_failed_attempt() -> None:
    simulation = cluster()
    simulation.cluster.fail_next("bind", RuntimeError("no"), 1)
    simulation.schedule([gpu_pod("p")])
    assert simulation.cluster.list("ResourceClaim") == []
    assert in_use(simulation) == set()
    simulation.clock.advance(60)
    assert [each.node_name for each in simulation.schedule()] == ["n1"]
    assert len(simulation.cluster.list("ResourceClaim")) == 1


def test_one_claim_is_created_if_the_answer_was_lost() -> None:
    simulation = cluster()
    simulation.cluster.fail_next(
        "create", OutcomeUnknown("timeout"), 1, lambda obj: isinstance(obj, ResourceClaim), applied=True
    )
    simulation.schedule([gpu_pod("p")])
    simulation.clock.advance(2)
    simulation.schedule()
    assert simulation.cluster.get("Pod", "default/p").spec.node_name == "n1"
    assert len(simulation.cluster.list("ResourceClaim")) == 1


def test_a_leftover_claim_is_deleted_and_the_pod_is_tried_again() -> None:
    left = claim("old", ONE)
    owner = OwnerReference("v1", "Pod", "p", "uid-of-p", controller=True)
    metadata = evolve(
        left.metadata, annotations={EXTENDED_RESOURCE_ANNOTATION: "true"}, owner_references=(owner,)
    )
    simulation = cluster(evolve(left, metadata=metadata))
    evaluation = simulation.evaluate(gpu_pod("p"))
    assert evaluation.statuses["n1"].reasons == (ERR_LEFT_OVER,)  # type: ignore[union-attr]  # rejected
    assert DELETED in str(evaluation.message)
    simulation.schedule([gpu_pod("p")])
    assert simulation.cluster.get("ResourceClaim", "default/old") is None
    assert simulation.cluster.get("Pod", "default/p").spec.node_name == "n1"


def test_a_node_that_has_the_resource_itself_needs_no_devices() -> None:
    simulation = Simulation([node("n1", **{GPU: "1"}), device_class("gpu", resource=GPU)])
    assert [each.node_name for each in simulation.schedule([gpu_pod("p")])] == ["n1"]
    assert simulation.cluster.list("ResourceClaim") == []


def test_a_newer_class_backs_the_resource() -> None:
    """Memos of pods with equal claims must not outlive the change."""
    simulation = Simulation([node("n1"), slice_of("n1", [device("d0")])])
    [waiting] = simulation.schedule([gpu_pod("p")])
    assert f"Insufficient {GPU}" in waiting.message
    simulation.add(device_class("gpu", resource=GPU))
    simulation.clock.advance(60)
    placed = simulation.schedule([gpu_pod("q"), gpu_pod("r")])
    assert simulation.cluster.get("Pod", "default/p").spec.node_name == "n1"
    assert [each.node_name for each in placed] == [None, None]


def test_any_number_of_resources_may_be_backed_or_missing() -> None:
    """More than an integer has bits: the class of the last one counts as that of the first one."""
    names = [f"example.com/r{i:02}" for i in range(70)]
    classes = [device_class(f"c{i:02}", resource=name) for i, name in enumerate(names)]
    there, rich = dict.fromkeys(names[:-1], "1"), dict.fromkeys(names, "1")
    nodes = [node("n1", **there), node("n2", **rich), node("n3", **there)]
    offered = slice_of("n3", [device("d0")])
    simulation = Simulation([*nodes, *classes, offered])
    wanting = pod("p", requests=rich)
    statuses = simulation.evaluate(wanting).statuses
    assert {name: status and status.reasons for name, status in statuses.items()} == {
        "n1": (ERR_CANNOT_ALLOCATE,),
        "n2": None,
        "n3": None,
    }
    without = Simulation([*nodes, *classes[:1], offered]).evaluate(wanting)
    assert [status is None for status in without.statuses.values()] == [False, True, False]
