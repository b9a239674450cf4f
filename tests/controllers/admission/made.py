"""Manifests of what admission reads and changes."""

from __future__ import annotations

from typing import Any

from schedframe.api import ADMISSION_KINDS, Pod, from_manifest
from schedframe.controllers.admission import Admission, Admitted


def pod(*containers: dict[str, Any], name: str = "p", **spec: Any) -> dict[str, Any]:
    """A pod with *containers*; with one that has no resources if none are given."""
    named = [{"name": f"c{place}", **each} for place, each in enumerate(containers or ({},))]
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": named, **spec}}


def container(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> dict[str, Any]:
    """A container with these amounts."""
    return {"resources": {"requests": requests or {}, "limits": limits or {}}}


def claim(storage: str = "1Gi", name: str = "c", **spec: Any) -> dict[str, Any]:
    resources = {"resources": {"requests": {"storage": storage}}}
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {**resources, **spec}}


def limit_range(*limits: dict[str, Any], name: str = "limits", namespace: str = "default") -> dict[str, Any]:
    """A limit range; items are of the type Container unless they have another."""
    items = [{"type": "Container", **each} for each in limits]
    metadata = {"name": name, "namespace": namespace}
    return {"kind": "LimitRange", "metadata": metadata, "spec": {"limits": items}}


def runtime_class(name: str = "kata", **fields: Any) -> dict[str, Any]:
    version = "node.k8s.io/v1"
    return {
        "apiVersion": version,
        "kind": "RuntimeClass",
        "metadata": {"name": name},
        "handler": "h",
        **fields,
    }


def priority_class(name: str, value: int, **fields: Any) -> dict[str, Any]:
    return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value, **fields}


def storage_class(name: str, **metadata: Any) -> dict[str, Any]:
    return {"kind": "StorageClass", "metadata": {"name": name, **metadata}, "provisioner": "disk.example"}


def quota(hard: dict[str, Any], name: str = "q", **fields: Any) -> dict[str, Any]:
    status = fields.pop("status", {})
    spec = {"hard": hard, **fields}
    return {"kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec, "status": status}


def decoded(manifest: dict[str, Any]) -> Any:
    """The object, without the checks that come before admission: it must bear what these would refuse."""
    return from_manifest(manifest, kinds=ADMISSION_KINDS, strict=False)


def admission(*known: dict[str, Any], **options: Any) -> Admission:
    return Admission.of([decoded(each) for each in known], **options)


def admit(manifest: dict[str, Any], *known: dict[str, Any], **options: Any) -> Admitted:
    """What becomes of the object of *manifest* in a cluster with *known*."""
    return admission(*known, **options).admit(decoded(manifest))


def admitted_pod(manifest: dict[str, Any], *known: dict[str, Any], **options: Any) -> Pod:
    found = admit(manifest, *known, **options).object
    assert isinstance(found, Pod)
    return found
