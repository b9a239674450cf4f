"""Manifests of workloads, and the pods that they become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schedframe.api import (
    CONTROLLER_KINDS,
    Pod,
    from_manifest,
)
from schedframe.controllers.workloads import Expander

APP = {"app": "web"}


def template(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": "100m"}}}
    labels = APP if labels is None else labels
    return {
        "metadata": {"labels": labels, "annotations": {"a": "1"}},
        "spec": {"containers": [container], **spec},
    }


def workload(kind: str, name: str = "web", version: str = "apps/v1", **spec: Any) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": APP}, "template": template(), **spec}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def job(name: str = "sum", **spec: Any) -> dict[str, Any]:
    spec = {"template": template({}, restartPolicy="Never"), **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def node(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"allocatable": room},
    }


def made(*manifests: dict[str, Any], treatment: str = "auto", among: Sequence[Any] = ()) -> list[Any]:
    objects = [from_manifest(manifest, kinds=CONTROLLER_KINDS) for manifest in manifests]
    expander = Expander.among([*among, *objects], treatment)
    return [each for obj in objects for each in expander.expand(obj)]


def pods(*manifests: dict[str, Any], treatment: str = "auto", among: Sequence[Any] = ()) -> list[Pod]:
    return [obj for obj in made(*manifests, treatment=treatment, among=among) if isinstance(obj, Pod)]


def owner_of(pod: Pod) -> tuple[str, str, str]:
    (owner,) = pod.metadata.owner_references
    assert owner.controller
    assert owner.block_owner_deletion
    return owner.kind, owner.name, owner.uid


def cron_job(**spec: Any) -> dict[str, Any]:
    model = {"metadata": {"labels": {"run": "x"}}, "spec": job(parallelism=2)["spec"]}
    spec = {"schedule": "0 3 * * *", "jobTemplate": model, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}
