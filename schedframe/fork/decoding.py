"""Takes API values, manifests, and objects of other clients alike."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..api import (
    ADMISSION_KINDS,
    CONTROLLER_KINDS,
    ClusterObject,
    Pod,
    Strict,
    UnknownKindError,
    from_manifest,
)
from ..api.foreign import ToDict, manifest_of
from ..api.kinds import kind_label, near_version
from ..api.loading import flattened
from ..errors import InputError, Problems
from .bindings import GivenPlacements

_OTHER_KINDS: Final = (*CONTROLLER_KINDS, *ADMISSION_KINDS)
_OTHERS: Final = frozenset(cls.KIND for cls in _OTHER_KINDS)


def as_object(obj: Any, kinds: Iterable[type[ClusterObject]] = (), *, strict: Strict = True) -> Any:
    """Return an API value, decoded if *obj* is a manifest; *kinds*, *strict* as for :func:`from_manifest`.

    Raises :class:`InputError` for anything else.
    """
    if hasattr(obj, "KIND"):
        return obj
    manifest = manifest_of(obj)
    if isinstance(manifest, Mapping) and manifest.get("kind") in _OTHERS:
        kinds = (*kinds, *_OTHER_KINDS)
    return from_manifest(manifest, kinds=kinds, strict=strict)


def as_pod(obj: Any, *, strict: Strict = True) -> Pod:
    """Return a pod, decoded if *obj* is a manifest. Raises :class:`InputError` for anything else."""
    if isinstance(obj, Pod):
        return obj
    value = as_object(obj, strict=strict) if isinstance(obj, Mapping | ToDict) else obj
    if not isinstance(value, Pod):
        raise InputError("", f"{type(value).__name__} is not a pod", "give a Pod or the manifest of one")
    return value


def as_objects(
    objects: Iterable[Any],
    kinds: Iterable[type[ClusterObject]],
    given: GivenPlacements,
    skipped: Counter[str],
    *,
    strict: Strict,
) -> list[ClusterObject]:
    """Return the API values of *objects*, those of lists among them.

    Placements are added to *given*, and kinds that scheduling does not read are counted in *skipped*. Raises
    :class:`InputErrors` for all that cannot be used.
    """
    values, problems, kinds = [], Problems(), tuple(kinds)
    for obj in (each for listed in objects for each in _members(listed)):
        if isinstance(obj, Mapping) and given.take("", obj):
            continue
        with problems.collecting():
            try:
                values.append(as_object(obj, kinds, strict=strict))
            except UnknownKindError:
                skipped[kind_label(obj)] += 1
                if (near := near_version(obj)) is not None:
                    warnings.warn(str(near), stacklevel=4)
    problems.raise_any()
    return values


def _members(obj: Any) -> Iterator[Any]:
    if hasattr(obj, "KIND"):
        yield obj
    else:
        yield from flattened(manifest_of(obj))


def skipped_note(skipped: Mapping[str, int]) -> str:
    """Return a line about kinds that were skipped, with the number of objects; empty if there are none."""
    if not skipped:
        return ""
    kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(skipped.items()))
    return f"skipped, as scheduling does not read these kinds: {kinds}"
