"""Policies, and small clusters on which a predicate or a priority has something to decide."""

from __future__ import annotations

from typing import Any

from plugins_builtin.legacy.config import migrate
from schedframe import Simulation

HOSTNAME = "kubernetes.io/hostname"


def policy(**fields: Any) -> dict[str, Any]:
    return {"kind": "Policy", "apiVersion": "v1", **fields}


def component(version: str, **fields: Any) -> dict[str, Any]:
    api = f"kubescheduler.config.k8s.io/{version}"
    return {"apiVersion": api, "kind": "KubeSchedulerConfiguration", **fields}


def thing(kind: str, name: str, spec: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return an object; storage kinds but volumes and claims are of ``storage.k8s.io/v1``."""
    group = "storage.k8s.io/v1" if kind in ("StorageClass", "CSINode") else "v1"
    metadata: dict[str, Any] = {"name": name, **fields.pop("metadata", {})}
    if kind in ("Service", "PersistentVolumeClaim", "Pod"):
        metadata["namespace"] = "default"
    made = {"kind": kind, "apiVersion": group, "metadata": metadata, **fields}
    return made if spec is None else {**made, "spec": spec}


def node(name: str, spec: dict[str, Any] | None = None, **labels: str) -> dict[str, Any]:
    return node_with(name, {}, spec, **labels)


def node_with(
    name: str, amounts: dict[str, str], spec: dict[str, Any] | None = None, **labels: str
) -> dict[str, Any]:
    """Return a node with more or other allocatable *amounts*."""
    allocatable = {"cpu": "2", "memory": "4Gi", "pods": "9", **amounts}
    status = {"allocatable": allocatable, "capacity": allocatable}
    return thing("Node", name, spec or {}, metadata={"labels": {HOSTNAME: name, **labels}}, status=status)


def pod(name: str = "p", cpu: str = "1", ports: list[Any] | None = None, **spec: Any) -> dict[str, Any]:
    """Return a pod labelled ``app: a``; limits are those of ``limits``."""
    resources = {"requests": {"cpu": cpu}, "limits": spec.pop("limits", {})}
    container = {"name": "c", "image": "i", "resources": resources, "ports": ports or []}
    owners = spec.pop("owners", [])
    metadata = {"uid": name, "labels": {"app": "a"}, "ownerReferences": owners}
    return thing("Pod", name, {"containers": [container], **spec}, metadata=metadata)


def service() -> dict[str, Any]:
    return thing("Service", "s", {"selector": {"app": "a"}})


def best(document: dict[str, Any], objects: list[Any], pending: dict[str, Any]) -> list[str]:
    """Return the best nodes for *pending* under the migrated *document*, sorted."""
    with Simulation(objects, migrate(document).config) as simulation:
        return sorted(simulation.evaluate(pending).best)
