"""Names of the parts of admission, by which they are switched off."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from ...errors import InputError


class AdmissionPart(StrEnum):
    """A part of admission; all but the first are admission plugins of the API server, with its names."""

    DEFAULTS = "Defaults"
    LIMIT_RANGER = "LimitRanger"
    PRIORITY = "Priority"
    DEFAULT_TOLERATION_SECONDS = "DefaultTolerationSeconds"
    DEFAULT_STORAGE_CLASS = "DefaultStorageClass"
    RUNTIME_CLASS = "RuntimeClass"
    RESOURCE_QUOTA = "ResourceQuota"


DEEDS: Final[Mapping[AdmissionPart, str]] = {
    AdmissionPart.DEFAULTS: "makes requests of limits, host ports, and selectors of label keys",
    AdmissionPart.LIMIT_RANGER: "gives containers default requests and limits, and checks the bounds",
    AdmissionPart.PRIORITY: "gives pods and pod groups the priority of their class, or of the default class",
    AdmissionPart.DEFAULT_TOLERATION_SECONDS: "lets pods stay on failed nodes for 300 s",
    AdmissionPart.DEFAULT_STORAGE_CLASS: "gives claims the default storage class",
    AdmissionPart.RUNTIME_CLASS: "gives pods overhead, node selector and tolerations of their runtime class",
    AdmissionPart.RESOURCE_QUOTA: "notes which pods and claims a quota would refuse",
}
"""Part → what it does."""


def parts_of(names: Iterable[Any]) -> Collection[AdmissionPart]:
    """Return the parts with these *names*. Raises :class:`InputError` for a name that no part has."""
    given = (names,) if isinstance(names, str) else tuple(names)
    known = {part.value.lower(): part for part in AdmissionPart}
    for name in given:
        if not isinstance(name, str) or name.lower() not in known:
            raise InputError("without", f"there is no admission part {name!r}", f"use {_listed()}")
    return frozenset(known[name.lower()] for name in given)


def _listed() -> str:
    *most, last = AdmissionPart
    return f"{', '.join(most)} or {last}"
