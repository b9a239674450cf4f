"""Small manifests as text."""

from __future__ import annotations

import json
from typing import Any


def node(name: str) -> dict[str, Any]:
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": room}}


def pod(
    name: str, cpu: str = "1", *, on: str = "", namespace: str = "default", **spec: Any
) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container], "nodeName": on, **spec},
    }


def text(*manifests: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, manifests))
