"""Checks of the objects of a cluster in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..api import Pod
from ..errors import InvariantError
from .uids import Uids


def check_objects(
    every: Mapping[str, Mapping[str, Any]], uids: Uids, latest: int, lingering: Iterable[str]
) -> None:
    """Raise :class:`InvariantError` unless keys, versions and marks fit the objects. O(n)."""
    versions: set[str] = set()
    for kind, objects in every.items():
        for key, obj in objects.items():
            version = obj.metadata.resource_version
            if (obj.KIND, obj.key) != (kind, key) or not obj.uid or obj.uid != obj.metadata.uid:
                raise InvariantError(f"{kind} {key} holds {obj.KIND} {obj.key} with uid {obj.uid!r}")
            if version in versions or not 0 < int(version) <= latest:
                raise InvariantError(f"{kind} {key} has version {version} of {latest}")
            versions.add(version)
        uids.check_invariants(kind, [obj.uid for obj in objects.values()])
    for key in lingering:
        pod = every.get(Pod.KIND, {}).get(key)
        if pod is None or pod.metadata.deletion_timestamp is None:
            raise InvariantError(f"Pod {key} lingers but is not being deleted")
