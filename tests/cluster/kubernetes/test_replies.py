"""Answers of HTTP/1.1 in pieces of any size."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.cluster.kubernetes.replies import LARGEST_HEAD, Reply, ReplyParser


def chunked(parts: list[bytes], extension: bytes = b"", trailer: bytes = b"") -> bytes:
    """Return the parts as a body in chunks."""
    chunks = [b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts if part]
    return b"".join([*chunks, b"0\r\n", trailer, b"\r\n"])


def fed(data: bytes, sizes: list[int] | None = None) -> list[Reply]:
    """Return the answers in *data*, given to a parser in pieces of these sizes, the rest at once."""
    parser, found = ReplyParser(), []
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
        head, sent = b"Transfer-Encoding: chunked", chunked(parts, b";a=b", b"X-Late: 1\r\n")
    else:
        head, sent = b"content-length: %d" % len(body), body
    early = b"HTTP/1.1 100 Continue\r\n\r\n" if is_early else b""
    (reply,) = fed(
        early + b"HTTP/1.1 201 Created\r\nX-Name:  some value \r\n" + head + b"\r\n\r\n" + sent, sizes
    )
    assert (reply.status, reply.body, reply.headers["x-name"]) == (201, body, "some value")


def test_one_answer_after_another() -> None:
    parser = ReplyParser()
    for status, size in ((200, 3), (404, 0), (500, 5)):
        assert parser.is_empty
        reply = parser.feed(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, size) + b"a" * size)
        assert reply is not None
        assert (reply.status, len(reply.body), parser.keeps_alive) == (status, size, True)


@pytest.mark.parametrize(
    ("head", "keeps_alive"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore", False),
    ],
)
def test_whether_the_connection_carries_another_request(head: bytes, keeps_alive: bool) -> None:
    parser = ReplyParser()
    assert parser.feed(head) is not None
    assert parser.keeps_alive == keeps_alive


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    parser = ReplyParser()
    assert parser.end() is None
    assert parser.feed(b"HTTP/1.1 200 OK\r\n\r\nab") is None
    assert parser.feed(b"c") is None
    reply = parser.end()
    assert reply is not None
    assert (reply.body, parser.keeps_alive) == (b"abc", False)
    assert parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab") is None
    assert parser.end() is None


def test_a_compressed_body() -> None:
    body = gzip.compress(b"text")
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert fed(head + body)[0].body == b"text"


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * (LARGEST_HEAD + 1),
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab",
        b"a" * (LARGEST_HEAD + 1),
    ],
)
def test_what_is_no_answer(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no answer|not |no end|decompressed"):
        fed(data)
