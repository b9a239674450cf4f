"""Pods with a controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def owned(pod: Mapping[str, Any], kind: str = "ReplicaSet", name: str = "made") -> dict[str, Any]:
    """Return the manifest of a pod that a workload has made."""
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}}
