"""Pods for tests of validation, and what is found in them."""

from __future__ import annotations

from typing import Any

from schedframe.api import Pod, from_manifest
from schedframe.api.controllers import CONTROLLER_KINDS
from schedframe.api.validation import problems_of
from schedframe.errors import InputError

Manifest = dict[str, Any]


def pod(metadata: Manifest | None = None, **spec: Any) -> Manifest:
    """Return a pod that an API server takes, with these members of the spec."""
    head = {"name": "web", "namespace": "shop", **(metadata or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": head,
        "spec": {"containers": [container()], **spec},
    }


def container(name: str = "main", **members: Any) -> Manifest:
    """Return a container."""
    return {"name": name, "image": "registry.example/app:1", **members}


def one(**members: Any) -> Manifest:
    """Return a pod with one container that has these members."""
    return pod(containers=[container(**members)])


def asking(requests: Manifest | None = None, limits: Manifest | None = None, **more: Any) -> Manifest:
    """Return a pod with one container that asks for these amounts."""
    return one(resources={"requests": requests or {}, "limits": limits or {}, **more})


def claim_template(**metadata: Any) -> Manifest:
    """Return the source of an ephemeral volume."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"volumeClaimTemplate": {"metadata": metadata, "spec": spec}}


def deployment(pod_manifest: Manifest) -> Manifest:
    """Return a Deployment of pods like that one."""
    labels = {"app": "web"}
    metadata = {"labels": {**labels, **pod_manifest["metadata"].get("labels", {})}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": metadata, "spec": pod_manifest["spec"]},
        },
    }


def refusals(manifest: Manifest, *, required: bool = True) -> list[InputError]:
    """Return the errors of reading *manifest*."""
    try:
        from_manifest(manifest, required=required, kinds=CONTROLLER_KINDS)
    except InputError as error:
        return list(error.errors)
    return []


def paths(manifest: Manifest, *, required: bool = True) -> list[str]:
    """Return the fields that are refused, from the spec of the pod, sorted."""
    found = {error.path for error in refusals(manifest, required=required)}
    return sorted(path.removeprefix("spec.template.").removeprefix("spec.") for path in found)


def admitted_paths(manifest: Manifest) -> list[str]:
    """Return the fields that are refused after admission."""
    found = problems_of(manifest, Pod, required=True, admitted=True)
    return sorted(error.path.removeprefix("spec.") for error in found)
