"""From the bytes of lists and watch events to values, reading only the fields that the values have.

msgspec skips all other fields (managedFields, env, probes, …) without making Python objects of them. What
then is equal in many objects, such as the spec of the pods of one workload, becomes one object
(:mod:`schedframe.api.codec`).

No object ends the reading of others: what the decoder in C refuses is read once more without recursion
(:mod:`.json_scan`), and what cannot be read then becomes an :class:`.Unreadable`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from types import GenericAlias
from typing import Any, Final, NamedTuple, TypedDict, Union, get_args, get_origin, get_type_hints

import attrs
import msgspec

from ..._base.brief import shortened
from ...api import ClusterObject
from ...api._wire import WIRE, Wire
from ...api.codec import decoder
from ...api.quantity import Quantity
from ...errors import ClusterError
from . import json_scan
from .unreadable import Marked, Unreadable, marked, read_in_part

logger = logging.getLogger("schedframe.kubernetes")

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""Annotation that repeats the whole manifest; no plugin reads it."""

UNREAD: Final[Mapping[str, frozenset[str]]] = {
    "ContainerStatus": frozenset({"image", "imageID", "ready", "restartCount", "started"}),
    "NodeCondition": frozenset({"lastHeartbeatTime", "message"}),
    "NodeSpec": frozenset({"podCIDR", "podCIDRs", "providerID"}),
    "NodeStatus": frozenset({"addresses", "phase"}),
    "PodStatus": frozenset({"hostIP", "message", "podIP"}),
}
"""Class → fields that the values have and no plugin reads; on a real cluster they often change."""

BOOKMARK: Final = "BOOKMARK"
DELETED: Final = "DELETED"
ERROR: Final = "ERROR"
LISTED: Final = "LISTED"
"""Type of the bookmark that ends the initial events of a streaming list."""

UNREADABLE: Final = "UNREADABLE"
"""Type of an event with an :class:`.Unreadable`, whatever happened to the object."""

_END_OF_LIST: Final = "k8s.io/initial-events-end"
"""Annotation of that bookmark."""


class Page(NamedTuple):
    """A part of a list."""

    objects: list[Any]
    version: str
    more: str
    """Token of the next page, empty at the end."""
    unreadable: list[Unreadable]


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Problem(msgspec.Struct):
    code: int = 0
    message: str = ""


class _Head(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _RawList(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class WatchFailure(ClusterError):
    """The server ended a watch with an error; ``code`` is that of HTTP."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Decoder:
    """Decoder of one kind.

    *version*: the ``apiVersion`` of the objects, for kinds that read several; items of lists do not have it.
    """

    def __init__(self, cls: type[ClusterObject], version: str = "") -> None:
        described: Any = cls  # for the type checker a class of attrs is not hashable
        shape = _shape(described)
        self._kind, self._version = cls.KIND, version
        self._value = decoder(cls)
        self._shape = shape
        self._object: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape)
        listed = msgspec.defstruct("Listed", [("metadata", _ListMeta), ("items", list[shape] | None, None)])  # type: ignore[valid-type]  # shape is a type made at run time
        self._list: msgspec.json.Decoder[Any] = msgspec.json.Decoder(listed)
        self._head = msgspec.json.Decoder(_Head)
        self._marked = msgspec.json.Decoder(Marked)
        self._unreadable: set[str] = set()
        """Keys of objects whose last state could not be read; each is logged once."""

    def one(self, body: bytes | msgspec.Raw, *, in_part: bool = False) -> Any:
        """Return one object. Raises :class:`ClusterError` for what is none, or cannot be read.

        *in_part*: return what can be read of it.
        """
        try:
            return self._make(self._object.decode(body))
        except Exception as error:  # noqa: BLE001 - RecursionError, UnicodeDecodeError, what a class raises
            read = self._read_again(body, error)
        if not isinstance(read, Unreadable):
            return read
        if in_part and read.part is not None:
            return read.part
        raise ClusterError(f"the API server sent a {self._kind} that cannot be read: {read.problem}")

    def page(self, body: bytes) -> Page:
        """Return the objects of a list; those that cannot be read are logged, and apart from the others."""
        try:
            read = self._list.decode(body)
        except Exception:  # noqa: BLE001 - one object of an unexpected form must not hide all others
            return self._page_of_each(body)
        objects, unreadable = [], []
        for manifest in read.items or ():
            try:
                objects.append(self._make(manifest))
            except Exception as error:  # noqa: BLE001 - as in one()
                unreadable.append(self._in_part(manifest, error))
        return self._page(objects, unreadable, read.metadata)

    def _page_of_each(self, body: bytes) -> Page:
        """Return the same as :meth:`page`, decoding each object by itself."""
        metadata, raw = self._split_list(body)
        objects, unreadable = list[Any](), list[Any]()
        for each in raw:
            try:
                found = self._read(each)
            except ClusterError as error:
                logger.warning("an item of a list of %s is left out: %s", self._kind, error)
                continue
            (unreadable if isinstance(found, Unreadable) else objects).append(found)
        return self._page(objects, unreadable, metadata)

    def _page(self, objects: list[Any], read_in_part: list[Any], metadata: _ListMeta) -> Page:
        unreadable = []
        for each in read_in_part:
            if isinstance(each, Unreadable):
                self._log(each)
                unreadable.append(each)
            else:
                objects.append(each)
        if self._unreadable:
            self._unreadable.difference_update([obj.key for obj in objects])
        return Page(objects, metadata.resource_version, metadata.continue_, unreadable)

    def _split_list(self, body: bytes) -> tuple[_ListMeta, list[Any]]:
        """Return the metadata and the JSON of each item. Raises :class:`ClusterError` for what is no list."""
        try:
            read = msgspec.json.decode(body, type=_RawList)
            return read.metadata, read.items or []
        except Exception:  # noqa: BLE001 - an item is too deep for the decoder in C
            try:
                parts = dict(json_scan.members(body))
                metadata = msgspec.json.decode(parts.get("metadata", b""), type=_ListMeta)
                items = parts.get("items", b"null")
                return metadata, [] if items == b"null" else [each.value for each in json_scan.members(items)]
            except ValueError as error:
                raise ClusterError(
                    f"the API server sent a list of {self._kind} that cannot be read: {error}"
                ) from None

    def event(self, line: bytes) -> tuple[str, Any]:
        """Return type and object of a watch event; of a bookmark the resource version instead.

        Of an object that was deleted only the metadata is read (:class:`Marked`). An object that cannot be
        read is logged, and comes as :class:`Unreadable` with the type :data:`UNREADABLE`. Raises
        :class:`WatchFailure` for an event of the type ERROR, :class:`ClusterError` for half a line.
        """
        type, raw = self._head_of(line)
        if type == DELETED:
            gone = self._marked_of(raw)
            self._unreadable.discard(gone.key)
            return DELETED, gone
        if type == BOOKMARK:
            metadata = self._marked_of(raw).metadata
            type = LISTED if _END_OF_LIST in (metadata.annotations or ()) else BOOKMARK
            return type, metadata.resource_version
        if type == ERROR:
            raise _failure_of(raw)
        obj = self._read(raw)
        if isinstance(obj, Unreadable):
            self._log(obj)
            return (UNREADABLE, obj) if obj.metadata.name else (BOOKMARK, obj.metadata.resource_version)
        if self._unreadable:
            self._unreadable.discard(obj.key)
        return type, obj

    def _head_of(self, line: bytes) -> tuple[str, Any]:
        """Return the type of an event and the JSON of its object."""
        try:
            head = self._head.decode(line)
            return head.type, head.object
        except Exception:  # noqa: BLE001 - the object is skipped here, and may be too deep for that
            try:
                parts = dict(json_scan.members(line))
                return json_scan.read(parts["type"]), parts["object"]
            except (ValueError, KeyError) as error:
                raise ClusterError(f"a watch event of {self._kind} cannot be read: {error}") from None

    def _marked_of(self, raw: bytes | msgspec.Raw) -> Marked:
        try:
            return self._marked.decode(raw)
        except Exception:  # noqa: BLE001 - as in one()
            return marked(self._scanned(raw))

    def _read(self, raw: bytes | msgspec.Raw) -> Any:
        """Return the value, or :class:`Unreadable`."""
        try:
            return self._make(self._object.decode(raw))
        except Exception as error:  # noqa: BLE001 - as in one()
            return self._read_again(raw, error)

    def _read_again(self, raw: bytes | msgspec.Raw, error: Exception) -> Any:
        """Return the value or :class:`Unreadable`, from what the decoder in C refused."""
        manifest = self._scanned(raw)
        if not isinstance(manifest, dict):
            raise ClusterError(f"the API server sent a {self._kind} that is no object") from None
        try:
            manifest = msgspec.convert(manifest, self._shape)  # without the fields that are not read
        except Exception as mistake:  # noqa: BLE001 - then its mistake is looked for field by field
            logger.debug("%s: %s", self._kind, mistake)
        return self._in_part(manifest, error)

    def _scanned(self, raw: bytes | msgspec.Raw) -> Any:
        try:
            return json_scan.read(bytes(raw))
        except json_scan.JsonError as error:
            raise ClusterError(f"the API server sent a {self._kind} that cannot be read: {error}") from None

    def _in_part(self, manifest: dict[str, Any], error: Exception) -> Any:
        return read_in_part(self._kind, self._make, manifest, error)

    def _log(self, left: Unreadable) -> None:
        """Log once that an object is left out."""
        if left.key not in self._unreadable:
            self._unreadable.add(left.key)
            key = shortened(left.key)
            logger.warning("%s %s is left out: it cannot be read: %s", self._kind, key, left.problem)

    def _make(self, manifest: dict[str, Any]) -> Any:
        metadata = manifest.get("metadata")
        if type(metadata) is dict:
            annotations = metadata.get("annotations")
            if annotations and type(annotations) is dict:
                annotations.pop(LAST_APPLIED, None)
        if self._kind == "Pod":
            spec = manifest.get("spec")
            if type(spec) is dict:
                _drop_plain_volumes(spec)
        if self._version:
            manifest["apiVersion"] = self._version
        return self._value(manifest)


def _failure_of(raw: bytes | msgspec.Raw) -> WatchFailure:
    """Return the error that the server ended a watch with."""
    try:
        problem = msgspec.json.decode(raw, type=_Problem)
    except (ValueError, RecursionError) as error:
        return WatchFailure(0, f"an error that cannot be read: {error}")
    return WatchFailure(problem.code, problem.message)


def _drop_plain_volumes(spec: dict[str, Any]) -> None:
    """Drop volumes of which scheduling reads the name alone: tokens, secrets, empty directories.

    The name of the token's volume is random, so with it no two pods of a workload have equal specs.
    """
    volumes = spec.get("volumes")
    if volumes and type(volumes) is list:
        # Null is an entry without a field, as Go reads it.
        spec["volumes"] = [each for each in volumes if each is not None and _says_more(each)]


def _says_more(volume: Any) -> bool:
    return type(volume) is not dict or len(volume) > 1


@cache
def _shape(cls: Any) -> Any:
    """Return the type for msgspec with the fields of *cls*: nested as the class is, leaves of any type."""
    hints = get_type_hints(cls)
    members: dict[str, Any] = {}
    for attribute in attrs.fields(cls):
        declared = attribute.metadata.get(WIRE) or Wire()
        if declared.skip:
            continue
        head, *rest = attribute.name.split("_")
        key = declared.name or head + "".join(part.capitalize() for part in rest)
        if key in UNREAD.get(cls.__name__, ()):
            continue
        members[key] = _nested(hints[attribute.name]) if declared.decode is None else Any
    if cls.__name__ == "Pod":
        members["spec"] = _shape(hints["spec"]) | None
    return TypedDict(cls.__name__, members, total=False)  # type: ignore[operator]  # the functional form


def _nested(hint: Any) -> Any:
    if hint is not Quantity and isinstance(hint, type) and attrs.has(hint):
        return _shape(hint) | None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        inner = _nested(arguments[0])
        return GenericAlias(list, (inner,)) | None if inner is not Any else Any
    if origin is Mapping or origin is dict:
        inner = _nested(arguments[1])
        return GenericAlias(dict, (str, inner)) | None if inner is not Any else Any
    if origin is Union or type(hint).__name__ == "UnionType":
        kinds = [each for each in arguments if each is not type(None)]
        if len(kinds) == 1:
            return _nested(kinds[0])
    return Any
