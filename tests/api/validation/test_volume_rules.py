"""Rules of the API server for volumes, claims and what drivers write: each by a right and a wrong object."""

from __future__ import annotations

from typing import Any

from .kinds import RIGHT, Row, check_rule, each_rule

AFFINITY = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}
SECRET = {"name": "s", "namespace": "n"}
CSI = RIGHT["PersistentVolume"]["spec"]["csi"]
BLOCK = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}


def volume(source: str, **members: Any) -> dict[str, Any]:
    """Return the change of a volume to one with that source."""
    return {"spec.csi": None, f"spec.{source}": members}


ROWS: dict[str, list[Row]] = {
    "PersistentVolume": [
        ({}, {"spec.csi": None}, "spec"),
        ({}, {"spec.accessModes": []}, "spec.accessModes"),
        ({}, {"spec.accessModes": ["Sometimes"]}, "spec.accessModes[0]"),
        (
            {"spec.accessModes": ["ReadWriteOncePod"]},
            {"spec.accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
            "spec.accessModes",
        ),
        ({}, {"spec.capacity": None}, "spec.capacity"),
        ({}, {"spec.capacity": {}}, "spec.capacity"),
        ({}, {"spec.capacity": {"storage": "1Gi", "cpu": "1"}}, "spec.capacity"),
        ({}, {"spec.capacity": {"storage": "0"}}, "spec.capacity.storage"),
        ({}, {"spec.capacity": {"storage": "-1Gi"}}, "spec.capacity.storage"),
        (
            {"spec.persistentVolumeReclaimPolicy": "Recycle"},
            {"spec.persistentVolumeReclaimPolicy": "Keep"},
            "spec.persistentVolumeReclaimPolicy",
        ),
        ({"spec.volumeMode": "Block"}, {"spec.volumeMode": "Raw"}, "spec.volumeMode"),
        ({"spec.storageClassName": ""}, {"spec.storageClassName": "Bad_Name"}, "spec.storageClassName"),
        (
            {"spec.volumeAttributesClassName": "fast"},
            {"spec.volumeAttributesClassName": ""},
            "spec.volumeAttributesClassName",
        ),
        (
            {"spec.volumeAttributesClassName": "fast"},
            {"spec.volumeAttributesClassName": "fast", **volume("hostPath", path="/x")},
            "spec.csi",
        ),
        ({}, {"spec.hostPath": {"path": "/x"}}, "spec.csi"),
        ({"spec.nodeAffinity": AFFINITY}, {"spec.nodeAffinity": {}}, "spec.nodeAffinity.required"),
        (
            {"spec.nodeAffinity": AFFINITY},
            {"spec.nodeAffinity": {"required": {"nodeSelectorTerms": []}}},
            "spec.nodeAffinity.required.nodeSelectorTerms",
        ),
        (
            {**volume("local", path="/d"), "spec.nodeAffinity": AFFINITY},
            volume("local", path="/d"),
            "spec.nodeAffinity",
        ),
        (
            {**volume("local", path="/d"), "spec.nodeAffinity": AFFINITY},
            {**volume("local", path="/d/../x"), "spec.nodeAffinity": AFFINITY},
            "spec.local.path",
        ),
        (volume("hostPath", path="/x"), volume("hostPath", path="/x/.."), "spec.hostPath.path"),
        (
            {**volume("hostPath", path="/x"), "spec.persistentVolumeReclaimPolicy": "Recycle"},
            {**volume("hostPath", path="//"), "spec.persistentVolumeReclaimPolicy": "Recycle"},
            "spec.persistentVolumeReclaimPolicy",
        ),
        ({}, {"spec.csi.driver": ""}, "spec.csi.driver"),
        ({"spec.csi.driver": "Disk.example.com"}, {"spec.csi.driver": "a b"}, "spec.csi.driver"),
        ({"spec.csi.driver": "a" * 63}, {"spec.csi.driver": "a" * 64}, "spec.csi.driver"),
        ({}, {"spec.csi.volumeHandle": None}, "spec.csi.volumeHandle"),
        (
            {"spec.csi.nodePublishSecretRef": SECRET},
            {"spec.csi.nodePublishSecretRef": {"name": "s"}},
            "spec.csi.nodePublishSecretRef.namespace",
        ),
        (
            {"spec.csi.nodePublishSecretRef": SECRET},
            {"spec.csi.nodePublishSecretRef": {**SECRET, "name": "S"}},
            "spec.csi.nodePublishSecretRef.name",
        ),
        (
            volume("nfs", server="s", path="/x"),
            volume("nfs", server="s", path="x"),
            "spec.nfs.path",
        ),
        (
            volume("iscsi", targetPortal="1.2.3.4", iqn="iqn.2001-04.com.example:disk"),
            volume("iscsi", targetPortal="1.2.3.4", iqn="disk"),
            "spec.iscsi.iqn",
        ),
        (
            volume("iscsi", targetPortal="1.2.3.4", iqn="naa." + "0" * 32, lun=255),
            volume("iscsi", targetPortal="1.2.3.4", iqn="naa." + "0" * 32, lun=256),
            "spec.iscsi.lun",
        ),
        (
            volume("iscsi", targetPortal="h", iqn="eui." + "0" * 16, chapAuthSession=True, secretRef=SECRET),
            volume("iscsi", targetPortal="h", iqn="eui." + "0" * 16, chapAuthSession=True),
            "spec.iscsi.secretRef",
        ),
        (
            volume("iscsi", targetPortal="h", iqn="eui." + "0" * 16, initiatorName="eui." + "0" * 16),
            volume("iscsi", targetPortal="h" * 61, iqn="eui." + "0" * 16, initiatorName="eui." + "0" * 16),
            "spec.iscsi.targetPortal",
        ),
        (volume("fc", targetWWNs=["w"], lun=1), volume("fc", targetWWNs=["w"]), "spec.fc.lun"),
        (volume("fc", wwids=["w"]), volume("fc", wwids=["w"], targetWWNs=["w"], lun=1), "spec.fc.targetWWNs"),
        (
            volume("flexVolume", driver="d", options={"example.com/a": "b"}),
            volume("flexVolume", driver="d", options={"x.kubernetes.io/a": "b"}),
            'spec.flexVolume.options["x.kubernetes.io/a"]',
        ),
        (
            volume("quobyte", registry="h:1,i:2", volume="v"),
            volume("quobyte", registry="h", volume="v"),
            "spec.quobyte.registry",
        ),
        (
            volume("flocker", datasetName="a"),
            volume("flocker", datasetName="a", datasetUUID="b"),
            "spec.flocker",
        ),
        (volume("flocker", datasetName="a"), volume("flocker"), "spec.flocker"),
        (
            volume("azureFile", secretName="s", shareName="h"),
            volume("azureFile", secretName="s", shareName="h", secretNamespace=""),
            "spec.azureFile.secretNamespace",
        ),
        (
            volume("azureDisk", diskName="d", diskURI="/subscriptions/x", kind="Managed"),
            volume("azureDisk", diskName="d", diskURI="/subscriptions/x", kind="Shared"),
            "spec.azureDisk.diskURI",
        ),
        (
            volume("cinder", volumeID="v", secretRef=SECRET),
            volume("cinder", volumeID="v", secretRef={"name": "s"}),
            "spec.cinder.secretRef.namespace",
        ),
    ],
    "PersistentVolumeClaim": [
        ({}, {"spec.accessModes": []}, "spec.accessModes"),
        ({}, {"spec.accessModes": ["Sometimes"]}, "spec.accessModes[0]"),
        ({}, {"spec.accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]}, "spec.accessModes"),
        ({}, {"spec.resources": None}, "spec.resources.requests.storage"),
        ({}, {"spec.resources": {"requests": {"cpu": "1"}}}, "spec.resources.requests.storage"),
        ({}, {"spec.resources.requests.storage": "0"}, "spec.resources.requests.storage"),
        ({"spec.storageClassName": ""}, {"spec.storageClassName": "A"}, "spec.storageClassName"),
        ({"spec.volumeMode": "Block"}, {"spec.volumeMode": ""}, "spec.volumeMode"),
        (
            {"spec.selector": {"matchLabels": {"a": "b"}}},
            {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "spec.selector.matchExpressions[0].values",
        ),
        (
            {"spec.dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}},
            {"spec.dataSource": {"kind": "VolumeSnapshot", "name": "a"}},
            "spec.dataSource",
        ),
        (
            {
                "spec.dataSource": {
                    "apiGroup": "snapshot.storage.k8s.io",
                    "kind": "VolumeSnapshot",
                    "name": "a",
                }
            },
            {"spec.dataSource": {"apiGroup": "A", "kind": "VolumeSnapshot", "name": "a"}},
            "spec.dataSource.apiGroup",
        ),
        (
            {"spec.dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "a", "namespace": "b"}},
            {"spec.dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "a", "namespace": "b.c"}},
            "spec.dataSourceRef.namespace",
        ),
        (
            {
                f"spec.{key}": {"kind": "PersistentVolumeClaim", "name": "a"}
                for key in ("dataSource", "dataSourceRef")
            },
            {
                f"spec.{key}": {"kind": "PersistentVolumeClaim", "name": key.lower()}
                for key in ("dataSource", "dataSourceRef")
            },
            "spec.dataSource",
        ),
    ],
    "CSIDriver": [
        (
            {"spec.tokenRequests": [{"audience": "a"}, {"audience": "b"}]},
            {"spec.tokenRequests": [{"audience": "a"}, {"audience": "a"}]},
            "spec.tokenRequests[1].audience",
        ),
        (
            {"spec.serviceAccountTokenInSecrets": True, "spec.tokenRequests": [{"audience": "a"}]},
            {"spec.serviceAccountTokenInSecrets": True},
            "spec.serviceAccountTokenInSecrets",
        ),
        ({"spec.fsGroupPolicy": "File"}, {"spec.fsGroupPolicy": "Disk"}, "spec.fsGroupPolicy"),
    ],
    "CSINode": [
        (
            {},
            {"spec.drivers": [{"name": "a", "nodeID": "n"}, {"name": "a", "nodeID": "n"}]},
            "spec.drivers[1].name",
        ),
        ({}, {"spec.drivers": [{"name": "a b", "nodeID": "n"}]}, "spec.drivers[0].name"),
        ({}, {"spec.drivers": [{"name": "a", "nodeID": "n" * 257}]}, "spec.drivers[0].nodeID"),
        (
            {"spec.drivers": [{"name": "a", "nodeID": "n", "topologyKeys": ["a", "b"]}]},
            {"spec.drivers": [{"name": "a", "nodeID": "n", "topologyKeys": ["a", "a"]}]},
            "spec.drivers[0].topologyKeys[1]",
        ),
        (
            {"spec.drivers": [{"name": "a", "nodeID": "n", "allocatable": {"count": 0}}]},
            {"spec.drivers": [{"name": "a", "nodeID": "n", "allocatable": {"count": -1}}]},
            "spec.drivers[0].allocatable.count",
        ),
    ],
    "CSIStorageCapacity": [
        ({"capacity": "0"}, {"capacity": "-1"}, "capacity"),
        ({}, {"storageClassName": "A"}, "storageClassName"),
    ],
    "VolumeAttachment": [
        ({}, {"spec.source": {}}, "spec.source"),
        ({}, {"spec.attacher": "a b"}, "spec.attacher"),
        ({}, {"spec.source.persistentVolumeName": "A"}, "spec.source.persistentVolumeName"),
        ({}, {"spec.source.inlineVolumeSpec": {}}, "spec.source"),
        (
            {"spec.source": {"inlineVolumeSpec": {"csi": CSI, "accessModes": ["ReadWriteOnce"]}}},
            {"spec.source": {"inlineVolumeSpec": {"csi": CSI, **BLOCK}}},
            "spec.source.inlineVolumeSpec.capacity",
        ),
    ],
}


@each_rule(ROWS)
def test_what_a_rule_refuses(kind: str, right: dict[str, Any], wrong: dict[str, Any], path: str) -> None:
    check_rule(kind, right, wrong, path)
