"""Requests to answers over HTTP, with the faults in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec
from aiohttp import web
from attrs import field

from ..._base.value import record
from .access import AccessRules
from .binary import BINARY, in_binary
from .faults import OF_STREAMS, Fault, FaultKind, Faults
from .kinds import ServedKind
from .lists import matcher_of, page_of
from .objects import Objects
from .refusals import Refusal
from .requests import Request, read_path
from .watching import WatchStream, watch_options

Obj = dict[str, Any]
Hook = Callable[[Request], None]
"""Looks at a request before it takes effect; raises :class:`Refusal` to refuse it."""

_HEALTH: Final = frozenset({"/healthz", "/livez", "/readyz"})
_VERSION: Final = {"major": "1", "minor": "36", "gitVersion": "v1.36.0-double"}
_METADATA_ONLY: Final = "as=PartialObjectMetadata"
_SUCCESS: Final[Obj] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

_encode: Final = msgspec.json.Encoder().encode


@record(eq=False)
class Handler:
    """Answers the requests of all connections. It belongs to the thread of the loop."""

    objects: Objects
    kinds: dict[str, ServedKind]
    """Path of the collection of all namespaces → kind."""
    faults: Faults
    access: AccessRules
    requests: list[Request]
    hooks: list[Hook]
    bookmark_seconds: float
    closing: asyncio.Event = field(factory=asyncio.Event, init=False)
    """Set when the server ends, for the requests that hang."""

    async def __call__(self, raw: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        try:
            request = self._read(raw, await raw.read())
        except Refusal as refusal:
            return _response(refusal.status, refusal.manifest(), raw.headers.get("Accept", ""))
        self.requests.append(request)
        fault = self.faults.take(request)
        if fault is None or fault.kind in OF_STREAMS:
            return await self._answer(raw, request, fault)
        return await self._go_wrong(raw, request, fault)

    def _read(self, raw: web.BaseRequest, body: bytes) -> Request:
        try:
            request = read_path(raw.method, raw.path, raw.query, self.kinds)
        except Refusal:
            if raw.method != "GET" or self._document(raw.path) is None:
                raise
            request = Request("", raw.path, query=raw.query)
        request.accept = raw.headers.get("Accept", "")
        request.content_type = raw.headers.get("Content-Type", "").partition(";")[0]
        request.user = self.access.user_of(raw.headers.get("Authorization", ""))
        if body:
            try:
                request.body = msgspec.json.decode(body)
            except msgspec.DecodeError as error:
                raise Refusal(400, f"the body of the request cannot be read: {error}") from None
        return request

    async def _go_wrong(self, raw: web.BaseRequest, request: Request, fault: Fault) -> web.StreamResponse:
        answer = await self._answer(raw, request) if fault.applied and request.verb != "watch" else None
        if fault.kind is FaultKind.DELAY:
            await asyncio.sleep(fault.seconds)
            return answer if answer is not None else await self._answer(raw, request)
        if fault.kind is FaultKind.ANSWER:
            refusal = Refusal(fault.status, "a fault that was asked for")
            request.status = fault.status
            return _response(fault.status, refusal.manifest(), request.accept, fault.retry_after)
        if fault.kind is FaultKind.PAGE:
            request.status = 200
            return web.Response(text="<html>Sign in</html>", content_type="text/html")
        request.status = None
        if fault.kind is FaultKind.HANG:
            await self.closing.wait()
        if raw.transport is not None:
            raw.transport.abort()
        return web.Response()

    async def _answer(
        self, raw: web.BaseRequest, request: Request, fault: Fault | None = None
    ) -> web.StreamResponse:
        """Carry the request out, and return the answer."""
        try:
            self.access.check(request)
            for hook in tuple(self.hooks):
                hook(request)
            if request.verb == "watch" and request.kind is not None:
                options = watch_options(request, self.objects.store, self.bookmark_seconds)
                selects = matcher_of(request)
                request.status = 200
                store = self.objects.store
                stream = WatchStream(store, request.kind, selects, options, fault, self.closing, raw)
                return await stream.run()
            request.status, document = self._carry_out(request)
        except Refusal as refusal:
            request.status, document = refusal.status, refusal.manifest()
        if _METADATA_ONLY in request.accept and "uid" in document.get("metadata", {}):
            document = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": document["metadata"],
            }
        return _response(request.status, document, request.accept)

    def _carry_out(self, request: Request) -> tuple[int, Obj]:
        kind, objects = request.kind, self.objects
        if kind is None:
            return 200, self._document(request.path) or {}
        if request.verb == "list":
            return 200, page_of(objects.store, kind, request)
        if kind.namespaced and not request.namespace:
            raise Refusal(404, "the server could not find the requested resource")
        if request.verb == "create" and not request.subresource:
            return 201, objects.create(kind, request.namespace, _manifest(request))
        key = kind.key(request.namespace, request.name)
        if request.verb == "get":
            return 200, objects.get(kind, key)
        if request.verb == "update":
            return 200, objects.update(kind, key, _manifest(request), request.subresource)
        if request.verb == "patch":
            patch, form = request.body, request.content_type
            return 200, objects.patch(kind, key, patch, form, request.subresource)
        if request.verb == "delete" and not request.subresource:
            return 200, objects.delete(kind, key, request.body) or _SUCCESS
        if request.resource == "pods/binding" and request.verb == "create":
            objects.bind(kind, key, _manifest(request))
            return 201, _SUCCESS
        if request.resource == "pods/eviction" and request.verb == "create":
            return 201, objects.delete(kind, key, _manifest(request).get("deleteOptions")) or _SUCCESS
        raise Refusal(405, f"{request.verb} of {request.resource} is not served by this double")

    def _document(self, path: str) -> Obj | None:
        """Return a document that is no object: the version, health, what is served; ``None`` for no path."""
        if path in _HEALTH:
            return {"status": "ok"}
        if path == "/version":
            return _VERSION
        served = [kind for kind in self.kinds.values() if kind.base == path.rstrip("/")]
        if not served:
            return None
        resources: list[Obj] = []
        for kind in served:
            described = {"name": kind.plural, "kind": kind.kind, "namespaced": kind.namespaced}
            resources.append(described)
            if kind.has_status:
                resources.append(described | {"name": f"{kind.plural}/status"})
        version = served[0].api_version
        return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}


def _manifest(request: Request) -> Obj:
    if not isinstance(request.body, dict):
        raise Refusal(400, "the body of the request is no object")
    return request.body


def _response(
    status: int | None, document: Obj, accept: str, retry_after: float | None = None
) -> web.Response:
    is_binary = accept.startswith(BINARY)
    headers = {"Content-Type": BINARY if is_binary else "application/json"}
    if retry_after is not None:
        headers["Retry-After"] = f"{retry_after:g}"
    body = in_binary(document) if is_binary else _encode(document)
    return web.Response(status=status or 200, body=body, headers=headers)
