"""A kept HTTP/1.1 connection on which nothing waits longer than a deadline.

Sockets do not block. All waiting is done by a function (:data:`Wait`), which the scheduler replaces by one
that goes on with other work until the socket is ready.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

from attrs import define, field, frozen

from .waiting import Broken, NothingSent, Timeout, Wait

_MAX_HEAD: Final = 1 << 20
"""Bytes of status line and headers; as in Go."""
_CHUNK: Final = 1 << 18
"""Bytes of the buffer of a connection, and the most that are read at once while it has that size."""


@frozen
class Response:
    """An answer of a server."""

    status: int
    body: bytes
    location: str = ""
    """Where a redirect leads."""


@frozen
class _Head:
    """Status line and headers of an answer."""

    status: int
    headers: Mapping[bytes, bytes]
    """Names in lower case."""
    keeps: bool
    """Whether the server keeps the connection open."""

    @classmethod
    def parsed(cls, text: bytes) -> _Head:
        """Return the head in *text*. Raises :class:`Broken`."""
        lines = text.split(b"\r\n")
        version, _, rest = lines[0].partition(b" ")
        if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
            raise Broken(f"malformed HTTP response {lines[0][:40]!r}")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip()
        connection = headers.get(b"connection", b"").lower()
        keeps = connection == b"keep-alive" if version == b"HTTP/1.0" else connection != b"close"
        return cls(int(rest[:3]), headers, keeps)


@define(eq=False)
class Connection:
    """One connection, used for one request at a time."""

    _socket: socket.socket
    _buffer: bytearray = field(factory=lambda: bytearray(_CHUNK))
    """What was read and not yet used stands in it from ``_start`` to ``_end``."""
    _start: int = 0
    _end: int = 0
    _last_head: tuple[bytes, _Head | None] = (b"", None)
    """As it came and parsed: most answers begin like the one before."""
    _last_body: bytes = b""
    keeps: bool = True
    """Whether another request may be sent after the answer."""
    is_reused: bool = False
    """Whether an earlier request was answered on it."""

    def is_idle(self) -> bool:
        """Return whether the server left the connection open, and sent nothing unasked."""
        if self._start != self._end:
            return False
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
        head = self._head(deadline, wait)
        while 100 <= head.status < 200:
            head = self._head(deadline, wait)
        self.keeps = head.keeps
        location = head.headers.get(b"location", b"").decode("latin-1")
        body = b"" if head.status in (204, 304) else self._body(head.headers, deadline, wait)
        if len(body) <= _CHUNK:
            self._last_body = body
        return Response(head.status, body, location)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    # ---- parts of an answer ------------------------------------------------------------------------------

    def _head(self, deadline: float, wait: Wait) -> _Head:
        while (end := self._buffer.find(b"\r\n\r\n", self._start, self._end)) < 0:
            if self._end - self._start > _MAX_HEAD:
                raise Broken("the headers of the answer are too long")
            if not self._more(deadline, wait):
                raise Broken("EOF")
        text = self._take(end + 4 - self._start)
        last, head = self._last_head
        if head is None or text != last:
            head = _Head.parsed(text)
            self._last_head = text, head
        return head

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
            return self._take(self._end - self._start)
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
        while (end := self._buffer.find(b"\r\n", self._start, self._end)) < 0:
            if self._end - self._start > _MAX_HEAD:
                raise Broken("a line of the answer is too long")
            if not self._more(deadline, wait):
                raise Broken("unexpected EOF")
        return self._take(end + 2 - self._start)[:-2]

    def _exactly(self, size: int, deadline: float, wait: Wait) -> bytes:
        while self._end - self._start < size:
            if not self._more(deadline, wait):
                raise Broken("unexpected EOF")
        return self._take(size)

    def _take(self, size: int) -> bytes:
        """Return the next *size* bytes, which are there, and forget them."""
        start, last = self._start, self._last_body
        if size == len(last) and self._buffer.startswith(last, start):
            taken = last  # comparing to an equal body is free then
        else:
            taken = bytes(memoryview(self._buffer)[start : start + size])
        self._start += size
        if self._start == self._end:
            self._start = self._end = 0
            if len(self._buffer) > _CHUNK:  # the memory of a large answer is not kept
                self._buffer = bytearray(_CHUNK)
        return taken

    def _more(self, deadline: float, wait: Wait) -> bool:
        """Read more; return ``False`` at the end of what the server sends."""
        sock = self._socket
        self._make_room()
        with memoryview(self._buffer) as buffer, buffer[self._end :] as free:
            while True:
                if monotonic() >= deadline:
                    raise Timeout("no answer in time")
                try:
                    count = sock.recv_into(free)
                except (BlockingIOError, ssl.SSLWantReadError):
                    self._wait(wait, False, deadline)
                except ssl.SSLWantWriteError:
                    self._wait(wait, True, deadline)
                except OSError as error:
                    raise Broken(str(error)) from error
                else:
                    self._end += count
                    return bool(count)

    def _make_room(self) -> None:
        """Make room behind what was read; O(1) amortised over the bytes read."""
        if self._end < len(self._buffer):
            return
        if self._start:
            del self._buffer[: self._start]
            self._start, self._end = 0, len(self._buffer)
        self._buffer.extend(bytes(max(_CHUNK, self._end)))

    def _wait(self, wait: Wait, writing: bool, deadline: float) -> None:
        if monotonic() >= deadline or not wait(self._socket, writing, deadline):
            raise Timeout("no answer in time")
