"""Values that must have one of several fields, such as the source of a volume."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ....errors import InputError
from ..cluster_fields import GROUP_VERSIONS, VOLUME_SOURCES
from .reading import mapping

Check = Callable[[Mapping[str, Any]], Iterator[InputError]]

_MOST_NAMED: Final = 4
"""Fields that the fix for a missing one names."""
_EMPTY: Final[tuple[Any, ...]] = (None, "", [])


def one_of(*keys: str, path: str = "") -> Check:
    """Return the check that a value, or its part at *path*, has one of the fields *keys*."""
    named = keys if len(keys) <= _MOST_NAMED else (keys[0], keys[-1])
    fix = f"write {' or '.join(named)}" if named is keys else f"write one, such as {' or '.join(named)}"

    def check(value: Mapping[str, Any]) -> Iterator[InputError]:
        part = mapping(value, path) if path else value
        if (part or not path) and all(part.get(key) in _EMPTY for key in keys):
            yield InputError(path, f"none of {', '.join(keys)} is there", fix)

    return check


UNIONS: Final[Mapping[str, Check]] = {
    "core.v1.FlockerVolumeSource": one_of("datasetName", "datasetUUID"),
    "core.v1.PersistentVolume": one_of(*VOLUME_SOURCES, path="spec"),
    "resource.v1.DeviceRequest": one_of("exactly", "firstAvailable"),
    "resource.v1.DeviceConstraint": one_of("matchAttribute", "distinctAttribute"),
    "resource.v1.ResourceSliceSpec": one_of("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"),
    **{
        f"{version}.{name}": one_of(*keys)
        for version in GROUP_VERSIONS
        for name, keys in (
            ("PodGroupResourceClaim", ("resourceClaimName", "resourceClaimTemplateName")),
            ("PodGroupSchedulingPolicy", ("basic", "gang")),
        )
    },
    "storage.v1.VolumeAttachmentSource": one_of("persistentVolumeName", "inlineVolumeSpec"),
}
"""Published type → its check."""
