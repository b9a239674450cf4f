"""Rules for objects of storage drivers: their nodes, capacities and attachments, and the drivers themselves.

Source of the rules: pkg/apis/storage/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ..rules import check_label_key
from .reading import is_left_out, objects, quantity, sequence, text, texts
from .volumes import driver_problem

_LONGEST_NODE_ID: Final = 256
_SOURCES: Final = ("persistentVolumeName", "inlineVolumeSpec")
_INLINE: Final = ("claimRef", "capacity", "nodeAffinity", "storageClassName")
"""Fields of a volume that one inside an attachment does not have."""


def check_csi_node_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the drivers of a node."""
    seen: set[str] = set()
    for path, driver in objects(spec, "drivers"):
        yield from (error.at(path) for error in _driver_problems(driver))
        name = text(driver, "name")
        if name and name in seen:
            problem = f"the driver {described(name)} is there twice"
            yield InputError("name", problem, "remove one of the two").at(path)
        seen.add(name)


def _driver_problems(driver: Mapping[str, Any]) -> Iterator[InputError]:
    name, node = text(driver, "name"), text(driver, "nodeID")
    if name and (error := driver_problem(name)) is not None:
        yield error.at("name")
    if len(node) > _LONGEST_NODE_ID:
        yield InputError("nodeID", f"it has {len(node)} characters", f"use at most {_LONGEST_NODE_ID}")
    seen: set[str] = set()
    for path, key in texts(driver, "topologyKeys"):
        if (error := check_label_key(key, may_be_empty=False)) is not None:
            yield error.at(path)
        if key in seen:
            yield InputError(path, f"{described(key)} is there twice", "remove one of the two")
        seen.add(key)


def check_storage_capacity(capacity: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the error of a capacity below 0."""
    written = capacity.get("capacity")
    amount = None if written is None else quantity(written)
    if amount is not None and amount.nano < 0:
        yield InputError("capacity", f"{described(written)} is below 0", "write 0 or more")


def check_attachment_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of an attachment."""
    attacher = text(spec, "attacher")
    if attacher and (error := driver_problem(attacher)) is not None:
        yield error.at("attacher")


def check_attachment_source(source: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of what an attachment attaches."""
    if all(not is_left_out(source, key) for key in _SOURCES):
        yield InputError("", f"there are {' and '.join(_SOURCES)}", "write one of the two")
        return
    inline = source.get("inlineVolumeSpec")
    if isinstance(inline, Mapping):
        yield from (error.at("inlineVolumeSpec") for error in _inline_problems(inline))


def _inline_problems(spec: Mapping[str, Any]) -> Iterator[InputError]:
    for key in _INLINE:
        if spec.get(key) not in (None, "", {}):
            yield InputError(key, "a volume inside an attachment has none", "leave it out")
    for key, value in (("persistentVolumeReclaimPolicy", "Retain"), ("volumeMode", "Filesystem")):
        if text(spec, key) not in ("", value):
            problem = f"a volume inside an attachment has {value}, not {described(spec[key])}"
            yield InputError(key, problem, f"write {value}, or leave it out")
    if is_left_out(spec, "csi"):
        yield InputError("csi", "a volume inside an attachment is of a CSI driver", "write csi")
    if not sequence(spec, "accessModes"):
        yield InputError("accessModes", "is missing or empty", "list at least one access mode")


def check_driver_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a storage driver."""
    seen: set[str] = set()
    for path, request in objects(spec, "tokenRequests"):
        audience = text(request, "audience")
        if audience in seen:
            problem = f"two requests have the audience {described(audience)}"
            yield InputError("audience", problem, "remove one of the two").at(path)
        seen.add(audience)
    if not is_left_out(spec, "serviceAccountTokenInSecrets") and not sequence(spec, "tokenRequests"):
        problem = "there are no tokenRequests"
        yield InputError("serviceAccountTokenInSecrets", problem, "write tokenRequests, or leave it out")
