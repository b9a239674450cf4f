"""Owners of objects: who made them, and with whom they go."""

from __future__ import annotations

from ..api import ClusterObject, OwnerReference


def owner_reference(owner: ClusterObject) -> OwnerReference:
    """Return the reference to *owner* as the controller of an object."""
    return OwnerReference(
        owner.API_VERSION, owner.KIND, owner.name, owner.uid, controller=True, block_owner_deletion=True
    )


def is_owned_by(obj: ClusterObject, owner: ClusterObject) -> bool:
    """Return whether *owner* controls *obj*."""
    owners = obj.metadata.owner_references
    return any(each.controller and each.uid == owner.uid for each in owners)
