"""A kept HTTP/1.1 connection on which nothing waits longer than a deadline.

Sockets do not block. All waiting is done by a function (:data:`Wait`), which the scheduler replaces by one
that goes on with other work until the socket is ready. Redirects are not followed, and proxies are not used.
"""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

from attrs import define, field, frozen

from ..framework import ExtenderError

Wait = Callable[[socket.socket, bool, float], bool]
"""Waits until a socket can be read, or written to if the flag is set, at most until a time of ``monotonic``.

Returns whether it is ready.
"""

_MAX_HEAD: Final = 1 << 20
"""Bytes of status line and headers; as in Go."""
_CHUNK: Final = 1 << 18
"""Bytes read at once."""


class Timeout(ExtenderError):
    """The deadline passed."""


class Broken(ExtenderError):
    """The connection failed, or what came is not HTTP."""


class NothingSent(Broken):
    """The connection was broken before any byte of a request was sent."""


def wait_blocking(sock: socket.socket, writing: bool, deadline: float) -> bool:
    """Wait in this thread, doing nothing else."""
    poll = select.poll()
    poll.register(sock, select.POLLOUT if writing else select.POLLIN)
    return bool(poll.poll(max(0.0, deadline - monotonic()) * 1000))


@frozen
class Target:
    """Where to connect to."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    """Name in the server's certificate, if not ``host``."""


@frozen
class Response:
    """An answer of a server."""

    status: int
    body: bytes
    location: str = ""
    """Where a redirect leads."""


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


@define(eq=False)
class Connection:
    """One connection, used for one request at a time."""

    _socket: socket.socket
    _received: bytearray = field(factory=bytearray)
    """What was read and not yet used."""
    _buffer: bytearray = field(factory=lambda: bytearray(_CHUNK))
    keeps: bool = True
    """Whether another request may be sent after the answer."""
    is_reused: bool = False
    """Whether an earlier request was answered on it."""

    def is_idle(self) -> bool:
        """Return whether the server left the connection open, and sent nothing unasked."""
        try:
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return not self._received
        except OSError:
            return False
        return False

    def send(self, parts: Sequence[bytes], deadline: float, wait: Wait) -> None:
        """Send a request, given in *parts*.

        Raises :class:`ExtenderError`; :class:`NothingSent` if the connection was broken before.
        """
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
        except OSError as error:
            raise (Broken if sent else NothingSent)(str(error)) from error

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

    def receive(self, deadline: float, wait: Wait) -> Response:
        """Return the answer to the request. Raises :class:`ExtenderError`."""
        status, headers = 100, dict[bytes, bytes]()
        while 100 <= status < 200:
            status, headers = self._head(deadline, wait)
        location = headers.get(b"location", b"").decode("latin-1")
        body = b"" if status in (204, 304) else self._body(headers, deadline, wait)
        return Response(status, body, location)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    # ---- parts of an answer ------------------------------------------------------------------------------

    def _head(self, deadline: float, wait: Wait) -> tuple[int, dict[bytes, bytes]]:
        while (end := self._received.find(b"\r\n\r\n")) < 0:
            if len(self._received) > _MAX_HEAD:
                raise Broken("the headers of the answer are too long")
            if not self._more(deadline, wait):
                raise Broken("EOF")
        lines = self._take(end + 4).split(b"\r\n")
        version, _, rest = lines[0].partition(b" ")
        if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
            raise Broken(f"malformed HTTP response {lines[0][:40]!r}")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip()
        connection = headers.get(b"connection", b"").lower()
        self.keeps = connection == b"keep-alive" if version == b"HTTP/1.0" else connection != b"close"
        return int(rest[:3]), headers

    def _body(self, headers: Mapping[bytes, bytes], deadline: float, wait: Wait) -> bytes:
        encoding = headers.get(b"transfer-encoding", b"").lower()
        if encoding == b"chunked":
            return self._chunked(deadline, wait)
        if encoding:
            raise Broken(f"the Transfer-Encoding is {encoding!r}; only chunked is known")
        length = headers.get(b"content-length")
        if length is None:
            self.keeps = False
            while self._more(deadline, wait):
                pass
            return self._take(len(self._received))
        if not length.isdigit():
            raise Broken(f"the Content-Length is {length!r}")
        return self._exactly(int(length), deadline, wait)

    def _chunked(self, deadline: float, wait: Wait) -> bytes:
        parts = []
        while size := self._chunk_size(deadline, wait):
            parts.append(self._exactly(size, deadline, wait))
            self._line(deadline, wait)
        while self._line(deadline, wait):
            pass  # trailers
        return b"".join(parts)

    def _chunk_size(self, deadline: float, wait: Wait) -> int:
        line = self._line(deadline, wait).partition(b";")[0].strip()
        try:
            if not line.isalnum():  # int() takes signs and underscores, too
                raise ValueError
            return int(line, 16)
        except ValueError:
            raise Broken(f"malformed chunk of a body: {line[:40]!r}") from None

    def _line(self, deadline: float, wait: Wait) -> bytes:
        while (end := self._received.find(b"\r\n")) < 0:
            if len(self._received) > _MAX_HEAD:
                raise Broken("a line of the answer is too long")
            if not self._more(deadline, wait):
                raise Broken("unexpected EOF")
        return self._take(end + 2)[:-2]

    def _exactly(self, size: int, deadline: float, wait: Wait) -> bytes:
        while len(self._received) < size:
            if not self._more(deadline, wait):
                raise Broken("unexpected EOF")
        return self._take(size)

    def _take(self, size: int) -> bytes:
        taken = bytes(memoryview(self._received)[:size])
        del self._received[:size]
        return taken

    def _more(self, deadline: float, wait: Wait) -> bool:
        """Read more; return ``False`` at the end of what the server sends."""
        sock = self._socket
        while True:
            if monotonic() >= deadline:
                raise Timeout("no answer in time")
            try:
                count = sock.recv_into(self._buffer)
            except (BlockingIOError, ssl.SSLWantReadError):
                self._wait(wait, False, deadline)
            except ssl.SSLWantWriteError:
                self._wait(wait, True, deadline)
            except OSError as error:
                raise Broken(str(error)) from error
            else:
                self._received += memoryview(self._buffer)[:count]
                return bool(count)

    def _wait(self, wait: Wait, writing: bool, deadline: float) -> None:
        if monotonic() >= deadline or not wait(self._socket, writing, deadline):
            raise Timeout("no answer in time")
