"""Objects of other Python clients as manifests.

Whatever has a ``to_dict`` is taken: models of the ``kubernetes`` client, whose dictionaries have keys in
snake case, and those whose dictionaries are manifests. Keys of fields are
compared with the published ones; keys of labels, amounts and other maps stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Protocol, runtime_checkable

from .validation.published import OBJECT_META, published_types

_MODEL: Final = re.compile(r"^(?:[A-Z][A-Za-z]*?)?V\d+(?:(?:alpha|beta)\d+)?(?=[A-Z])")
"""What stands before the kind in the name of a model's class: ``V1``, ``CoreV1``, ``V1beta1``."""
_LIST: Final = "List"
_SNAKE: Final = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")
REQUEST: Final = "resource.v1.DeviceRequest"
EXACT: Final = "resource.v1.ExactDeviceRequest"
_OLDER: Final[Mapping[str, Mapping[str, str]]] = {
    REQUEST: {},
    "resource.v1.Device": {"basic": "resource.v1.Device"},
}
"""Type → fields of older versions. A request had all those of an exact one."""


@runtime_checkable
class ToDict(Protocol):
    """An object of another client, with its manifest as a dictionary."""

    def to_dict(self) -> Any:
        """Return the manifest, with keys in camel case or in snake case."""


def manifest_of(obj: Any) -> Any:
    """Return the manifest of an object of another client; *obj* itself if it is none. O(size of the object).

    An object that does not say its kind has that of its class: ``V1Pod`` and ``Pod`` are both a Pod.
    """
    if isinstance(obj, Mapping) or not isinstance(obj, ToDict) or isinstance(obj, type):
        return obj
    data = obj.to_dict()
    if not isinstance(data, Mapping):
        return obj
    kind = data.get("kind") or _MODEL.sub("", type(obj).__name__)
    made = _fields(data, {"apiVersion": "s", "kind": "s", "metadata": OBJECT_META})
    items = made.get("items")
    if kind.endswith(_LIST) and isinstance(items, list):
        made["items"] = [_typed(each, kind.removesuffix(_LIST)) for each in items]
        return {"kind": kind, **made}
    return _typed({"kind": kind, **made}, kind)


def _typed(data: Any, kind: str) -> Any:
    name = _types_of_kinds().get(kind)
    if name is not None and isinstance(data, Mapping):
        return _fields(data, {"apiVersion": "s", "kind": "s", **published_types()[name]})
    return data


@cache
def _types_of_kinds() -> Mapping[str, str]:
    """Return kind → its published type; of several versions, that of the last."""
    return {
        name.rpartition(".")[2]: name for name, fields in published_types().items() if "metadata" in fields
    }


def _value(value: Any, code: str) -> Any:
    """Return a value of the published type *code* as it is in manifests."""
    if isinstance(value, list | tuple):
        return [_value(each, code.removeprefix("[")) for each in value]
    if not isinstance(value, Mapping):
        return value
    if code.startswith("{"):
        return {key: _value(each, code[1:]) for key, each in value.items()}
    fields = _fields_of(code)
    return dict(value) if fields is None else _fields(value, fields)


@cache
def _fields_of(name: str) -> Mapping[str, str] | None:
    """Return the fields of a published type, with those of its older versions; ``None`` if it has none."""
    types = published_types()
    fields = types.get(name)
    if fields is None or name not in _OLDER:
        return fields
    return {**_OLDER[name], **(types[EXACT] if name == REQUEST else {}), **fields}


def _fields(data: Mapping[Any, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """Return *data* with the names of *fields*, without nulls. Unknown names come in camel case, too."""
    names = {name.lower(): name for name in fields}
    made = {}
    for key, value in data.items():
        if value is not None:
            text = str(key)
            name = names.get(text.replace("_", "").lower()) or _SNAKE.sub(lambda m: m[1].upper(), text)
            made[name] = _value(value, fields.get(name, "a"))
    return made
