"""Objects from and to manifests, one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from schedframe.api.claims import ResourceClaim, ResourceClaimTemplate
from schedframe.api.codec import decoder, describe, encoder
from schedframe.api.devices import DeviceClass, ResourceSlice
from schedframe.api.metadata import ClusterObject
from schedframe.api.node import Node
from schedframe.api.pod import Pod
from schedframe.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from schedframe.api.workloads import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from schedframe.errors import InputError

T = TypeVar("T")

_CLASSES: Final[tuple[type[ClusterObject], ...]] = (
    Pod,
    Node,
    Namespace,
    PriorityClass,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    PodDisruptionBudget,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    DeviceClass,
)

KINDS: Final[Mapping[str, type[ClusterObject]]] = {cls.KIND: cls for cls in _CLASSES}
"""Kind → class, for every kind that manifests may have."""


_OTHER_SHAPES: Final = dict.fromkeys(
    ("resource.k8s.io/v1alpha2", "resource.k8s.io/v1alpha3", "resource.k8s.io/v1beta1"), "resource.k8s.io/v1"
)
"""Versions whose fields differ from those of the version that is read, and that version. Others of a group
agree.
"""


class UnknownKindError(InputError):
    """A manifest of a kind that scheduling does not read."""


def key_of(obj: ClusterObject) -> str:
    """``namespace/name`` of a namespaced object, the name of another; unique within the kind."""
    return obj.key


def from_manifest(manifest: Mapping[str, Any], *, kind: str = "") -> ClusterObject:
    """The object that *manifest* describes; *kind* is for manifests that do not say, as those inside lists.

    Fields that scheduling does not read are ignored. Raises :class:`UnknownKindError` for kinds not in
    :data:`KINDS`, and :class:`InputError` with path, value and fix for anything of a wrong type.
    """
    if not isinstance(manifest, Mapping):
        raise InputError("", f"expected an object, got {describe(manifest)}", "write members as key: value")
    cls = _class_of(manifest, kind)
    try:
        return decoder(cls)(manifest)
    except InputError as error:
        raise error.in_location(_name_of(manifest, cls.KIND)) from None


def part_from_manifest(cls: type[T], part: Any) -> T:
    """A value of any class of this package from its part of a manifest: ``part_from_manifest(NodeAffinity,
    {…})``.

    Raises :class:`InputError`, with the path from there.
    """
    return decoder(cls)(part)


def part_to_manifest(value: object) -> dict[str, Any]:
    """The other way round: what a manifest has for *value*, without empty and default fields."""
    return encoder(type(value))(value)


def to_manifest(obj: ClusterObject) -> dict[str, Any]:
    """The manifest of *obj* as the API server would serve it, without empty and default fields."""
    cls = type(obj)
    return {"apiVersion": cls.API_VERSION, "kind": cls.KIND, **encoder(cls)(obj)}


def _class_of(manifest: Mapping[str, Any], default: str) -> type[ClusterObject]:
    kind = manifest.get("kind") or default
    if not isinstance(kind, str) or not kind:
        raise InputError(
            "kind", f"expected a kind, got {describe(manifest.get('kind'))}", "write a kind such as Pod"
        )
    version = manifest.get("apiVersion")
    cls = KINDS.get(kind)
    if version in _OTHER_SHAPES:
        fix = f"convert the manifest to {_OTHER_SHAPES[version]}"
        raise UnknownKindError("apiVersion", f"{version} is too old to be read", fix)
    if cls is None or not _same_group(version, cls.API_VERSION):
        named = f"{version}/{kind}" if version else kind
        raise UnknownKindError(
            "kind", f"{named} is not a kind that scheduling reads", f"known are {', '.join(KINDS)}"
        )
    return cls


def _same_group(version: object, expected: str) -> bool:
    """Whether *version* is of the group of *expected*; a manifest without a version is taken as meant."""
    if version is None or version == expected:
        return True
    return (
        isinstance(version, str)
        and "/" in expected
        and version.split("/")[0] == expected.split("/", maxsplit=1)[0]
    )


def _name_of(manifest: Mapping[str, Any], kind: str) -> str:
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{kind} {name}" if isinstance(name, str) and name else kind
