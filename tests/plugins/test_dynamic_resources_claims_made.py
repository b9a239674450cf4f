"""Claims created from templates for pods in memory, and released when their pods are deleted."""

from __future__ import annotations

from typing import Any

from schedframe import Simulation
from schedframe.api import ResourceClaim, ResourceClaimTemplate, from_manifest
from schedframe.controllers import ControllerManager

from .devices import device, device_class, devices_of, node, pod, slice_of

TEMPLATE = from_manifest(
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "template", "namespace": "default"},
        "spec": {
            "metadata": {"labels": {"team": "a"}},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        },
    }
)


def cluster(*objects: Any, devices: int = 1) -> Simulation:
    offered = slice_of("n1", [device(f"d{i}") for i in range(devices)])
    return Simulation([node("n1"), offered, device_class("gpu"), *objects])


def wanting(name: str) -> Any:
    """A pod with a claim by template."""
    return from_manifest(
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "containers": [{"name": "c"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "template"}],
            },
        }
    )


def claims(simulation: Simulation) -> list[ResourceClaim]:
    return simulation.cluster.list("ResourceClaim")


def test_a_claim_is_created_used_and_deleted_with_its_pod() -> None:
    simulation = cluster(TEMPLATE)
    (first,) = simulation.schedule([wanting("a")])
    assert first.node_name == "n1"
    (claim,) = claims(simulation)
    assert devices_of(claim) == ["n1/d0"]
    assert claim.labels == {"team": "a"}
    (second,) = simulation.schedule([wanting("b")])
    assert second.node_name is None
    simulation.remove_pod("default/a")
    simulation.scheduler.run_until_idle()
    assert simulation.cluster.get("Pod", "default/b").spec.node_name == "n1"
    (claim,) = claims(simulation)
    assert [user.name for user in claim.status.reserved_for] == ["b"]


def test_a_pod_waits_for_its_template() -> None:
    simulation = cluster()
    (waiting,) = simulation.schedule([wanting("a")])
    assert waiting.message == 'pod "default/a": ResourceClaim not created yet'
    simulation.add(TEMPLATE)
    simulation.scheduler.run_until_idle()
    assert simulation.cluster.get("Pod", "default/a").spec.node_name == "n1"
    assert isinstance(TEMPLATE, ResourceClaimTemplate)


def test_a_shared_claim_is_free_after_its_last_user() -> None:
    shared = from_manifest(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "shared", "namespace": "default"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        }
    )
    simulation = cluster(shared)
    simulation.schedule([pod("a", "shared"), pod("b", "shared")])
    simulation.remove_pod("default/a")
    assert devices_of(claims(simulation)[0]) == ["n1/d0"]
    simulation.remove_pod("default/b")
    assert devices_of(claims(simulation)[0]) == []


def test_a_claim_for_extended_resources_goes_with_its_pod() -> None:
    simulation = Simulation(
        [node("n1"), slice_of("n1", [device("d0")]), device_class("gpu", resource="example.com/gpu")]
    )
    (placed,) = simulation.schedule([pod("a", requests={"example.com/gpu": "1"})])
    assert placed.node_name == "n1"
    assert len(claims(simulation)) == 1
    simulation.remove_pod("default/a")
    assert claims(simulation) == []


def test_no_claims_are_created_after_close() -> None:
    simulation = Simulation([node("n1"), TEMPLATE], without=["resource-claims"])
    ControllerManager(simulation.cluster).close()
    simulation.schedule([wanting("a")])
    assert claims(simulation) == []
