from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import (
    DeviceClass,
    DeviceTaint,
    DeviceToleration,
    NodeAffinity,
    PersistentVolume,
    PersistentVolumeClaim,
    ResourceClaim,
    ResourceSlice,
    StorageClass,
    from_manifest,
    parse_quantity,
    part_from_manifest,
    part_to_manifest,
    to_manifest,
)
from schedframe.errors import InputError

VOLUME: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "pv1", "labels": {"topology.kubernetes.io/zone": "z1__z2"}},
    "spec": {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data", "uid": "u"},
        "storageClassName": "wait",
        "volumeMode": "Block",
        "csi": {"driver": "d", "volumeHandle": "h"},
        "nodeAffinity": {
            "required": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}
                ]
            }
        },
    },
    "status": {"phase": "Bound"},
}
CLASS: dict[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "wait"},
    "provisioner": "d",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["z1"]}]}],
}
CLAIM: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "default"},
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "r0",
                    "exactly": {
                        "deviceClassName": "gpu",
                        "allocationMode": "ExactCount",
                        "count": 1,
                        "adminAccess": False,
                        "selectors": [{"cel": {"expression": "true"}}],
                        "capacity": {"requests": {"memory": "4Gi"}},
                    },
                },
                {"name": "r1", "firstAvailable": [{"name": "s0", "deviceClassName": "gpu"}]},
            ],
            "constraints": [{"matchAttribute": "d/numa"}],
            "config": [{"opaque": {"driver": "d", "parameters": {"a": [1, None]}}}],
        }
    },
    "status": {
        "allocation": {
            "allocationTimestamp": "2026-01-01T00:00:00Z",
            "devices": {
                "results": [
                    {
                        "request": "r0",
                        "driver": "d",
                        "pool": "p",
                        "device": "gpu-0",
                        "shareID": "1",
                        "consumedCapacity": {"memory": "4Gi"},
                    }
                ]
            },
        },
        "reservedFor": [{"resource": "pods", "name": "a", "uid": "u"}],
    },
}
SLICE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "d",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "n1",
        "devices": [
            {
                "name": "gpu-0",
                "attributes": {
                    "index": {"int": 0},
                    "numa": {"bool": False},
                    "model": {"string": ""},
                    "driver": {"version": "1.0.0"},
                },
                "capacity": {"memory": {"value": "40Gi", "requestPolicy": {"validRange": {"min": "1Gi"}}}},
                "consumesCounters": [{"counterSet": "c", "counters": {"m": {"value": "1"}}}],
                "taints": [{"key": "bad", "effect": "NoSchedule"}],
            }
        ],
    },
}
COUNTERS: dict[str, Any] = {
    **SLICE,
    "spec": {
        **{key: value for key, value in SLICE["spec"].items() if key != "devices"},
        "sharedCounters": [{"name": "c", "counters": {"m": {"value": "8"}}}],
    },
}


@pytest.mark.parametrize("manifest", [VOLUME, CLASS, CLAIM, SLICE, COUNTERS])
def test_they_are_read_and_written(manifest: dict[str, Any]) -> None:
    assert to_manifest(from_manifest(manifest)) == manifest


def test_what_they_say() -> None:
    volume, storage_class, claim, offer = map(from_manifest, (VOLUME, CLASS, CLAIM, SLICE))
    assert isinstance(volume, PersistentVolume)
    assert volume.spec.capacity["storage"] == parse_quantity("10Gi")
    assert volume.key == "pv1"
    assert isinstance(storage_class, StorageClass)
    assert storage_class.allowed_topologies[0].match_label_expressions[0].values == ("z1",)
    assert isinstance(claim, ResourceClaim)
    assert claim.key == "default/c"
    assert claim.spec.devices.requests[0].exactly is not None
    assert claim.spec.devices.requests[0].exactly.admin_access is False
    assert isinstance(offer, ResourceSlice)
    values = {name: attribute.value for name, attribute in offer.spec.devices[0].attributes.items()}
    assert values == {"index": 0, "numa": False, "model": "", "driver": "1.0.0"}


def test_no_class_and_the_default_class_differ() -> None:
    def class_name(**spec: Any) -> str | None:
        made = from_manifest({"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": spec})
        assert isinstance(made, PersistentVolumeClaim)
        assert from_manifest(to_manifest(made)) == made
        return made.spec.storage_class_name

    assert class_name() is None
    assert class_name(storageClassName="") == ""


def test_node_affinity_of_volumes_is_checked() -> None:
    broken = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "is"}]}]}}
    with pytest.raises(InputError) as caught:
        from_manifest(VOLUME | {"spec": {"nodeAffinity": broken}})
    assert caught.value.path == "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator"


def test_device_tolerations() -> None:
    taint = DeviceTaint("bad", "a", "NoSchedule")
    assert DeviceToleration("bad", "Exists").tolerates(taint)
    assert DeviceToleration("bad", "Equal", "a", "NoSchedule").tolerates(taint)
    assert DeviceToleration(operator="Exists").tolerates(taint)
    assert not DeviceToleration("bad", "", "b").tolerates(taint)
    assert not DeviceToleration("bad", "Exists", effect="NoExecute").tolerates(taint)
    assert not DeviceToleration("good", "Exists").tolerates(taint)


def test_parts_are_read_and_written_on_their_own() -> None:
    part: dict[str, Any] = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": []}]}
    }
    affinity = part_from_manifest(NodeAffinity, part)
    assert affinity.required is not None
    assert part_to_manifest(affinity) == {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}
    }
    assert part_from_manifest(DeviceClass, {"metadata": {"name": "gpu"}}).name == "gpu"
    with pytest.raises(InputError) as caught:
        part_from_manifest(
            NodeAffinity, {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": "1"}]}
        )
    assert caught.value.path == "preferredDuringSchedulingIgnoredDuringExecution[0].weight"
