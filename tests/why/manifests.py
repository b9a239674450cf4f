"""Small clusters."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]


def node(name: str, cpu: str = "4", labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    room = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": room},
    }


def pod(
    name: str, cpu: str = "1", on: str = "", labels: dict[str, str] | None = None, **spec: Any
) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels or {}},
        "spec": {"nodeName": on, "containers": [container], **spec},
    }
