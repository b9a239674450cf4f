"""A tiny HTTP server for probes: ``/healthz`` and ``/livez`` of the process, ``/readyz`` once it works.

Each connection carries one request, and is bounded in number, in the bytes that it sends and in time, so that
clients that hang cannot end the answers to probes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, cast

from attrs import field
from typing_extensions import override

from ..._base.value import record
from ...errors import ClusterError

REQUEST_SECONDS: Final = 5.0
"""Seconds for which a connection is kept: for its request and until its answer is taken."""
LONGEST_HEAD: Final = 16_384
MOST_CONNECTIONS: Final = 64
"""Connections at a time. A further one ends the oldest."""

_REASONS: Final = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


@record(eq=False)
class HealthServer:
    """Answers probes on 127.0.0.1, on a loop that runs in another thread."""

    port: int
    loop: asyncio.AbstractEventLoop
    is_ready: Callable[[], bool]
    _server: asyncio.Server | None = field(default=None, init=False)
    _connections: dict[_Connection, None] = field(factory=dict, init=False)
    """From the oldest to the newest."""

    def start(self) -> None:
        """Listen. Raises :class:`ClusterError` if the port is taken."""
        try:
            self._server = asyncio.run_coroutine_threadsafe(self._listen(), self.loop).result()
        except OSError as error:
            raise ClusterError(f"port {self.port} cannot be listened on: {error.strerror or error}") from None

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self.loop.call_soon_threadsafe(self._server.close)

    async def _listen(self) -> asyncio.Server:
        return await self.loop.create_server(lambda: _Connection(self), "127.0.0.1", self.port)

    def opened(self, connection: _Connection) -> None:
        """Take in a connection; the oldest one is ended if there are too many."""
        if len(self._connections) >= MOST_CONNECTIONS:
            next(iter(self._connections)).end()
        self._connections[connection] = None

    def ended(self, connection: _Connection) -> None:
        """Forget a connection."""
        self._connections.pop(connection, None)

    def answer(self, head: bytes) -> bytes:
        """Return the answer to a request."""
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        code, text = self._answer(method, rest.partition(" ")[0].partition("?")[0])
        body = text.encode()
        return (
            f"HTTP/1.1 {code} {_REASONS[code]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
            + (b"" if method == "HEAD" else body)
        )

    def _answer(self, method: str, path: str) -> tuple[int, str]:
        if method not in ("GET", "HEAD"):
            return 405, "only GET"
        if path in ("/healthz", "/livez"):
            return 200, "ok"
        if path == "/readyz":
            return (200, "ok") if self.is_ready() else (503, "not synced")
        return 404, "there are /healthz, /livez and /readyz"


class _Connection(asyncio.Protocol):
    """One connection, from its beginning to the answer or to the end of its time."""

    def __init__(self, server: HealthServer) -> None:
        self._server = server
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The transport of uvloop has the methods of one of asyncio, not its class.
        self._transport = cast("asyncio.Transport", transport)
        self._timer = self._server.loop.call_later(REQUEST_SECONDS, self._transport.abort)
        self._server.opened(self)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._server.ended(self)
        if self._timer is not None:
            self._timer.cancel()

    @override
    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self._transport.is_closing():
            return
        self._received += data
        head, end, _ = self._received.partition(b"\r\n\r\n")
        if end:
            self._transport.write(self._server.answer(head))
            self._transport.close()
        elif len(self._received) > LONGEST_HEAD:
            self.end()

    def end(self) -> None:
        """End the connection, whatever it still waits for."""
        assert self._transport is not None
        self._server.ended(self)
        self._transport.abort()
