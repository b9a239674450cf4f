"""From the bytes of lists and watch events to values, reading only the fields that the values have.

msgspec skips all other fields (managedFields, env, probes, …) without making Python objects of them. What
then is equal in many objects, such as the spec of the pods of one workload, becomes one object
(:mod:`schedframe.api.codec`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from types import GenericAlias
from typing import Any, Final, NamedTuple, TypedDict, Union, get_args, get_origin, get_type_hints

import attrs
import msgspec

from ...api import ClusterObject
from ...api._wire import WIRE, Wire
from ...api.codec import decoder
from ...api.quantity import Quantity
from ...errors import ClusterError, InputError

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

_END_OF_LIST: Final = "k8s.io/initial-events-end"
"""Annotation of that bookmark."""


class Page(NamedTuple):
    """A part of a list."""

    objects: list[Any]
    version: str
    more: str
    """Token of the next page, empty at the end."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Problem(msgspec.Struct):
    code: int = 0
    message: str = ""


class _Head(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _ObjectMeta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class Marked(msgspec.Struct):
    """An object of which only the metadata was read."""

    metadata: _ObjectMeta

    @property
    def key(self) -> str:
        """The same as of the whole object: ``namespace/name``, or the name."""
        metadata = self.metadata
        return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


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
        self._object: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape)
        listed = msgspec.defstruct("Listed", [("metadata", _ListMeta), ("items", list[shape] | None, None)])  # type: ignore[valid-type]  # shape is a type made at run time
        self._list: msgspec.json.Decoder[Any] = msgspec.json.Decoder(listed)
        self._head = msgspec.json.Decoder(_Head)
        self._marked = msgspec.json.Decoder(Marked)
        self._unreadable: set[str] = set()
        """Keys of objects whose last state could not be read; each is logged once."""

    def one(self, body: bytes | msgspec.Raw) -> Any:
        """Return one object. Raises :class:`ClusterError` for what is none."""
        try:
            return self._make(self._object.decode(body))
        except msgspec.MsgspecError as error:
            raise ClusterError(f"the API server sent a {self._kind} that cannot be read: {error}") from None

    def page(self, body: bytes) -> Page:
        """Return the objects of a list; those that cannot be read are logged and left out."""
        try:
            try:
                read = self._list.decode(body)
            except msgspec.ValidationError:  # one object of an unexpected form must not hide all others
                return self._page_of_each(body)
        except msgspec.MsgspecError as error:
            raise ClusterError(
                f"the API server sent a list of {self._kind} that cannot be read: {error}"
            ) from None
        objects = []
        for manifest in read.items or ():
            try:
                objects.append(self._make(manifest))
            except ClusterError as error:
                metadata = manifest.get("metadata") or {}
                name, namespace = str(metadata.get("name")), str(metadata.get("namespace") or "")
                self._skip(Marked(_ObjectMeta(name, namespace)), error)
        return Page(objects, read.metadata.resource_version, read.metadata.continue_)

    def _page_of_each(self, body: bytes) -> Page:
        """Return the same as :meth:`page`, decoding each object by itself."""
        read = msgspec.json.decode(body, type=_RawList)
        made = [self._one_or_skip(each) for each in read.items or ()]
        objects = [obj for obj in made if not isinstance(obj, Marked)]
        return Page(objects, read.metadata.resource_version, read.metadata.continue_)

    def event(self, line: bytes) -> tuple[str, Any]:
        """Return type and object of a watch event; of a bookmark the resource version instead.

        Of an object that was deleted only the metadata is read (:class:`Marked`). An object that cannot be
        read is logged and counts as a bookmark, so the last state that could be read stays. Raises
        :class:`WatchFailure` for an event of the type ERROR, :class:`ClusterError` for half a line.
        """
        try:
            head = self._head.decode(line)
            if head.type == DELETED:
                return DELETED, self._marked.decode(head.object)
            if head.type == BOOKMARK:
                metadata = self._marked.decode(head.object).metadata
                type = LISTED if _END_OF_LIST in (metadata.annotations or ()) else BOOKMARK
                return type, metadata.resource_version
            if head.type == ERROR:
                problem = msgspec.json.decode(head.object, type=_Problem)
                raise WatchFailure(problem.code, problem.message)
            obj = self._one_or_skip(head.object)
        except msgspec.MsgspecError as error:
            raise ClusterError(f"a watch event of {self._kind} cannot be read: {error}") from None
        if isinstance(obj, Marked):
            return BOOKMARK, obj.metadata.resource_version
        return head.type, obj

    def _one_or_skip(self, raw: msgspec.Raw) -> Any:
        """Return the value, or :class:`Marked` if only the metadata can be read."""
        try:
            obj = self._make(self._object.decode(raw))
        except (msgspec.ValidationError, ClusterError) as error:
            marked = self._marked.decode(raw)
            self._skip(marked, error)
            return marked
        if self._unreadable:
            self._unreadable.discard(obj.key)
        return obj

    def _skip(self, marked: Marked, error: Exception) -> None:
        """Log that an object is left out: it must not stop all others."""
        if marked.key not in self._unreadable:
            self._unreadable.add(marked.key)
            logger.error("%s %s is left out: %s", self._kind, marked.key, error)

    def _make(self, manifest: dict[str, Any]) -> Any:
        annotations = (manifest.get("metadata") or {}).get("annotations")
        if annotations:
            annotations.pop(LAST_APPLIED, None)
        if self._kind == "Pod":
            _drop_plain_volumes(manifest.get("spec") or {})
        if self._version:
            manifest["apiVersion"] = self._version
        try:
            return self._value(manifest)
        except InputError as error:
            raise ClusterError(f"the API server sent a {self._kind} that cannot be read: {error}") from error


def _drop_plain_volumes(spec: dict[str, Any]) -> None:
    """Drop volumes of which scheduling reads the name alone: tokens, secrets, empty directories.

    The name of the token's volume is random, so with it no two pods of a workload have equal specs.
    """
    if volumes := spec.get("volumes"):
        spec["volumes"] = [volume for volume in volumes if len(volume) > 1]


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
