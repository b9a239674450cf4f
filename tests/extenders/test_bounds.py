"""An extender's answer takes no more memory than its bounds allow, and is left when it exceeds them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from schedframe.http.parser import LARGEST_BODY, LARGEST_HEAD, ReplyParser
from tests.cycle.build import make_pod

from .test_answers import KEEP, RawServer, chunked, extender_of, plain, world


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies of a megabyte are too large."""
    monkeypatch.setitem(ReplyParser.__init__.__kwdefaults__, "largest_body", 1 << 20)


@pytest.fixture
def server() -> Iterator[RawServer]:
    made = RawServer()
    yield made
    made.close()


OK = b"HTTP/1.1 200 OK\r\n"
LONG = b" " * (1 << 20)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(OK + b"Content-Length: %d\r\n\r\n" % (LARGEST_BODY + 1), id="length"),
        pytest.param(plain(KEEP + LONG), id="body"),
        pytest.param(chunked(KEEP + LONG, 1 << 16), id="chunks"),
        pytest.param(
            plain(gzip.compress(KEEP + LONG * 4, mtime=0), b"Content-Encoding: gzip"), id="decompressed"
        ),
        pytest.param(OK + b"X: " + b"x" * LARGEST_HEAD, id="header"),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * (LARGEST_HEAD + 1), id="extension"
        ),
    ],
)
def test_an_answer_that_is_too_large_is_an_error_and_its_connection_is_left(
    server: RawServer, answer: bytes
) -> None:
    server.answers = [answer, plain(KEEP)]
    with world(server) as simulation:
        (failed,) = simulation.schedule([make_pod("first")])
        assert failed.node_name is None
        assert f'Post "{server.url}/filter": ' in failed.message
        assert " bytes" in failed.message
        assert extender_of(simulation).idle_connections == 0
        (placed,) = simulation.schedule([make_pod("second")])
        assert placed.node_name == "node-1"
