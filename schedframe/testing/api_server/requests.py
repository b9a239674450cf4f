"""Requests as the server reads them: verb, resource and name, out of a method and a path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import field

from ..._base.value import record
from .kinds import ServedKind
from .refusals import Refusal

_VERBS_OF_OBJECTS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VERBS_OF_COLLECTIONS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_OWN_SUBRESOURCES_OF_NAMESPACES: Final = ("status", "finalize")
_TRUE: Final = ("true", "1")


@record(eq=False)
class Request:
    """One request, as recorded in ``ApiServer.requests``."""

    verb: str
    """``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``; empty for other paths."""
    path: str
    kind: ServedKind | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(factory=dict)
    body: Any = None
    """The manifest that was sent, ``None`` without one."""
    content_type: str = ""
    accept: str = ""
    user: str = ""
    """Owner of the bearer token, empty without one."""
    status: int | None = None
    """Code of the answer; ``None`` as long as there is none, or if it was lost."""

    @property
    def resource(self) -> str:
        """The plural, with its subresource: ``pods``, ``pods/binding``."""
        plural = self.kind.plural if self.kind is not None else ""
        return f"{plural}/{self.subresource}" if self.subresource else plural

    @property
    def key(self) -> str:
        """``namespace/name``, or the name of an object without a namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_write(self) -> bool:
        """Return whether it is meant to change something."""
        return self.verb not in ("get", "list", "watch", "")

    def __str__(self) -> str:
        return f"{self.verb or 'get'} {self.resource or self.path} {self.key}".rstrip()


def read_path(method: str, path: str, query: Mapping[str, str], kinds: Mapping[str, ServedKind]) -> Request:
    """Return the request for an object or a collection. Raises :class:`Refusal` for another path.

    *kinds*: path of a collection without a namespace → kind.
    """
    parts = path.strip("/").split("/")
    head = 2 if parts[0] == "api" else 3
    base, rest = "/" + "/".join(parts[:head]), parts[head:]
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _OWN_SUBRESOURCES_OF_NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    kind = kinds.get(f"{base}/{rest[0]}") if rest else None
    if kind is None or len(rest) > 3 or (namespace and not kind.namespaced):
        raise Refusal(404, "the server could not find the requested resource")
    name, subresource = [*rest[1:], "", ""][:2]
    if method == "POST" and subresource:
        verb: str | None = "create"
    else:
        verb = (_VERBS_OF_OBJECTS if name else _VERBS_OF_COLLECTIONS).get(method)
    if verb is None:
        raise Refusal(405, "the server does not allow this method on the requested resource")
    if verb == "list" and query.get("watch") in _TRUE:
        verb = "watch"
    return Request(verb, path, kind, namespace, name, subresource, query)
