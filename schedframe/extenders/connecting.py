"""Open a connection: name, socket and TLS, by a deadline."""

from __future__ import annotations

import socket
import ssl
import threading
from time import monotonic
from typing import Final

from attrs import define, field, frozen

from .connection import Connection
from .proxies import Proxy
from .waiting import Broken, Timeout, Wait

_MOST_OF_PROXY: Final = 1 << 13
"""Bytes of the head of a proxy's answer."""


@frozen
class Target:
    """Where to connect to."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    """Name in the server's certificate, if not ``host``."""
    proxy: Proxy | None = None
    """What to connect to in place of ``host``, and with TLS to ask for a tunnel."""


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
        via = target if target.proxy is None else target.proxy
        sock = socket.create_connection((via.host, via.port), timeout=self._left())
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if target.tls is not None:
                if target.proxy is not None:
                    self._open_tunnel(sock, target.proxy)
                sock.settimeout(self._left())
                sock = target.tls.wrap_socket(sock, server_hostname=target.server_name or target.host)
            sock.setblocking(False)
        except BaseException:
            sock.close()
            raise
        return sock

    def _open_tunnel(self, sock: socket.socket, proxy: Proxy) -> None:
        """Ask *proxy* to connect to the target. Raises ``OSError`` if it does not."""
        host = f"[{self.target.host}]" if ":" in self.target.host else self.target.host
        name = f"{host}:{self.target.port}"
        lines = [f"CONNECT {name} HTTP/1.1", f"Host: {name}", "User-Agent: schedframe"]
        if proxy.authorization:
            lines.append(f"Proxy-Authorization: {proxy.authorization}")
        sock.settimeout(self._left())
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            sock.settimeout(self._left())
            # What follows the head belongs to TLS, so no byte more than the head is read.
            byte = sock.recv(1)
            if not byte or len(answer) >= _MOST_OF_PROXY:
                raise OSError("the answer of the proxy to CONNECT is cut off or too long")
            answer += byte
        first = answer.partition(b"\r\n")[0]
        if not first.startswith(b"HTTP/1.") or first.split()[1:2] != [b"200"]:
            raise OSError(f"the proxy did not connect: {first[:80].decode('latin-1')}")

    def _left(self) -> float:
        return max(0.001, self.deadline - monotonic())

    def result(self) -> socket.socket:
        """Return the socket. Raises :class:`ExtenderError` if there is none by now; then none is kept."""
        with self._lock:
            self._given_up = True
            if self._socket is not None:
                return self._socket
        if self._error is None or isinstance(self._error, TimeoutError):
            raise Timeout("no connection in time")
        raise Broken(str(self._error)) from self._error
