"""The parts that are played for a cluster, each with the name of its switch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from ..errors import InputError
from .admission import DEEDS, AdmissionPart

ALL: Final = "all"

VOLUMES: Final = "volumes"
EPHEMERAL_CLAIMS: Final = "ephemeral-claims"
RESOURCE_CLAIMS: Final = "resource-claims"
DAEMONS: Final = "daemons"

CONTROLLERS: Final[Mapping[str, str]] = {
    VOLUMES: "binds claims to volumes, and makes volumes of classes with a provisioner",
    EPHEMERAL_CLAIMS: "makes the claims of ephemeral volumes",
    RESOURCE_CLAIMS: "makes resource claims of their templates, and frees the devices of pods that are gone",
    DAEMONS: "makes pods of daemon sets for nodes that are added later",
}
"""Switch → what the part does."""


PARTS: Final[Mapping[str, str]] = {**CONTROLLERS, **{str(part): deed for part, deed in DEEDS.items()}}
"""Switch → what the part does; those of admission have the names of the API server's plugins."""


def names_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the names in texts such as ``volumes,LimitRanger``. Raises :class:`InputError`."""
    names = [name for text in texts for name in text.split(",") if name]
    return chosen(ALL if ALL in names else names)


def of_admission(without: Collection[str]) -> list[AdmissionPart]:
    """Return the parts of admission among the names *without*."""
    return [part for part in AdmissionPart if part in without]


def chosen(without: Any, known: Collection[str] = PARTS) -> frozenset[str]:
    """Return the names in *without*, all of *known* for ``"all"``. Raises :class:`InputError`."""
    if without == ALL:
        return frozenset(known)
    if isinstance(without, str) or not isinstance(without, Collection):
        raise InputError("without", f"{without!r} is no list of parts", 'give names in a list, or "all"')
    for name in without:
        if name not in known:
            close = get_close_matches(str(name), known, n=1)
            fix = f"did you mean {close[0]}?" if close else f"use {', '.join(known)}, or all"
            raise InputError("without", f"there is no part {name}", fix)
    return frozenset(without)
