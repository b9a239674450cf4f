"""A server that plays extenders: it gives prepared answers, and keeps the requests."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attrs import define, field

Answer = Mapping[str, Any]
"""``status``, ``body`` (JSON) or ``text``, or ``timeout`` or ``close``, as in the conformance data.

``wait``: answer when the server is released.
"""


@define(eq=False)
class Request:
    """One request."""

    server: FakeExtender
    path: str
    method: str
    content_type: str
    body: Any


@define(eq=False)
class FakeExtender:
    """A server on a port of its own. ``answers``: path → answers in order; the last one is repeated."""

    answers: dict[str, list[Answer]] = field(factory=dict)
    tls: ssl.SSLContext | None = None
    """Serve HTTPS with these settings."""
    requests: list[Request] = field(factory=list)
    """All of all servers that share this list, in order."""
    connections: int = 0
    """Connections that were opened."""
    asked: threading.Event = field(factory=threading.Event)
    """Set by the first request."""
    released: threading.Event = field(factory=threading.Event)
    """Set to let go of requests that wait for it."""
    _server: ThreadingHTTPServer = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        if self.tls is not None:
            # The handshake belongs to the thread of the connection, not to the one that accepts.
            self._server.socket = self.tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"{'http' if self.tls is None else 'https'}://127.0.0.1:{self._server.server_port}"

    def next_answer(self, path: str) -> Answer:
        """The answer to the present request for *path*."""
        answers = self.answers.get(path) or [{"status": 404}]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def close(self) -> None:
        """Stop; requests that wait for an answer get none."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


_LOCK = threading.Lock()


def _handler(extender: FakeExtender) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            extender.connections += 1

        def handle(self) -> None:
            with suppress(ssl.SSLError, ConnectionError):  # a client that is refused, or refuses
                super().handle()

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            with _LOCK:
                request = Request(extender, self.path, "POST", self.headers["Content-Type"], json.loads(raw))
                extender.requests.append(request)
                answer = extender.next_answer(self.path)
            extender.asked.set()
            if answer.get("timeout") or answer.get("wait"):
                extender.released.wait(60)
            if answer.get("timeout") or answer.get("close"):
                self.close_connection = True
                return
            body = answer["text"] if "text" in answer else json.dumps(answer.get("body"))
            if answer.get("status") == 204:
                self.send_response(204)
                self.end_headers()
                return
            self.send_response(answer.get("status", 200))
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: object) -> None:
            pass

    return Handler
