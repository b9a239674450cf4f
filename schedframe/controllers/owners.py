"""Owners of objects: who made them, and with whom they go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ..api import (
    CONTROLLER_KINDS,
    ClusterObject,
    OwnerReference,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from .names import uid_of

WORKLOADS: Final = frozenset(
    {ReplicaSet.KIND, ReplicationController.KIND, StatefulSet.KIND, *(cls.KIND for cls in CONTROLLER_KINDS)}
)
"""Kinds that make pods, or objects that make pods."""


def owner_reference(owner: ClusterObject) -> OwnerReference:
    """Return the reference to *owner* as the controller of an object."""
    return OwnerReference(
        owner.API_VERSION, owner.KIND, owner.name, uid_of(owner), controller=True, block_owner_deletion=True
    )


def is_owned_by(obj: ClusterObject, owner: ClusterObject) -> bool:
    """Return whether *owner* controls *obj*."""
    reference = obj.metadata.controller
    return reference is not None and reference.uid == owner.uid


def makers(
    obj: ClusterObject, find: Callable[[str, str], Any]
) -> Iterator[tuple[OwnerReference, ClusterObject | None]]:
    """Yield the workload that made *obj*, then the one that made that, and so on, as far as they are known.

    *find* returns the object of a kind and key, ``None`` without one. The last reference may be to one that
    is not there, or that is of a kind of others.
    """
    made: ClusterObject | None = obj
    while made is not None and (reference := made.metadata.controller) is not None:
        key = f"{made.namespace}/{reference.name}"
        made = find(reference.kind, key) if reference.kind in WORKLOADS else None
        yield reference, made
