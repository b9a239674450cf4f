"""From the bytes of a connection to the answers of a server: HTTP/1.1 by llhttp, one answer at a time.

Nothing that a server sends is kept without a bound: its head, what stands between the parts of a body, and
the body, before and after it is decompressed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import httptools

LARGEST_HEAD: Final = 65_536
"""Bytes of a head, and of what is no body after it, such as the extension of a chunk."""
LARGEST_BODY: Final = 1 << 28
"""Bytes of a body: whole nodes of the largest clusters take some ten MB, a page of pods less."""
LARGEST_INFLATED: Final = 1 << 25
"""Bytes that a compressed body may become. No request asks for compression, and one read of 256 KiB can
become 256 MiB, which would keep the loop busy for seconds.
"""
_READ: Final = frozenset(
    {b"content-encoding", b"content-length", b"location", b"retry-after", b"transfer-encoding"}
)
"""Headers that are kept. The others are not even decoded: an answer has about eight."""
_ANY_COMPRESSION: Final = 47
"""``wbits`` of zlib for gzip and deflate, whichever it is."""


class ReplyError(OSError):
    """Bytes that are no answer of HTTP/1.1, or exceed a bound."""


class Reply(NamedTuple):
    """One answer, whole."""

    status: int
    headers: Mapping[str, str]
    """Those that are read by some user, by name in lower case."""
    body: bytes


class ReplyParser:
    """Takes the bytes of a connection in pieces of any size.

    Raises :class:`ReplyError`, and is of no use then.

    *sink* takes the body of an answer with the status 200 piece by piece, as it comes and without a bound.
    """

    def __init__(
        self,
        *,
        largest_head: int = LARGEST_HEAD,
        largest_body: int = LARGEST_BODY,
        sink: Callable[[bytes], object] | None = None,
    ) -> None:
        self.keeps_alive = True
        """Whether the connection may carry another request after the last answer."""
        self._largest_head, self._largest_body, self._sink = largest_head, largest_body, sink
        self._parser = httptools.HttpResponseParser(self)
        self._begin()

    def _begin(self) -> None:
        self.status = 0
        """That of the answer whose head has come; 0 before its end."""
        self.headers: dict[str, str] = {}
        self._received = 0
        """Bytes in a row that are no body."""
        self._body = bytearray()  # a list of pieces would take forty times their size if they are tiny
        self._last_piece = b""
        self._inflater: Any = None
        self._bound = self._largest_body
        self._reply: Reply | None = None
        self._has_rest = False
        """Whether something came behind the answer."""
        self._problem = ""

    @property
    def is_empty(self) -> bool:
        """Return whether nothing of an answer has arrived."""
        return not self._received and not self.status

    def feed(self, data: bytes) -> Reply | None:
        """Take *data*, which is not empty; return the answer that it completes, if it does. O(bytes)."""
        if self.is_empty and data[:1] != b"H":
            raise ReplyError(f"malformed HTTP response {data[:40]!r}")
        self._received += len(data)
        if len(data) > self._largest_head and not self.status:
            self._refuse_long(data.find(b"\r\n\r\n", 0, self._largest_head) < 0)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if self._reply is None:
                raise ReplyError(self._problem or self._malformed(data, error)) from None
            self._has_rest = True  # what followed the answer
        if self._problem:
            raise ReplyError(self._problem)
        if self._reply is None:
            self._refuse_long(self._received > self._largest_head)
            return None
        return self._finish(data)

    def _refuse_long(self, is_longer: bool) -> None:
        if is_longer:
            raise ReplyError(f"no end of a head or of a chunk within {self._largest_head} bytes")

    def end(self) -> Reply | None:
        """Return the answer that the end of the connection completes, ``None`` if it was not complete."""
        framed = self.headers.keys() & {"content-length", "transfer-encoding"}
        if not self.status or framed or self._reply is not None:
            return None
        self.keeps_alive = False
        self.on_message_complete()
        if self._problem:
            raise ReplyError(self._problem)
        return self._reply

    def _malformed(self, data: bytes, error: Exception) -> str:
        if self.status:
            return f"malformed chunk of a body: {error}"
        return f"malformed HTTP response {data[:40]!r}: {error}"

    def _finish(self, data: bytes) -> Reply:
        reply = self._reply
        assert reply is not None
        # llhttp skips empty lines between answers, but a server that sends some is not to be trusted.
        rest = self._has_rest or data.endswith(b"\r\n\r\n\r\n")
        if self._last_piece and "content-length" in self.headers:
            rest = self._has_rest or not data.endswith(self._last_piece)
        self.keeps_alive = self.keeps_alive and not rest
        self._begin()
        return reply

    # ---- called by llhttp; an exception would be lost in there ---------------------------------------------

    def on_message_begin(self) -> None:
        """Another answer begins."""
        self._has_rest = self._reply is not None

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of the head, or a trailer."""
        name = name.lower()
        if name in _READ and not self.status and self._reply is None:
            self.headers[name.decode()] = value.decode("latin-1").strip()

    def on_headers_complete(self) -> None:
        """The head is complete."""
        if self._reply is not None:
            return
        status: int = self._parser.get_status_code()
        if 100 <= status < 200:
            self.headers.clear()
            return  # more is to come
        self.status = status
        if self.headers.get("transfer-encoding", "chunked").lower() != "chunked":
            coding = self.headers["transfer-encoding"]
            self._problem = f"the Transfer-Encoding is {coding[:80]!r}; only chunked is known"
        elif int(self.headers.get("content-length", "0")) > self._largest_body and self._has_body:
            self._problem = self._too_large()
        elif self.headers.get("content-encoding", "identity").lower() != "identity":
            self._inflater = zlib.decompressobj(_ANY_COMPRESSION)
            self._bound = min(self._bound, LARGEST_INFLATED)

    @property
    def _has_body(self) -> bool:
        return self.status not in (204, 304)

    def on_body(self, piece: bytes) -> None:
        """A part of the body."""
        self._received, self._last_piece = 0, piece
        if self._problem or self._reply is not None:
            return
        if self._inflater is not None:
            piece = self._inflate(piece)
        if len(self._body) + len(piece) > self._bound:
            self._problem = self._too_large()
        elif self._sink is not None and self.status == 200:
            self._sink(piece)
        else:
            self._body += piece

    def on_message_complete(self) -> None:
        """The answer is complete."""
        if not self.status or self._problem or self._reply is not None:
            return
        if self._inflater is not None and self._last_piece and not self._inflater.eof:
            self._problem = "the answer cannot be decompressed: it is cut off"
        self.keeps_alive = self.keeps_alive and self._parser.should_keep_alive()
        self._reply = Reply(self.status, self.headers, bytes(self._body))

    def _inflate(self, piece: bytes) -> bytes:
        """Return *piece* decompressed, at most one byte more than there is room for."""
        try:
            inflated: bytes = self._inflater.decompress(piece, self._bound - len(self._body) + 1)
        except zlib.error as error:
            self._problem = f"the answer cannot be decompressed: {error}"
            return b""
        if self._inflater.unused_data:
            self._problem = "the answer cannot be decompressed: more follows its end"
        return inflated

    def _too_large(self) -> str:
        return f"the body of the answer is longer than {self._bound} bytes"
