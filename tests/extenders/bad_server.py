"""A program that plays extenders, one under each path; it prints its port. Ends at the end of its input."""

from __future__ import annotations

import socket
import struct
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RELEASED = threading.Event()


class Handler(BaseHTTPRequestHandler):
    """Answers by the first part of the path."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        part = self.path.split("/")[1]
        answer: Callable[[], None] = getattr(self, f"answer_{part}")
        answer()

    def answer_keep(self) -> None:
        """Keep the first node."""
        self._send(b'{"NodeNames": ["node-0"]}')

    def answer_slow(self) -> None:
        """Never answer."""
        RELEASED.wait()
        self.close_connection = True

    def answer_drip(self) -> None:
        """Send the beginning of an answer, and nothing more."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        self.answer_slow()

    def answer_fail(self) -> None:
        """Fail with status 500."""
        self._send(b"out of order", 500)

    def answer_broken(self) -> None:
        """Send what is not JSON."""
        self._send(b'{"NodeNames": ["node-0"')

    def answer_reset(self) -> None:
        """Reset the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def answer_stranger(self) -> None:
        """Keep a node that was not sent."""
        self._send(b'{"NodeNames": ["stranger"]}')

    def _send(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def finish(self) -> None:
        """As inherited; the connection may be reset."""
        try:
            super().finish()
        except OSError:
            self.rfile.close()

    def log_message(self, *args: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    RELEASED.set()
