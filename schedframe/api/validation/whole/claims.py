"""Claims of volumes: access modes, amounts and data sources.

Source of the rules: ``ValidatePersistentVolumeClaimSpec`` of pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from .reading import mapping, quantity, sequence, text

_ALONE: Final = "ReadWriteOncePod"
_CLAIM: Final = "PersistentVolumeClaim"


def check_claim_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a claim over several fields, and of its amount."""
    yield from check_access_modes(spec)
    written = mapping(mapping(spec, "resources"), "requests").get("storage")
    amount = None if written is None else quantity(written)
    if amount is not None and amount.nano <= 0:
        path = "resources.requests.storage"
        yield InputError(path, f"{described(written)} is not above 0", "write an amount such as 1Gi")
    yield from _data_sources(spec)


def check_access_modes(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the error of an access mode that goes with no other one."""
    modes = {mode for mode in sequence(spec, "accessModes") if isinstance(mode, str)}
    if _ALONE in modes and len(modes) > 1:
        problem = f"{_ALONE} does not go with other access modes"
        yield InputError("accessModes", problem, f"write {_ALONE} alone, or leave it out")


def _data_sources(spec: Mapping[str, Any]) -> Iterator[InputError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for key, value in (("dataSource", source), ("dataSourceRef", reference)):
        if isinstance(value, Mapping) and (error := _kind_problem(value)) is not None:
            yield error.at(key)
    if not isinstance(source, Mapping) or not isinstance(reference, Mapping):
        return
    if text(reference, "namespace"):
        problem = "there is a dataSourceRef with a namespace, too"
        yield InputError("dataSource", problem, "leave dataSource out")
    elif any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        problem = "it differs from dataSourceRef"
        yield InputError("dataSource", problem, "leave dataSource out, or write the same in both")


def _kind_problem(source: Mapping[str, Any]) -> InputError | None:
    """Return the error of a data source in the core group that is no claim."""
    kind = text(source, "kind")
    if text(source, "apiGroup") or not kind or kind == _CLAIM:
        return None
    problem = f"without an apiGroup, {described(kind)} is no source of data"
    return InputError("", problem, f"write the apiGroup, or kind: {_CLAIM}")
