"""Plugins served as an extender, for a scheduler that is not this one: an ASGI application.

What clients send is bounded: a body in size and time, and all bodies that are read or answered together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from attrs import field
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from .._base.value import record
from ..errors import InputError
from ..framework import ExtenderError
from .guard import Surrounded
from .plugin_extender import PluginExtender

LARGEST_BODY: Final = 1 << 28
"""Bytes of a request; whole nodes of the largest clusters take some ten MB."""
MOST_BYTES: Final = 1 << 30
"""Bytes of all requests that have no answer yet, from which on a request that needs more is refused."""
BODY_SECONDS: Final = 60.0
"""Seconds in which a body must arrive."""
_CLOSE: Final = {"Connection": "close"}
"""Header of the refusal of a body: the rest of it is not read."""


def extender_application(plugins: PluginExtender) -> Any:
    """Return the application: POST to ``/filter``, ``/prioritize``, ``/bind`` and ``/preempt``.

    ``GET /healthz`` answers as long as the server runs.
    """
    bodies = _Bodies()
    calls = (plugins.filter, plugins.prioritize, plugins.bind, plugins.preempt)
    routes = [Route(f"/{call.__name__}", _answering(call, bodies), methods=["POST"]) for call in calls]
    app = Starlette(routes=[Route("/healthz", _healthy), *routes], exception_handlers={404: _absent})
    app.router.redirect_slashes = False
    return Surrounded(app)


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok")


def _absent(*_: object) -> Response:
    return PlainTextResponse("404 page not found\n", 404)


def _answering(call: Callable[[bytes], bytes], bodies: _Bodies) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        with bodies.reading() as read:
            body = await read(request)
            try:
                return Response(await run_in_threadpool(call, body), media_type="application/json")
            except (ExtenderError, InputError) as error:
                return PlainTextResponse(str(error), 500)

    return answer


@record(eq=False)
class _Bodies:
    """The bodies of requests that have no answer yet. All of it belongs to the loop of the server."""

    size: int = field(default=0, init=False)
    """Bytes of all of them."""

    @contextmanager
    def reading(self) -> Iterator[Callable[[Request], Any]]:
        """Return the function that reads a body; it counts until the end of the block."""
        body = bytearray()
        try:
            yield lambda request: self._read(request, body)
        finally:
            self.size -= len(body)

    async def _read(self, request: Request, body: bytearray) -> bytes:
        """Return the body. Raises :class:`HTTPException` for one that exceeds a bound."""
        if int(request.headers.get("Content-Length", "0")) > LARGEST_BODY:
            raise HTTPException(413, headers=_CLOSE)
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for piece in request.stream():
                    body += piece
                    self.size += len(piece)
                    if len(body) > LARGEST_BODY:
                        raise HTTPException(413, headers=_CLOSE)
                    if self.size > MOST_BYTES:
                        raise HTTPException(503, headers=_CLOSE)
        except TimeoutError:
            raise HTTPException(408, headers=_CLOSE) from None
        except ClientDisconnect:
            raise HTTPException(400, headers=_CLOSE) from None  # the answer goes nowhere
        return bytes(body)
