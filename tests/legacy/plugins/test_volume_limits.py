"""EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import strategies as st

from plugins_builtin.legacy.plugins.volume_limits import (
    ERR_REASON,
    MAX_VOLUMES_VARIABLE,
    EBSLimits,
    GCEPDLimits,
)
from schedframe import CycleState, Node, Status, from_manifest
from schedframe.api import Quantity
from schedframe.testing import check_plugin
from tests.plugins.agreement import StandInHandle
from tests.testing import objects

from .cluster import best, message, node, pod

DISKS = {
    "EBSLimits": ("aws-ebs", "awsElasticBlockStore", "volumeID", "attachable-volumes-aws-ebs", 39),
    "GCEPDLimits": ("gce-pd", "gcePersistentDisk", "pdName", "attachable-volumes-gce-pd", 16),
    "AzureDiskLimits": ("azure-disk", "azureDisk", "diskName", "attachable-volumes-azure-disk", 16),
    "CinderLimits": ("cinder", "cinder", "volumeID", "attachable-volumes-cinder", 256),
}
"""Plugin → name after ``kubernetes.io/``, source, its field, resource, limit by default."""


def disks(plugin: str, *names: str) -> list[dict[str, Any]]:
    _, source, field, _, _ = DISKS[plugin]
    more = {"diskURI": "u"} if plugin == "AzureDiskLimits" else {}
    return [{"name": f"v{i}", source: {field: name, **more}} for i, name in enumerate(names)]


def full(plugin: str, count: int, **fields: Any) -> list[Any]:
    """Return a node with *count* disks on it, and an empty one."""
    there = pod("there", volumes=disks(plugin, *(f"d{i}" for i in range(count))), nodeName="full")
    return [node("full", **fields), node("empty"), there]


@pytest.mark.parametrize("plugin", DISKS)
def test_the_default_limit(plugin: str) -> None:
    limit = DISKS[plugin][4]
    pending = pod(volumes=disks(plugin, "new"))
    assert best(full(plugin, limit - 1), pending, plugin) == ["empty", "full"]
    assert best(full(plugin, limit), pending, plugin) == ["empty"]


@pytest.mark.parametrize("plugin", DISKS)
def test_the_node_publishes_its_limit(plugin: str) -> None:
    nodes = full(plugin, 2, allocatable={DISKS[plugin][3]: "2"})
    assert best(nodes, pod(volumes=disks(plugin, "new")), plugin) == ["empty"]
    assert best(nodes, pod(volumes=disks(plugin, "d0")), plugin) == ["empty", "full"]
    other = next(each for each in DISKS if each != plugin)
    assert best(nodes, pod(volumes=disks(other, "new")), plugin) == ["empty", "full"]
    reason = message([nodes[0], nodes[2]], pod(volumes=disks(plugin, "new")), plugin)
    assert reason is not None
    assert ERR_REASON in reason


@pytest.mark.parametrize(("instance", "limit"), [("m5.large", 25), ("t3.nano", 25), ("m4.large", 39)])
@pytest.mark.parametrize("label", ["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"])
def test_the_limit_of_an_instance_type(label: str, instance: str, limit: int) -> None:
    pending = pod(volumes=disks("EBSLimits", "new"))
    labels = {label: instance}
    assert best(full("EBSLimits", limit - 1, labels=labels), pending, "EBSLimits") == ["empty", "full"]
    assert best(full("EBSLimits", limit, labels=labels), pending, "EBSLimits") == ["empty"]


@pytest.mark.parametrize(
    ("text", "expected"), [("3", ["empty"]), ("0", ["empty", "full"]), ("x", ["empty", "full"])]
)
def test_the_limit_of_the_environment(
    text: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MAX_VOLUMES_VARIABLE, text)
    assert best(full("GCEPDLimits", 3), pod(volumes=disks("GCEPDLimits", "new")), "GCEPDLimits") == expected


@pytest.mark.parametrize("plugin", DISKS)
def test_disks_of_a_migrated_plugin_do_not_count(plugin: str) -> None:
    csi_node = {
        "kind": "CSINode",
        "apiVersion": "storage.k8s.io/v1",
        "metadata": {
            "name": "full",
            "annotations": {
                "storage.alpha.kubernetes.io/migrated-plugins": f"kubernetes.io/{DISKS[plugin][0]}"
            },
        },
        "spec": {"drivers": []},
    }
    nodes = [*full(plugin, 2, allocatable={DISKS[plugin][3]: "2"}), csi_node]
    assert best(nodes, pod(volumes=disks(plugin, "new")), plugin) == ["empty", "full"]


# ---- claims ------------------------------------------------------------------------------------------------


def claim(name: str, volume: str = "", storage_class: str | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"resources": {"requests": {"storage": "1Gi"}}, "volumeName": volume}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    metadata = {"name": name, "namespace": "default", "uid": name}  # as a cluster has it: no volume is made
    return {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": metadata, "spec": spec}


def uses(*claims: str) -> list[dict[str, Any]]:
    return [{"name": f"c{i}", "persistentVolumeClaim": {"claimName": c}} for i, c in enumerate(claims)]


VOLUME = {
    "kind": "PersistentVolume",
    "apiVersion": "v1",
    "metadata": {"name": "pv"},
    "spec": {"capacity": {"storage": "1Gi"}, "gcePersistentDisk": {"pdName": "d0"}},
}
CLASS = {
    "kind": "StorageClass",
    "apiVersion": "storage.k8s.io/v1",
    "metadata": {"name": "disks"},
    "provisioner": "kubernetes.io/gce-pd",
}
LIMITED = full("GCEPDLimits", 2, allocatable={"attachable-volumes-gce-pd": "2"})


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([claim("c", "pv"), VOLUME], ["empty", "full"]),
        ([claim("c", "gone", "disks"), CLASS], ["empty"]),
        ([claim("c", "", "disks"), CLASS], ["empty"]),
        ([claim("c", "", "other"), CLASS], ["empty", "full"]),
        ([claim("c", "")], ["empty", "full"]),
    ],
)
def test_a_claim_counts_as_its_disk(more: list[Any], expected: list[str]) -> None:
    assert best([*LIMITED, *more], pod(volumes=uses("c")), "GCEPDLimits") == expected


def test_pods_without_a_disk_of_the_plugin_are_skipped() -> None:
    plugin = GCEPDLimits(StandInHandle())
    for volumes in ([], disks("EBSLimits", "d")):
        skipped = from_manifest(pod(volumes=volumes))
        assert plugin.pre_filter(CycleState(), skipped) == Status.skip()
        assert plugin.skip_reads(skipped) == ()
    assert plugin.skip_reads(from_manifest(pod(volumes=uses("c")))) is None


def test_the_claim_of_a_new_pod_must_exist() -> None:
    reason = message(LIMITED, pod(volumes=uses("c")), "GCEPDLimits")
    assert reason is not None
    assert 'persistentvolumeclaim "c" not found' in reason


def test_missing_claims_of_other_pods_do_not_count() -> None:
    other = pod("other", volumes=uses("gone"), nodeName="full")
    nodes = full("GCEPDLimits", 1, allocatable={"attachable-volumes-gce-pd": "2"})
    found = best([*nodes, other], pod(volumes=disks("GCEPDLimits", "new")), "GCEPDLimits")
    assert found == ["empty", "full"]


def _limited(each: Node, limit: int) -> Node:
    amounts = {**each.status.allocatable, "attachable-volumes-aws-ebs": Quantity.of(limit)}
    return evolve(each, status=evolve(each.status, allocatable=amounts))


@pytest.mark.filterwarnings("ignore::schedframe.testing.PluginNotCached")  # pods without volumes skip it
def test_the_contract() -> None:
    check_plugin(
        EBSLimits,
        pods=objects.pods_with_volumes(),
        nodes=st.builds(_limited, objects.zoned_nodes(), st.integers(0, 1)),
        objects=objects.storage(),
        max_examples=12,
    )
