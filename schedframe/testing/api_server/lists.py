"""Lists in pages: all pages of one list show the objects of one resource version."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from .kinds import ServedKind
from .refusals import Refusal
from .requests import Request
from .selectors import Matcher, field_matcher, label_matcher
from .store import Store
from .watching import version_of

Obj = dict[str, Any]


class _Token(msgspec.Struct):
    """Place where a list goes on: after *key*, at *version*."""

    version: int
    key: str


def matcher_of(request: Request) -> Matcher:
    """Return what a list or watch selects: by namespace, name, fields and labels."""
    fields = field_matcher(request.query.get("fieldSelector", ""))
    labels = label_matcher(request.query.get("labelSelector", ""))
    namespace = request.namespace

    def selects(obj: Any) -> bool:
        if namespace and obj["metadata"].get("namespace") != namespace:
            return False
        return fields(obj) and labels(obj)

    return selects


def page_of(store: Store, kind: ServedKind, request: Request) -> Obj:
    """Return a page. Raises :class:`Refusal`, with 410 for a page of a list whose history is compacted."""
    query = request.query
    selects, limit = matcher_of(request), int(query.get("limit") or 0)
    with store.lock:
        given = query.get("resourceVersion", "")
        if given and version_of(given) > store.version:
            raise Refusal(504, f"Timeout: Too large resource version: {given}, current: {store.version}")
        token = _read_token(query.get("continue", ""))
        version = token.version if token is not None else store.version
        objects = store.at(kind, version)
    keys = sorted(key for key, obj in objects.items() if selects(obj))
    if token is not None:
        keys = [key for key in keys if key > token.key]
    more: Obj = {}
    if limit and len(keys) > limit:
        more = {
            "continue": _token_text(_Token(version, keys[limit - 1])),
            "remainingItemCount": len(keys) - limit,
        }
        keys = keys[:limit]
    return {
        "kind": f"{kind.kind}List",
        "apiVersion": kind.api_version,
        "metadata": {"resourceVersion": str(version)} | more,
        "items": [_without_kind(objects[key]) for key in keys],
    }


def _without_kind(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def _token_text(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode()


def _read_token(text: str) -> _Token | None:
    if not text:
        return None
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=_Token)
    except (msgspec.MsgspecError, binascii.Error):
        raise Refusal(400, "continue key is not valid") from None
