"""Takes API values and manifests alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api import ADMISSION_KINDS, CONTROLLER_KINDS, ClusterObject, Pod, Strict, from_manifest
from ..errors import InputError

_OTHER_KINDS: Final = (*CONTROLLER_KINDS, *ADMISSION_KINDS)
_OTHERS: Final = frozenset(cls.KIND for cls in _OTHER_KINDS)


def as_object(obj: Any, kinds: Iterable[type[ClusterObject]] = (), *, strict: Strict = True) -> Any:
    """Return an API value, decoded if *obj* is a manifest; *kinds*, *strict* as for :func:`from_manifest`.

    Raises :class:`InputError` for anything else.
    """
    if hasattr(obj, "KIND"):
        return obj
    if isinstance(obj, Mapping) and obj.get("kind") in _OTHERS:
        kinds = (*kinds, *_OTHER_KINDS)
    return from_manifest(obj, kinds=kinds, strict=strict)


def as_pod(obj: Any, *, strict: Strict = True) -> Pod:
    """Return a pod, decoded if *obj* is a manifest. Raises :class:`InputError` for anything else."""
    value = as_object(obj, strict=strict) if isinstance(obj, Mapping) else obj
    if not isinstance(value, Pod):
        raise InputError("", f"{type(value).__name__} is not a pod", "give a Pod or the manifest of one")
    return value
