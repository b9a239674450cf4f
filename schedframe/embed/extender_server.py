"""Serves plugins as an extender over HTTP or HTTPS."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from ..errors import InputError
from ..framework import ExtenderError
from .plugin_extender import PluginExtender

__all__ = ["MAX_BODY", "ExtenderServer", "PluginExtender"]

MAX_BODY: Final = 1 << 28
"""Bytes of a request; whole nodes of the largest clusters take some ten MB."""
_MOST_DIGITS: Final = 12
"""Digits of a length that is read as a number: Python reads none of thousands of digits."""
_IDLE_SECONDS: Final = 300.0
"""How long a connection without a request, or without the rest of one, is kept."""


class ExtenderServer(ThreadingHTTPServer):
    """Serves a :class:`PluginExtender` at ``/filter``, ``/prioritize``, ``/bind`` and ``/preempt``.

    ``GET /healthz`` answers as long as the server runs. *tls*: settings of a server, for HTTPS.
    """

    daemon_threads = True
    request_queue_size = 128
    """Connections that wait to be accepted; beyond the five of the base class, clients wait for a second."""

    def __init__(
        self,
        extender: PluginExtender,
        address: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__((address, port), _Handler)
        self.extender = extender
        self.scheme = "http" if tls is None else "https"
        if tls is not None:
            # The handshake is left to the thread of the connection: a slow client must not stop the others.
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _IDLE_SECONDS
    server: ExtenderServer

    def handle(self) -> None:
        """Serve one connection, until the client closes it or is refused."""
        with suppress(ssl.SSLError, ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answer a probe."""
        found = self.path == "/healthz"
        self._answer(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND, b'"ok"' if found else b"")

    def do_POST(self) -> None:
        """Answer a request of a scheduler."""
        length = self.headers.get("Content-Length", "")
        is_number = length.isascii() and length.isdigit()  # isdigit alone accepts ², which is no number
        if not is_number or len(length) > _MOST_DIGITS or int(length) > MAX_BODY:
            self.close_connection = True
            refused = HTTPStatus.REQUEST_ENTITY_TOO_LARGE if is_number else HTTPStatus.LENGTH_REQUIRED
            self._answer(refused, b"")
            return
        body = self.rfile.read(int(length))
        call = self._call()
        if call is None:
            self._answer(HTTPStatus.NOT_FOUND, b"")
            return
        try:
            answer = call(body)
        except (ExtenderError, InputError) as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, str(error).encode())
        else:
            self._answer(HTTPStatus.OK, answer)

    def _call(self) -> Callable[[bytes], bytes] | None:
        extender = self.server.extender
        calls: dict[str, Callable[[bytes], bytes]] = {
            "filter": extender.filter,
            "prioritize": extender.prioritize,
            "bind": extender.bind,
            "preempt": extender.preempt,
        }
        return calls.get(self.path.rstrip("/").rpartition("/")[2])

    def _answer(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing; the other scheduler logs its requests."""
