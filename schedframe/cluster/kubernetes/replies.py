"""From the bytes of a connection to the answers of the server: HTTP/1.1, one answer at a time."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from attrs import define, field

LARGEST_HEAD: Final = 65_536
"""Bytes of a head, or of the line before a chunk, from which on it is taken for something else than HTTP."""
_WITHOUT_BODY: Final = frozenset({204, 304})
_ANY_COMPRESSION: Final = 47
"""``wbits`` of zlib for gzip and deflate, whichever it is."""
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")


class Reply(NamedTuple):
    """One answer, whole."""

    status: int
    headers: Mapping[str, str]
    """By name; names in lower case are always known."""
    body: bytes


@define(eq=False)
class ReplyParser:
    """Takes the bytes in pieces of any size. Raises :class:`ValueError` for anything that is not HTTP/1."""

    keeps_alive: bool = field(default=True, init=False)
    """Whether the connection may carry another request after the last answer."""
    _buffer: bytearray = field(factory=bytearray, init=False)
    _head: tuple[int, dict[str, str]] | None = field(default=None, init=False)
    """Status and headers, ``None`` before the end of the head."""
    _length: int | None = field(default=None, init=False)
    """Bytes of the body, ``None`` if it ends otherwise."""
    _chunks: list[bytes] | None = field(default=None, init=False)
    """Those read so far of a body in chunks."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing of an answer has arrived."""
        return self._head is None and not self._buffer

    def feed(self, data: bytes) -> Reply | None:
        """Take *data*; return the answer that it completes, if it does. O(bytes)."""
        buffer = self._buffer
        buffer += data
        while self._head is None:
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                _refuse_longer(buffer)
                return None
            self._begin(buffer[:end].decode("latin-1"))
            del buffer[: end + 4]
        if self._chunks is not None:
            return self._feed_chunks(self._chunks)
        if self._length is None or len(buffer) < self._length:
            return None
        return self._finish(self._length)

    def end(self) -> Reply | None:
        """Return the answer that the end of the connection completes, ``None`` if it was not complete."""
        if self._head is None or self._length is not None or self._chunks is not None:
            return None
        return self._finish(len(self._buffer))

    def _begin(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        version, _, rest = first.partition(" ")
        code = rest[:3]
        if not version.startswith("HTTP/1.") or not (code.isascii() and code.isdigit() and len(code) == 3):
            raise ValueError(f"no answer of HTTP/1: {first[:80]!r}")
        status, headers = int(code), dict[str, str]()
        for line in lines:
            name, colon, value = line.partition(":")
            key, value = name.lower(), value.strip()
            if not colon or (key == "content-length" and headers.get(key, value) != value):
                raise ValueError(f"not a header, or another one than before: {line[:80]!r}")
            headers[key] = value
        if 100 <= status < 200:
            return  # more is to come
        self._head = status, headers
        self._length, self._chunks = _framing(status, headers)
        is_closed = "close" in headers.get("connection", "").lower()
        ends_itself = self._length is not None or self._chunks is not None
        self.keeps_alive = ends_itself and not is_closed and version != "HTTP/1.0"

    def _feed_chunks(self, chunks: list[bytes]) -> Reply | None:
        buffer, position = self._buffer, 0
        while (line := buffer.find(b"\r\n", position)) >= 0:
            size = _size_of(buffer[position:line])
            start = line + 2
            if not size:
                end = buffer.find(b"\r\n\r\n", line)  # there may be trailers in between
                if end < 0:
                    break
                body = b"".join(chunks)
                buffer[: end + 4] = body
                return self._finish(len(body))
            if len(buffer) < start + size + 2:
                break
            chunks.append(bytes(buffer[start : start + size]))
            position = start + size + 2
        else:
            _refuse_longer(buffer[position:])
        del buffer[:position]
        return None

    def _finish(self, length: int) -> Reply:
        assert self._head is not None
        status, headers = self._head
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        self.keeps_alive = self.keeps_alive and not self._buffer
        self._head = self._length = self._chunks = None
        if headers.get("content-encoding", "identity") != "identity":
            try:
                body = zlib.decompress(body, _ANY_COMPRESSION)
            except zlib.error as error:
                raise ValueError(f"the answer cannot be decompressed: {error}") from None
        return Reply(status, headers, body)


def _framing(status: int, headers: Mapping[str, str]) -> tuple[int | None, list[bytes] | None]:
    """Return the length of the body, and a list for its chunks if it has some."""
    if status in _WITHOUT_BODY:
        return 0, None
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return None, []
    length = headers.get("content-length")
    if length is None:
        return None, None
    if not (length.isascii() and length.isdigit()):
        raise ValueError(f"not a length: {length[:80]!r}")
    return int(length), None


def _size_of(line: bytearray) -> int:
    """Return the size in the line before a chunk."""
    size = bytes(line.partition(b";")[0].strip())
    if not size or not _HEX.issuperset(size):
        raise ValueError(f"not the size of a chunk: {size[:80]!r}")
    return int(size, 16)


def _refuse_longer(line: bytes | bytearray) -> None:
    if len(line) > LARGEST_HEAD:
        raise ValueError(f"no end of a head or of a chunk within {LARGEST_HEAD} bytes")
