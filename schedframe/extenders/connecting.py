"""Open a connection: name, socket and TLS, by a deadline."""

from __future__ import annotations

import socket
import ssl
import threading
from time import monotonic

from attrs import define, field, frozen

from .connection import Connection
from .waiting import Broken, Timeout, Wait


@frozen
class Target:
    """Where to connect to."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    """Name in the server's certificate, if not ``host``."""


def connect(target: Target, deadline: float, wait: Wait) -> Connection:
    """Return a new connection. Raises :class:`ExtenderError`.

    Looking up the name has no time limit of its own, so it is done in a thread that is left alone at the
    deadline; it ends when the resolver gives up.
    """
    attempt = _Connecting(target, deadline)
    near, far = socket.socketpair()
    try:
        near.setblocking(False)
        threading.Thread(target=attempt.run, args=(far,), name="schedframe-extender", daemon=True).start()
        wait(near, False, deadline)
        return Connection(attempt.result())
    finally:
        near.close()


@define(eq=False)
class _Connecting:
    """An attempt to connect in another thread."""

    target: Target
    deadline: float
    _lock: threading.Lock = field(factory=threading.Lock)
    _socket: socket.socket | None = None
    _error: Exception | None = None
    _given_up: bool = False

    def run(self, signal: socket.socket) -> None:
        """Connect; then wake the reader of *signal*, which is closed."""
        try:
            sock = self._connect()
        except (OSError, ValueError) as error:
            self._error = error
        else:
            with self._lock:
                if self._given_up:
                    sock.close()
                else:
                    self._socket = sock
        signal.close()

    def _connect(self) -> socket.socket:
        target = self.target
        left = max(0.001, self.deadline - monotonic())
        sock = socket.create_connection((target.host, target.port), timeout=left)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if target.tls is not None:
                sock.settimeout(max(0.001, self.deadline - monotonic()))
                sock = target.tls.wrap_socket(sock, server_hostname=target.server_name or target.host)
            sock.setblocking(False)
        except BaseException:
            sock.close()
            raise
        return sock

    def result(self) -> socket.socket:
        """Return the socket. Raises :class:`ExtenderError` if there is none by now; then none is kept."""
        with self._lock:
            self._given_up = True
            if self._socket is not None:
                return self._socket
        if self._error is None or isinstance(self._error, TimeoutError):
            raise Timeout("no connection in time")
        raise Broken(str(self._error)) from self._error
