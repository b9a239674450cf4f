"""Manifests, and a profile with one of the former plugins and what every profile needs."""

from __future__ import annotations

from typing import Any

from schedframe import Simulation
from tests.configurations import configuration


def node(name: str, annotations: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """Return a node; ``labels`` and ``allocatable`` by keyword, with ``/`` and ``.`` in names as they are."""
    labels = {"kubernetes.io/hostname": name, **fields.get("labels", {})}
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "20", **fields.get("allocatable", {})}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": labels, "annotations": annotations or {}},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def pod(name: str = "p", labels: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """Return a pod labelled ``app: a``; ``resources``, ``owners`` and fields of the spec by keyword."""
    container = {"name": "c", "image": "i", "resources": fields.pop("resources", {})}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "labels": {"app": "a"} if labels is None else labels,
        "ownerReferences": fields.pop("owners", []),
    }
    spec = {"containers": [container], **fields}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}


def service(name: str = "s", **selector: str) -> dict[str, Any]:
    """Return a service of the pods with those labels."""
    metadata = {"name": name, "namespace": "default"}
    return {"kind": "Service", "apiVersion": "v1", "metadata": metadata, "spec": {"selector": selector}}


def config(name: str, args: dict[str, Any] | None = None, weight: int = 1) -> dict[str, Any]:
    """Return a configuration whose only filter and score is the plugin *name*."""
    needed = ("SchedulingGates", "PrioritySort", "DefaultPreemption", "DefaultBinder")
    enabled = [*({"name": each} for each in needed), {"name": name, "weight": weight}]
    return configuration(
        {
            "plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}},
            "pluginConfig": [] if args is None else [{"name": name, "args": args}],
        }
    )


def best(
    objects: list[Any], pending: dict[str, Any], name: str, args: dict[str, Any] | None = None
) -> list[str]:
    """Return the best nodes for *pending* with the plugin *name*, sorted."""
    with Simulation(objects, config(name, args)) as simulation:
        return sorted(simulation.evaluate(pending).best)


def message(
    objects: list[Any], pending: dict[str, Any], name: str, args: dict[str, Any] | None = None
) -> str | None:
    """Return why *pending* fits no node."""
    with Simulation(objects, config(name, args)) as simulation:
        return simulation.evaluate(pending).message
