"""The objects that people edit: manifests as they were written, and workloads in the place of their pods.

A copy of a cluster has objects as an API server stores them, completed by admission and by controllers. A
change is found there, and described for what a person has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from .._base.value import record
from ..api import ClusterObject, CronJob, Pod, PodTemplateSpec, part_to_manifest
from ..api.manifest import to_manifest
from ..api.mounts import Mounts, mounts_of
from ..controllers.owners import makers

MISSING: Final = object()
Lookup = Callable[[str, str], Any]
"""``(kind, key)`` → the object of a cluster, ``None`` without one."""


@record(frozen=True, eq=False)
class Written:
    """Texts that people have written, for the objects of a cluster."""

    given: Mapping[tuple[str, str], ClusterObject]
    """Kind and key → the object as it was given, of those that were completed."""
    find: Lookup
    """The workloads."""

    def manifests(self, before: ClusterObject, after: ClusterObject) -> tuple[ClusterObject, Any, Any] | None:
        """Return the object that a person edits to make *after* of *before*, and its manifest, old and new.

        ``None`` if no edit does it: a controller or an API server adds what the change is about.
        """
        if isinstance(before, Pod) and isinstance(after, Pod):
            owner = self.workload_of(before)
            if owner is not None:
                return _in_template(owner, before, after)
        first, old, new = (
            plain(self.given.get((before.KIND, before.key), before)),
            plain(before),
            plain(after),
        )
        then = merged(first, old, new)
        if not is_same_change((first, then), (old, new)):
            return None
        if isinstance(before, Pod):
            spec = getattr(self.given.get((before.KIND, before.key), before), "spec", before.spec)
            pair = _with_mounts(first["spec"], then["spec"], mounts_of(spec))
            first, then = ({**each, "spec": inner} for each, inner in zip((first, then), pair, strict=True))
        return before, first, then

    def workload_of(self, pod: Pod) -> Any | None:
        """Return the workload with the template that *pod* was made of, ``None`` if it is not known."""
        with_template = [owner for _, owner in makers(pod, self.find) if _template_of(owner) is not None]
        return with_template[-1] if with_template else None


AS_STORED: Final = Written({}, lambda _kind, _key: None)
"""Of a cluster whose objects are as people have written them."""


def plain(obj: ClusterObject) -> dict[str, Any]:
    """Return the manifest of *obj* without what an API server sets."""
    manifest = to_manifest(obj)
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in SERVER_FIELDS}
    return manifest | {"metadata": metadata}


SERVER_FIELDS: Final = ("uid", "resourceVersion", "creationTimestamp")
"""Metadata that the API server sets, at each write or at creation."""


def merged(written: Any, before: Any, after: Any) -> Any:
    """Return *written* with the change from *before* to *after*; *before* has what a server added to it."""
    if before == after:
        return written
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        own = written if isinstance(written, Mapping) else {}
        result = {}
        for key in dict.fromkeys((*own, *after)):
            each = merged(own.get(key, MISSING), before.get(key, MISSING), after.get(key, MISSING))
            if each is not MISSING:
                result[key] = each
        return result
    if isinstance(before, list) and isinstance(after, list):
        items = written if isinstance(written, list) else []
        if len(items) == len(before) == len(after):
            return [merged(*each) for each in zip(items, before, after, strict=True)]
        added = [item for item in before if item not in items]
        return [item for item in after if item not in added]
    return after


def is_same_change(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    """Return whether two values differ as two other ones do, each a pair of old and new."""
    (first, then), (before, after) = one, other
    if before == after:
        return bool(first == then)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        own, new = (each if isinstance(each, Mapping) else {} for each in one)
        return all(
            is_same_change(
                (own.get(key, MISSING), new.get(key, MISSING)),
                (before.get(key, MISSING), after.get(key, MISSING)),
            )
            for key in dict.fromkeys((*before, *after))
        )
    if isinstance(before, list) or isinstance(after, list):
        old, now, bare, full = (each if isinstance(each, list) else [] for each in (*one, *other))
        if len(old) == len(now) == len(bare) == len(full):
            return all(map(is_same_change, zip(old, now, strict=True), zip(bare, full, strict=True)))
        return _moved(old, now) == _moved(bare, full)
    return bool(then == after)


def _moved(old: list[Any], new: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return what went and what came."""
    return [item for item in old if item not in new], [item for item in new if item not in old]


def _template_of(owner: Any) -> PodTemplateSpec | None:
    if isinstance(owner, CronJob):
        return owner.spec.job_template.spec.template
    template = getattr(getattr(owner, "spec", None), "template", None)
    return template if isinstance(template, PodTemplateSpec) else None


def _in_template(owner: Any, before: Pod, after: Pod) -> tuple[ClusterObject, Any, Any] | None:
    """Return *owner* and its manifest before and after the change of its pod."""
    template = _template_of(owner)
    assert template is not None  # workload_of looks for one that has it
    first = plain(owner)
    written, old, new = map(part_to_manifest, (template.spec, before.spec, after.spec))
    spec = merged(written, old, new)
    if not is_same_change((written, spec), (old, new)):
        return None
    written, spec = _with_mounts(written, spec, mounts_of(template.spec))
    outside = ("spec", "jobTemplate") if isinstance(owner, CronJob) else ()
    path = (*outside, "spec", "template", "spec")
    return owner, _replaced(first, path, written), _replaced(first, path, spec)


def _with_mounts(
    before: dict[str, Any], after: dict[str, Any], mounts: Mounts
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return specs of pods with the *mounts* of containers, which go with their volumes, if some go."""
    names, left = ({each["name"] for each in spec.get("volumes", ())} for spec in (before, after))
    gone = names - left
    if not gone or not mounts:
        return before, after
    return _mounting(before, mounts, frozenset()), _mounting(after, mounts, gone)


def _mounting(spec: dict[str, Any], mounts: Mounts, gone: Collection[str]) -> dict[str, Any]:
    result = dict(spec)
    for (member, index, key), names in mounts.items():
        if kept := [{"name": name} for name in names if name not in gone]:
            containers = list(result[member])
            containers[index] = {**containers[index], key: kept}
            result[member] = containers
    return result


def _replaced(manifest: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    return {**manifest, path[0]: _replaced(manifest.get(path[0], {}), path[1:], value)}
