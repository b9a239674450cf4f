"""Answers of HTTP/1.1 in pieces of any size: what counts, what is refused, and what is too much."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.http.parser import LARGEST_HEAD, LARGEST_INFLATED, Reply, ReplyError, ReplyParser

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def plain(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """Return an answer with its length."""
    lines = (b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(parts: Iterable[bytes], extension: bytes = b"", trailer: bytes = b"") -> bytes:
    """Return the parts as a body in chunks."""
    chunks = [b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts if part]
    return b"".join([*chunks, b"0\r\n", trailer, b"\r\n"])


def fed(data: bytes, sizes: list[int] | None = None, parser: ReplyParser | None = None) -> list[Reply]:
    """Return the answers in *data*, given to a parser in pieces of these sizes, the rest at once."""
    parser, found = parser or ReplyParser(), []
    for size in [*(sizes or []), len(data)]:
        piece, data = data[:size], data[size:]
        if piece and (reply := parser.feed(piece)) is not None:
            found.append(reply)
    return found


@given(
    parts=st.lists(st.binary(max_size=40), max_size=6),
    sizes=st.lists(st.integers(1, 50), max_size=40),
    is_chunked=st.booleans(),
    is_early=st.booleans(),
)
def test_any_pieces(parts: list[bytes], sizes: list[int], is_chunked: bool, is_early: bool) -> None:
    body = b"".join(parts)
    if is_chunked:
        head, sent = b"Transfer-Encoding: chunked", chunked(parts, b";a=b", b"Location: trailer\r\n")
    else:
        head, sent = b"content-length: %d" % len(body), body
    early = b"HTTP/1.1 103 Early Hints\r\nLocation: early\r\n\r\n" if is_early else b""
    parser = ReplyParser()
    (reply,) = fed(
        early + b"HTTP/1.1 201 Created\r\nRetry-After:  some value \r\n" + head + b"\r\n\r\n" + sent,
        sizes,
        parser,
    )
    assert (reply.status, reply.body, reply.headers["retry-after"]) == (201, body, "some value")
    assert "location" not in reply.headers
    assert parser.keeps_alive
    assert parser.is_empty


def test_one_answer_after_another() -> None:
    parser = ReplyParser()
    for status, size in ((200, 3), (404, 0), (204, 0), (500, 5)):
        assert parser.is_empty
        reply = parser.feed(plain(b"a" * size, status=b"%d X" % status))
        assert reply is not None
        assert (reply.status, len(reply.body), parser.keeps_alive) == (status, size, True)


@pytest.mark.parametrize(
    ("data", "keeps_alive"),
    [
        (plain(b""), True),
        (plain(b"\r\n\r\n\r\n"), True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", True),
        (plain(b"", b"Connection: Close"), False),
        (plain(b"").replace(b"1.1", b"1.0"), False),
        (plain(b"", b"Connection: keep-alive").replace(b"1.1", b"1.0"), True),
        (plain(b"") + b"more", False),
        (plain(b"ab") + b"\r\n", False),
        (plain(b"ab") * 2, False),
        (plain(b"ab") + b"H", False),
        (CHUNKED + chunked([b"ab"]), True),
        (CHUNKED + chunked([b"ab"], trailer=b"X: y\r\n"), True),
        (CHUNKED + chunked([b"ab"]) + b"\r\n", False),
        (CHUNKED + chunked([b"ab"]) + CHUNKED, False),
    ],
)
def test_whether_the_connection_carries_another_request(data: bytes, keeps_alive: bool) -> None:
    parser = ReplyParser()
    assert parser.feed(data) is not None
    assert parser.keeps_alive == keeps_alive


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    parser = ReplyParser()
    assert parser.end() is None
    assert parser.feed(OK + b"\r\nab") is None
    assert parser.feed(b"c") is None
    reply = parser.end()
    assert reply is not None
    assert (reply.body, parser.keeps_alive) == (b"abc", False)


@pytest.mark.parametrize(
    "data",
    [OK, OK + b"Content-Length: 4\r\n\r\nab", CHUNKED + b"2\r\nab\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"],
)
def test_an_answer_that_is_cut_off_is_none(data: bytes) -> None:
    parser = ReplyParser()
    assert parser.feed(data) is None
    assert parser.end() is None


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
@pytest.mark.parametrize("size", [1, 100])
def test_a_compressed_body(pack: object, size: int) -> None:
    assert callable(pack)
    body = pack(b"some text")
    data = plain(body, b"Content-Encoding: GZip")
    assert fed(data, [size] * (len(data) // size))[0].body == b"some text"


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"RTSP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.9 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 2000\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        OK + b"no colon\r\n\r\n",
        OK + b"X : y\r\nContent-Length: 0\r\n\r\n",
        OK + b"X: y\r\n folded\r\nContent-Length: 0\r\n\r\n",
        OK + b"X: a\x00b\r\nContent-Length: 0\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: +1\r\n\r\na",
        OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        OK + b"Content-Length: 2\r\nContent-Length: 1\r\n\r\nab",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: gzip\r\n\r\n",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: xchunkedx\r\n\r\n0\r\n\r\n",
        CHUNKED + b"-1\r\n",
        CHUNKED + b"0x2\r\nab\r\n0\r\n\r\n",
        CHUNKED + b"2_0\r\n",
        CHUNKED + b"\r\n\r\n",
        CHUNKED + b"2\r\nabab0\r\n\r\n",
        CHUNKED + b"2\nab\n0\n\n",
        CHUNKED + b"f" * 17 + b"\r\n",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab",
        OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\nab",
        plain(gzip.compress(b"text", mtime=0)[:-4], b"Content-Encoding: gzip"),
        plain(gzip.compress(b"text", mtime=0) + b"a", b"Content-Encoding: gzip"),
    ],
)
@pytest.mark.parametrize("size", [1, 100_000])
def test_what_is_no_answer(data: bytes, size: int) -> None:
    """None of it becomes an answer, in one piece or byte by byte."""
    with pytest.raises(ReplyError):
        fed(data, [size] * (len(data) // size))


def endless(begin: bytes, more: bytes) -> str:
    """Give a parser *more* for ever; return why it ended."""
    parser = ReplyParser(largest_body=LARGEST_HEAD)
    parser.feed(begin)
    try:
        for _ in range(4 * LARGEST_HEAD // len(more)):
            assert parser.feed(more) is None
    except ReplyError as error:
        return str(error)
    return "it has not ended"


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        pytest.param(b"HTTP/1.1 200 ", b"a", id="words of the status"),
        pytest.param(OK, b"X-Name: value\r\n", id="headers"),
        pytest.param(OK + b"X: ", b"a", id="one header"),
        pytest.param(OK + b"X", b"a", id="one name"),
        pytest.param(b"HTTP/1.1 100 ", b"Continue\r\n\r\nHTTP/1.1 100 ", id="early answers"),
        pytest.param(CHUNKED + b"2;", b"a", id="extension of a chunk"),
        pytest.param(CHUNKED + b"0\r\n", b"X-Name: value\r\n", id="trailers"),
        pytest.param(CHUNKED, b"2\r\nab\r\n", id="chunks"),
        pytest.param(OK + b"\r\n", b"a", id="body without a length"),
    ],
)
@pytest.mark.parametrize("times", [1, 1000])
def test_what_does_not_end_is_too_long(begin: bytes, more: bytes, times: int) -> None:
    assert endless(begin, more * times).endswith(f"{LARGEST_HEAD} bytes")


@pytest.mark.parametrize(
    "data",
    [
        plain(b"a" * 1001),
        CHUNKED + chunked([b"a" * 500] * 3),
        plain(gzip.compress(b"a" * 100_000, mtime=0), b"Content-Encoding: gzip"),
        CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
        + chunked([gzip.compress(b"a" * 100_000, mtime=0)]),
        OK + b"\r\n" + b"a" * 1001,
    ],
)
@pytest.mark.parametrize("size", [1, 100_000])
def test_a_body_that_is_too_large(data: bytes, size: int) -> None:
    parser = ReplyParser(largest_body=1000)
    with pytest.raises(ReplyError, match="the body of the answer is longer than 1000 bytes"):
        fed(data, [size] * (len(data) // size), parser)


def test_a_compressed_body_has_a_bound_of_its_own() -> None:
    data = plain(gzip.compress(b"a" * (LARGEST_INFLATED + 1), 1, mtime=0), b"Content-Encoding: gzip")
    with pytest.raises(ReplyError, match=f"longer than {LARGEST_INFLATED} bytes"):
        ReplyParser().feed(data)


def test_a_length_that_is_too_large_is_refused_before_the_body() -> None:
    with pytest.raises(ReplyError, match="longer than 1000 bytes"):
        ReplyParser(largest_body=1000).feed(OK + b"Content-Length: 1001\r\n\r\n")


def test_the_body_of_a_success_may_be_taken_as_it_comes() -> None:
    taken: list[bytes] = []
    parser = ReplyParser(largest_body=5, sink=taken.append)
    assert parser.feed(CHUNKED + b"2\r\nab\r\n") is None
    assert (parser.status, taken) == (200, [b"ab"])
    reply = parser.feed(b"4\r\ncdef\r\n0\r\n\r\n")
    assert reply is not None
    assert (reply.body, taken) == (b"", [b"ab", b"cdef"])
    refused = parser.feed(plain(b"no", status=b"403 Forbidden"))
    assert refused is not None
    assert (refused.body, len(taken)) == (b"no", 2)
