"""A connection on which nothing waits longer than a deadline, for requests made outside of an event loop.

Sockets do not block. All waiting is done by a function (:data:`Wait`), which the scheduler replaces by one
that goes on with other work until the socket is ready.
"""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

from attrs import field

from .._base.value import record
from .address import Address, CannotConnect, Tunnel
from .parser import Reply, ReplyParser

_PIECE: Final = 1 << 18
"""Bytes that are read at once, at most."""

Wait = Callable[[socket.socket, bool, float], bool]
"""Waits until a socket can be read, or written to if the flag is set, at most until a time of ``monotonic``.

Returns whether it is ready.
"""


def wait_blocking(sock: socket.socket, writing: bool, deadline: float) -> bool:
    """Wait in this thread, doing nothing else."""
    poll = select.poll()
    poll.register(sock, select.POLLOUT if writing else select.POLLIN)
    return bool(poll.poll(max(0.0, deadline - monotonic()) * 1000))


@record(eq=False)
class Connection:
    """One connection, used for one request at a time.

    All methods raise :class:`TimeoutError` at the deadline, and another ``OSError`` if the connection fails
    or what comes is no answer of HTTP.
    """

    _socket: socket.socket
    _parser: ReplyParser = field(factory=ReplyParser)
    is_reused: bool = False
    """Whether an earlier request was answered on it."""

    @property
    def keeps(self) -> bool:
        """Return whether another request may be sent after the answer."""
        return self._parser.keeps_alive

    def is_idle(self) -> bool:
        """Return whether the server left the connection open, and sent nothing unasked."""
        if isinstance(self._socket, ssl.SSLSocket):  # what can be read may be no part of an answer
            return self._reads_nothing()
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def _reads_nothing(self) -> bool:
        try:
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def send(self, parts: Sequence[bytes], deadline: float, wait: Wait) -> None:
        """Send a request, given in *parts*. Raises :class:`CannotConnect` if it was broken before."""
        sock = self._socket
        sent, rest = 0, memoryview(b"")
        try:
            if not isinstance(sock, ssl.SSLSocket):  # TLS sends one part only
                with suppress(BlockingIOError):
                    sent = sock.sendmsg(parts)
                if sent == sum(map(len, parts)):
                    return
            rest = memoryview(b"".join(parts))[sent:]
            while rest:
                sent, rest = self._send_some(sent, rest, deadline, wait)
        except TimeoutError:
            raise
        except OSError as error:
            if not sent:
                raise CannotConnect(str(error)) from error
            raise

    def _send_some(self, sent: int, rest: memoryview, deadline: float, wait: Wait) -> tuple[int, memoryview]:
        """Send a part of *rest*, or wait; return how much was sent by now, and what is left."""
        try:
            count = self._socket.send(rest)
        except (BlockingIOError, ssl.SSLWantWriteError):
            self._wait(wait, True, deadline)
        except ssl.SSLWantReadError:
            self._wait(wait, False, deadline)
        else:
            return sent + count, rest[count:]
        return sent, rest

    def receive(self, deadline: float, wait: Wait) -> Reply:
        """Return the answer to the request."""
        parser = self._parser
        while data := self._read(deadline, wait):
            reply = parser.feed(data)
            if reply is not None:
                return reply
        reply = parser.end()
        if reply is None:
            raise ConnectionResetError("EOF" if parser.is_empty else "unexpected EOF")
        return reply

    def _read(self, deadline: float, wait: Wait) -> bytes:
        """Return what came next, nothing at the end of what the server sends."""
        while True:
            if monotonic() >= deadline:
                raise TimeoutError("no answer in time")
            try:
                return self._socket.recv(_PIECE)
            except (BlockingIOError, ssl.SSLWantReadError):
                self._wait(wait, False, deadline)
            except ssl.SSLWantWriteError:
                self._wait(wait, True, deadline)

    def _wait(self, wait: Wait, writing: bool, deadline: float) -> None:
        if monotonic() >= deadline or not wait(self._socket, writing, deadline):
            raise TimeoutError("no answer in time")

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def connect(address: Address, deadline: float, wait: Wait) -> Connection:
    """Return a new connection. Raises as those of :class:`Connection`.

    Looking up the name has no time limit of its own, so it is done in a thread that is left alone at the
    deadline; it ends when the resolver gives up.
    """
    attempt = _Connecting(address, deadline)
    near, far = socket.socketpair()
    try:
        near.setblocking(False)
        threading.Thread(target=attempt.run, args=(far,), name="schedframe-extender", daemon=True).start()
        wait(near, False, deadline)
        return Connection(attempt.result())
    finally:
        near.close()


@record(eq=False)
class _Connecting:
    """An attempt to connect in another thread."""

    address: Address
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
        address = self.address
        sock = socket.create_connection(address.end, timeout=self._left())
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.has_tunnel:
                self._open_tunnel(sock)
            if address.tls is not None:
                sock.settimeout(self._left())
                sock = address.tls.wrap_socket(sock, server_hostname=address.certified_name)
            sock.setblocking(False)
        except BaseException:
            sock.close()
            raise
        return sock

    def _open_tunnel(self, sock: socket.socket) -> None:
        """Ask the proxy to connect to the server. Raises ``OSError`` if it does not."""
        tunnel = Tunnel(self.address)
        sock.settimeout(self._left())
        sock.sendall(tunnel.request)
        is_open = False
        while not is_open:
            sock.settimeout(self._left())
            is_open = tunnel.feed(sock.recv(_PIECE))

    def _left(self) -> float:
        return max(0.001, self.deadline - monotonic())

    def result(self) -> socket.socket:
        """Return the socket. Raises ``OSError`` if there is none by now; then none is kept."""
        with self._lock:
            self._given_up = True
            if self._socket is not None:
                return self._socket
        if self._error is None or isinstance(self._error, TimeoutError):
            raise TimeoutError("no connection in time")
        raise ConnectionError(str(self._error)) from self._error
