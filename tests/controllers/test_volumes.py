"""Claims get volumes: those that are there, and new ones where their pods go."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import InMemoryCluster, InputError, Simulation
from schedframe.api import PersistentVolume, PersistentVolumeClaim
from schedframe.controllers import ControllerManager

from .storage_manifests import STORAGE, WAITS, claim, claim_spec, node, pod, storage_class, volume

ZONE = "topology.kubernetes.io/zone"
NODES = [node("a1", "a"), node("b1", "b"), node("b2", "b")]


def claim_of(simulation: Simulation, name: str = "data") -> PersistentVolumeClaim:
    found = simulation.cluster.get("PersistentVolumeClaim", f"default/{name}")
    assert found is not None
    return found


def volume_of(simulation: Simulation, name: str = "data") -> PersistentVolume:
    found = simulation.cluster.get("PersistentVolume", claim_of(simulation, name).spec.volume_name)
    assert found is not None
    return found


def terms(found: PersistentVolume) -> list[tuple[str, str]]:
    affinity = found.spec.node_affinity
    required = None if affinity is None else affinity.required
    return [
        (each.key, each.values[0])
        for term in (() if required is None else required.terms)
        for each in term.match_expressions
    ]


def placed(*objects: Any, **options: Any) -> Simulation:
    simulation = Simulation(objects, **options)
    assert [each.message for each in simulation.schedule() if each.node_name is None] == []
    return simulation


# ---- volumes that are there --------------------------------------------------------------------------------


def bound_to(*objects: Any) -> str:
    """The volume that the claim ``data`` gets before any pod is scheduled."""
    found = claim_of(Simulation(objects))
    return found.spec.volume_name if found.status.phase == "Bound" else ""


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (claim("data", "", "2Gi"), "small"),
        (claim("data", "", "8Gi"), "gold"),
        (claim("data", "", "80Gi"), ""),
        (claim("data", "other"), ""),
        (claim("data", "", accessModes=["ReadWriteMany"]), "shared"),
        (claim("data", "", volumeMode="Block"), "block"),
        (claim("data", "", selector={"matchLabels": {"tier": "gold"}}), "gold"),
        (claim("data", "", "1Gi", volumeName="large"), "large"),
        (claim("data", "", "1Gi", volumeName="gone"), ""),
        (claim("data", "", "80Gi", volumeName="large"), ""),
    ],
)
def test_a_claim_gets_the_smallest_volume_that_fits(wanted: dict[str, Any], expected: str) -> None:
    volumes = [
        volume("large", size="10Gi"),
        volume("small", size="3Gi"),
        volume("tiny"),
        volume("shared", size="2Gi", modes=["ReadWriteOnce", "ReadWriteMany"]),
        volume("block", volumeMode="Block"),
        volume("gold", size="9Gi", labels={"tier": "gold"}),
    ]
    assert bound_to(*volumes, wanted) == bound_to(wanted, *reversed(volumes)) == expected


def test_a_volume_that_names_its_claim_is_kept_for_it() -> None:
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"}
    kept = volume("kept", size="5Gi", claimRef=reference)
    simulation = Simulation([kept, volume("free"), claim("other", ""), claim("data", "")])
    assert claim_of(simulation).spec.volume_name == "kept"
    assert claim_of(simulation, "other").spec.volume_name == "free"


def test_both_sides_say_that_they_are_bound() -> None:
    simulation = Simulation([volume("v", size="5Gi"), claim("data", "")])
    found, wanted = volume_of(simulation), claim_of(simulation)
    assert (found.status.phase, wanted.status.phase) == ("Bound", "Bound")
    assert found.spec.claim_ref is not None
    assert found.spec.claim_ref.uid == wanted.uid
    assert str(wanted.status.capacity["storage"]) == "5Gi"
    assert wanted.metadata.annotations["pv.kubernetes.io/bind-completed"] == "yes"


def test_a_volume_that_comes_later_is_taken() -> None:
    simulation = Simulation([*NODES, claim("data", ""), pod("p", "data")])
    assert simulation.schedule()[0].node_name is None
    simulation.add(volume("late"))
    assert claim_of(simulation).spec.volume_name == "late"
    assert simulation.schedule()[0].node_name is not None


def test_a_volume_is_released_when_its_claim_goes_and_serves_no_other() -> None:
    simulation = Simulation([volume("v"), claim("data", "")])
    simulation.cluster.delete("PersistentVolumeClaim", "default/data")
    simulation.add(claim("next", ""))
    assert simulation.cluster.list("PersistentVolume")[0].status.phase == "Released"
    assert claim_of(simulation, "next").status.phase == "Pending"


def test_a_claim_without_its_volume_is_lost() -> None:
    simulation = Simulation([volume("v"), claim("data", "")])
    simulation.cluster.delete("PersistentVolume", "v")
    simulation.add(claim("other", ""))
    assert claim_of(simulation).status.phase in ("Lost", "Bound")


# ---- new volumes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [WAITS, "Immediate", ""])
def test_a_pod_whose_volume_would_be_provisioned_is_placed(mode: str) -> None:
    simulation = placed(*NODES, storage_class("fast", mode=mode), claim("data", "fast"), pod("p", "data"))
    found = volume_of(simulation)
    assert found.spec.csi is not None
    assert found.spec.csi.driver == "disks.example.com"
    assert found.spec.persistent_volume_reclaim_policy == "Delete"
    (line,) = simulation.notes()
    assert line == (
        "volumes provisioned: 1 of class fast; its driver is not known, so they are not tied to a zone"
    )


@pytest.mark.parametrize("mode", [WAITS, "Immediate"])
@pytest.mark.parametrize("provisioner", ["kubernetes.io/no-provisioner", ""])
def test_a_class_without_a_provisioner_provisions_nothing(mode: str, provisioner: str) -> None:
    simulation = Simulation(
        [*NODES, storage_class("local", provisioner, mode), claim("data", "local"), pod("p", "data")],
        strict=False,
    )
    assert simulation.schedule()[0].node_name is None
    assert claim_of(simulation).status.phase == "Pending"


def test_a_class_that_is_not_there_provisions_nothing_until_it_comes() -> None:
    simulation = Simulation([*NODES, claim("data", "fast"), pod("p", "data")])
    assert simulation.schedule()[0].node_name is None
    simulation.add(storage_class("fast"))
    assert simulation.schedule()[0].node_name is not None


@pytest.mark.parametrize(
    ("provisioner", "expected"),
    [
        ("ebs.csi.aws.com", [(ZONE, "b")]),
        ("kubernetes.io/gce-pd", [(ZONE, "b")]),
        ("rancher.io/local-path", [("kubernetes.io/hostname", "b2")]),
        ("nfs.csi.k8s.io", []),
        ("disks.example.com", []),
    ],
)
def test_a_new_volume_is_tied_to_where_its_driver_can_use_it(
    provisioner: str, expected: list[tuple[str, str]]
) -> None:
    where = {"nodeSelector": {"kubernetes.io/hostname": "b2"}}
    objects = [storage_class("fast", provisioner, WAITS), claim("data", "fast"), pod("p", "data", **where)]
    simulation = placed(*NODES, *objects)
    assert terms(volume_of(simulation)) == expected


def test_the_labels_that_a_driver_reports_come_before_what_is_known_of_it() -> None:
    driver = {"name": "ebs.csi.aws.com", "nodeID": "i", "topologyKeys": ["rack"]}
    csi_node = {
        "apiVersion": STORAGE,
        "kind": "CSINode",
        "metadata": {"name": "n"},
        "spec": {"drivers": [driver]},
    }
    objects = [storage_class("fast", "ebs.csi.aws.com", WAITS), claim("data", "fast"), pod("p", "data")]
    simulation = placed(node("n", "a", rack="r7"), csi_node, *objects)
    assert terms(volume_of(simulation)) == [("rack", "r7")]


def test_a_volume_that_is_made_at_once_goes_where_most_nodes_are_and_says_so() -> None:
    objects = [storage_class("fast", "ebs.csi.aws.com"), claim("data", "fast"), pod("p", "data")]
    simulation = placed(*NODES, *objects)
    assert terms(volume_of(simulation)) == [(ZONE, "b")]
    assert simulation.notes() == [
        "volumes provisioned: 1 of class fast",
        f"provisioned before their pods have nodes, for {ZONE}=b: default/data",
    ]


def test_allowed_topologies_decide_where_a_volume_is_made() -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]
    made_by = storage_class("fast", allowedTopologies=allowed)
    simulation = placed(*NODES, made_by, claim("data", "fast"), pod("p", "data"))
    assert terms(volume_of(simulation)) == [(ZONE, "a")]
    assert simulation.cluster.list("Pod")[0].node_name == "a1"


def test_reported_storage_shrinks_with_each_volume() -> None:
    driver = {
        "apiVersion": STORAGE,
        "kind": "CSIDriver",
        "metadata": {"name": "disks.example.com"},
        "spec": {"storageCapacity": True},
    }
    capacity = {
        "apiVersion": STORAGE,
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "c", "namespace": "default"},
        "storageClassName": "fast",
        "nodeTopology": {},
        "capacity": "10Gi",
    }
    claims = [claim(f"c{number}", "fast", "4Gi") for number in range(3)]
    pods = [pod(f"p{number}", f"c{number}") for number in range(3)]
    simulation = Simulation([*NODES, driver, capacity, storage_class("fast", mode=WAITS), *claims, *pods])
    assert [each.node_name is not None for each in simulation.schedule()] == [True, True, False]
    assert str(simulation.cluster.list("CSIStorageCapacity")[0].capacity) == "2Gi"


def test_a_provisioned_volume_goes_with_its_claim_and_a_retained_one_stays() -> None:
    classes = [storage_class("fast"), storage_class("kept", reclaimPolicy="Retain")]
    simulation = Simulation([*NODES, *classes, claim("data", "fast"), claim("archive", "kept")])
    for name in ("data", "archive"):
        simulation.cluster.delete("PersistentVolumeClaim", f"default/{name}")
    (left,) = simulation.cluster.list("PersistentVolume")
    assert (left.spec.storage_class_name, left.status.phase) == ("kept", "Released")
    simulation.add(claim("archive", "kept"))
    assert len(simulation.cluster.list("PersistentVolume")) == 2


# ---- claims of pods ----------------------------------------------------------------------------------------


def test_an_ephemeral_volume_gets_a_claim_that_lives_as_long_as_its_pod() -> None:
    objects = [storage_class("fast", mode=WAITS), pod("p", ephemeral=claim_spec("fast"))]
    simulation = placed(*NODES, *objects)
    assert claim_of(simulation, "p-scratch").metadata.owner_references[0].kind == "Pod"
    assert "claims made of ephemeral volumes: 1" in simulation.notes()
    simulation.remove_pod("p")
    assert simulation.cluster.list("PersistentVolumeClaim") == []
    assert simulation.cluster.list("PersistentVolume") == []


def test_a_claim_of_something_else_is_left_to_it() -> None:
    objects = [storage_class("fast"), claim("p-scratch", "fast"), pod("p", ephemeral=claim_spec("fast"))]
    simulation = Simulation([*NODES, *objects])
    assert simulation.schedule()[0].node_name is None
    assert claim_of(simulation, "p-scratch").metadata.owner_references == ()


# ---- switches, and clusters that run -----------------------------------------------------------------------


@pytest.mark.parametrize("without", [["volumes"], "all"])
def test_what_is_switched_off_is_not_played(without: Any) -> None:
    objects = [*NODES, storage_class("fast"), claim("data", "fast"), pod("p", "data")]
    simulation = Simulation(objects, without=without)
    assert "unbound immediate PersistentVolumeClaims" in simulation.schedule()[0].message
    assert simulation.cluster.list("PersistentVolume") == []


def test_an_unknown_part_is_refused_with_the_name_that_is_meant() -> None:
    with pytest.raises(InputError, match=r"there is no part volume; did you mean volumes\?"):
        Simulation([], without=["volume"])
    with pytest.raises(InputError, match="no list of parts"):
        ControllerManager(InMemoryCluster(), without="volumes")  # type: ignore[arg-type]


def test_claims_of_a_running_cluster_are_left_alone_until_the_scheduler_names_a_node() -> None:
    waits, at_once = claim("waits", "late"), claim("at-once", "fast")
    for each in (waits, at_once):
        each["metadata"]["uid"] = f"uid-{each['metadata']['name']}"
        each["status"] = {"phase": "Pending"}
    objects = [storage_class("late", mode=WAITS), storage_class("fast"), waits, at_once]
    simulation = Simulation([*NODES, *objects, pod("p", "waits"), pod("q", "at-once")])
    first, second = simulation.schedule()
    assert first.node_name is not None
    assert "unbound immediate PersistentVolumeClaims" in second.message


@pytest.mark.parametrize("with_claim", [True, False])
def test_a_volume_whose_uids_were_taken_out_of_a_dump_stays(with_claim: bool) -> None:
    reference = {"namespace": "default", "name": "data", "uid": "uid-of-the-cluster"}
    made = volume("pvc-1", "fast", claimRef=reference, persistentVolumeReclaimPolicy="Delete")
    made["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "disks.example.com"}
    wanted = claim("data", "fast", volumeName="pvc-1")
    wanted["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    wanted["status"] = {"phase": "Bound"}
    simulation = Simulation([*NODES, storage_class("fast"), made, *[wanted] * with_claim, pod("p", "data")])
    placement = simulation.schedule()[0]
    (left,) = simulation.cluster.list("PersistentVolume")
    assert (placement.node_name is not None) == with_claim
    assert left.status.phase == ("Bound" if with_claim else "Released")


def test_a_manager_begins_with_what_is_there_and_ends_when_it_is_closed() -> None:
    cluster = InMemoryCluster([storage_class("fast"), claim("data", "fast")])
    manager = ControllerManager(cluster)
    assert len(cluster.list("PersistentVolume")) == 1
    manager.close()
    cluster.create(claim("more", "fast"))
    assert len(cluster.list("PersistentVolume")) == 1
