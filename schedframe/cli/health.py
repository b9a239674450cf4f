"""A tiny HTTP server for probes: ``/healthz`` and ``/livez`` of the process, ``/readyz`` once it works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from attrs import define, field

from ..errors import ClusterError

REQUEST_SECONDS: Final = 5.0
"""Seconds in which the head of a request must have arrived."""
LONGEST_HEAD: Final = 16_384

_REASONS: Final = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


@define(eq=False)
class HealthServer:
    """Answers probes on 127.0.0.1, on a loop that runs in another thread."""

    port: int
    loop: asyncio.AbstractEventLoop
    is_ready: Callable[[], bool]
    _server: asyncio.Server | None = field(default=None, init=False)

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
        return await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=LONGEST_HEAD)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), REQUEST_SECONDS)
            method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
            code, text = self._answer(method, target.partition("?")[0])
            body = text.encode()
            writer.write(
                f"HTTP/1.1 {code} {_REASONS[code]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                + (b"" if method == "HEAD" else body)
            )
            await writer.drain()
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # not HTTP, or the client is gone: no answer is possible
        finally:
            writer.close()

    def _answer(self, method: str, path: str) -> tuple[int, str]:
        if method not in ("GET", "HEAD"):
            return 405, "only GET"
        if path in ("/healthz", "/livez"):
            return 200, "ok"
        if path == "/readyz":
            return (200, "ok") if self.is_ready() else (503, "not synced")
        return 404, "there are /healthz, /livez and /readyz"
