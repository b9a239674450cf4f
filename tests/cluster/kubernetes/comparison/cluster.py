"""The cluster of the comparison: each pool of nodes has its own reason to take or reject a pod."""

from __future__ import annotations

from typing import Any, Final

Obj = dict[str, Any]

HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
GPU: Final = "example.com/gpu"
TAINT: Final = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
PLAIN_NODES: Final = 10
VICTIM_NODES: Final = 12


def nodes() -> list[Obj]:
    """Return the nodes: each pool has its own reason."""
    made = [node(f"plain-{n}", "plain") for n in range(PLAIN_NODES)]
    made += [node(f"victim-{n}", f"victim-{n}", cpu="2") for n in range(VICTIM_NODES)]
    made += [
        node("cordoned-0", "cordoned", unschedulable=True),
        node("tainted-0", "tainted", taints=[TAINT]),
        node("ports-0", "ports"),
        node("pods-0", "pods", pods="1"),
        node("gpu-0", "gpu", amounts={GPU: "2"}),
        node("friends-0", "friends"),
        node("lonely-0", "lonely"),
        node("guarded-0", "guarded"),
        node("spread-0", "spread", zone="zone-a"),
        node("spread-1", "spread", zone="zone-b"),
        node("unzoned-0", "unzoned", zone=""),
        node("claims-0", "claims", zone="zone-a"),
        node("claims-1", "claims-1", zone="zone-b"),
        node("limited-0", "limited"),
        node("devices-0", "devices"),
        node("late-0", "late", cpu="2"),
    ]
    return made


def node(
    name: str,
    pool: str,
    cpu: str = "8",
    pods: str = "110",
    zone: str = "zone-a",
    amounts: Obj | None = None,
    **spec: Any,
) -> Obj:
    """Return a node that is ready."""
    room = {"cpu": cpu, "memory": "16Gi", "ephemeral-storage": "20Gi", "pods": pods, **(amounts or {})}
    zones = {ZONE: zone} if zone else {}
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, "pool": pool, **zones}},
        "spec": spec,
        "status": {"capacity": room, "allocatable": room, "conditions": [condition]},
    }


def classes() -> list[Obj]:
    """Return classes of priority and storage, and the driver that attaches one volume a node."""
    scheduling = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    driver = {"name": "csi.example.com", "nodeID": "limited-0", "topologyKeys": [HOST]}
    return [
        {**scheduling, "metadata": {"name": "low"}, "value": -10},
        {**scheduling, "metadata": {"name": "high"}, "value": 1000},
        {**scheduling, "metadata": {"name": "patient"}, "value": 1000, "preemptionPolicy": "Never"},
        {
            **storage,
            "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {
            **storage,
            "metadata": {"name": "at-once"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "Immediate",
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": "csi.example.com"},
            "spec": {"attachRequired": True},
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": "limited-0"},
            "spec": {"drivers": [{**driver, "allocatable": {"count": 1}}]},
        },
    ]


def volumes() -> list[Obj]:
    """Return pairs of claim and volume that are bound, and claims that wait."""
    csi = {"csi": {"driver": "csi.example.com", "volumeHandle": "one"}}
    made = [
        *bound("home", node="claims-0"),
        *bound("away", node="claims-1"),
        *bound("zoned", labels={ZONE: "zone-b"}),
        *bound("only-one", modes=["ReadWriteOncePod"]),
        *bound("attached", source=csi),
        *bound("attached-too", source={"csi": {**csi["csi"], "volumeHandle": "two"}}),
    ]
    made += [claim("unbound", "at-once"), claim("waiting", "local"), claim("too-large", "local", "900Gi")]
    return made


def bound(
    name: str,
    node: str = "",
    labels: dict[str, str] | None = None,
    modes: list[str] | None = None,
    source: Obj | None = None,
) -> list[Obj]:
    """Return a volume and its claim, bound to each other."""
    modes = modes or ["ReadWriteOnce"]
    volume: Obj = {"capacity": {"storage": "1Gi"}, "accessModes": modes, "storageClassName": "local"}
    volume |= {"persistentVolumeReclaimPolicy": "Retain", **(source or {"hostPath": {"path": f"/{name}"}})}
    volume["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name}
    if node:
        host = {"key": HOST, "operator": "In", "values": [node]}
        volume["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}}
    done = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    made = claim(name, "local", modes=modes)
    made["metadata"]["annotations"] = done
    made["spec"]["volumeName"] = name
    made["status"] = {"phase": "Bound", "accessModes": modes, "capacity": {"storage": "1Gi"}}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": labels or {}},
            "spec": volume,
            "status": {"phase": "Bound"},
        },
        made,
    ]


def claim(name: str, storage_class: str, size: str = "1Gi", modes: list[str] | None = None) -> Obj:
    """Return a claim without a volume."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": modes or ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": size}},
        },
    }


def devices() -> list[Obj]:
    """Return a class of devices, two of them on one node, and claims for three."""
    group = {"apiVersion": "resource.k8s.io/v1"}
    pool = {"name": "devices-0", "generation": 1, "resourceSliceCount": 1}
    slice_ = {"driver": "gpu.example.com", "nodeName": "devices-0", "pool": pool}
    device_class = {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]}
    return [
        {**group, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": device_class},
        {
            **group,
            "kind": "ResourceSlice",
            "metadata": {"name": "devices-0"},
            "spec": {**slice_, "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]},
        },
        *[device_claim(f"device-{n}", "gpu") for n in range(3)],
        device_claim("device-unknown", "none"),
    ]


def device_claim(name: str, device_class: str) -> Obj:
    """Return a claim for one device."""
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }


def budgets() -> list[Obj]:
    """Return a budget that no eviction of its pods respects."""
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "kept", "namespace": "default"},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"budget": "kept"}}},
        }
    ]
