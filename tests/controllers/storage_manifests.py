"""Claims, volumes and classes for tests, as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Manifest = dict[str, Any]
STORAGE = "storage.k8s.io/v1"
WAITS = "WaitForFirstConsumer"


def node(name: str, zone: str = "", **labels: str) -> Manifest:
    labels = {"kubernetes.io/hostname": name, **labels}
    if zone:
        labels["topology.kubernetes.io/zone"] = zone
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": amounts},
    }


def storage_class(name: str, provisioner: str = "disks.example.com", mode: str = "", **more: Any) -> Manifest:
    mode_of = {"volumeBindingMode": mode} if mode else {}
    return {
        "apiVersion": STORAGE,
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        **mode_of,
        **more,
    }


def claim_spec(class_name: str | None = None, size: str = "1Gi", **more: Any) -> Manifest:
    spec: Manifest = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **more}
    return spec if class_name is None else {**spec, "storageClassName": class_name}


def claim(name: str, class_name: str | None = None, size: str = "1Gi", **more: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": claim_spec(class_name, size, **more),
    }


def volume(
    name: str,
    class_name: str = "",
    size: str = "1Gi",
    modes: Sequence[str] = ("ReadWriteOnce",),
    *,
    labels: dict[str, str] | None = None,
    **more: Any,
) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": list(modes),
            "storageClassName": class_name,
            "csi": {"driver": "disks.example.com", "volumeHandle": name},
            **more,
        },
    }


def pod(name: str, *claims: str, ephemeral: Manifest | None = None, **spec: Any) -> Manifest:
    volumes: list[Manifest] = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": each}}
        for number, each in enumerate(claims)
    ]
    if ephemeral is not None:
        volumes.append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": ephemeral}}})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "main"}], "volumes": volumes, **spec},
    }
