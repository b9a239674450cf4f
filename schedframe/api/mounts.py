"""Volumes that the containers of a manifest mount: no field of the objects, as scheduling does not read it.

It is needed where a volume is to go: the mounts go with it, or an API server refuses the pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .podspec import PodSpec

_MOUNTS: Final = object()  # key in PodSpec.memo
LISTS: Final = ("volumeMounts", "volumeDevices")
"""Members of a container that name volumes."""
_CONTAINERS: Final = ("containers", "initContainers")
_TEMPLATE: Final = ("spec", "template", "spec")
_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec",),
    "PodTemplate": ("template", "spec"),
    "CronJob": ("spec", "jobTemplate", *_TEMPLATE),
    **dict.fromkeys(
        ("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"), _TEMPLATE
    ),
}
"""Kind → where its manifest has the spec of pods."""

Mounts = Mapping[tuple[str, int, str], tuple[str, ...]]
"""Member of the spec, index of the container and member of that → names of volumes in order."""


def note_mounts(obj: Any, manifest: Mapping[str, Any]) -> None:
    """Keep the mounts of *manifest*, which was decoded as *obj*, with the spec of its pods."""
    path = _PATHS.get(obj.KIND)
    if path is None:
        return
    spec, raw = obj, manifest
    for key in path:
        spec, inner = getattr(spec, "job_template" if key == "jobTemplate" else key, None), raw.get(key)
        if spec is None or not isinstance(inner, Mapping):
            return
        raw = inner
    if raw.get("volumes"):
        spec.memo[_MOUNTS] = dict(_mounts(raw))


def mounts_of(spec: PodSpec) -> Mounts:
    """Return the mounts that the manifest of *spec* had; none if it was read in another way."""
    mounts: Mounts = spec.memo.get(_MOUNTS, {})
    return mounts


def _mounts(raw: Mapping[str, Any]) -> Iterator[tuple[tuple[str, int, str], tuple[str, ...]]]:
    for member in _CONTAINERS:
        for index, container in enumerate(raw.get(member) or ()):
            for key in LISTS:
                names = tuple(str(each.get("name")) for each in container.get(key) or ())
                if names:
                    yield (member, index, key), names
