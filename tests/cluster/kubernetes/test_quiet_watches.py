"""A watch is quiet when no event comes: bytes that are no event do not keep it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import repeat

import pytest
from attrs import define

from schedframe.cluster.kubernetes import Access
from schedframe.cluster.kubernetes.client import ApiClient, _lines
from schedframe.cluster.kubernetes.credentials import NoToken
from schedframe.cluster.kubernetes.errors import NoAnswer

from .scripted import run

QUIET = 10.0


@define(eq=False)
class Content:
    """A body whose chunks arrive a second after one another."""

    chunks: Iterator[bytes]

    async def read(self, deadline: float) -> bytes:
        async with asyncio.timeout_at(deadline):
            await asyncio.sleep(1)
        return next(self.chunks, b"")


def lines_of(chunks: Iterator[bytes]) -> tuple[list[list[bytes]], float, bool]:
    """Return the batches, the seconds until the end, and whether it ended for being quiet."""

    async def read() -> tuple[list[list[bytes]], float, bool]:
        batches, loop = list[list[bytes]](), asyncio.get_running_loop()
        began = loop.time()
        try:
            async for lines in _lines(Content(chunks), QUIET):  # type: ignore[arg-type]  # as a stream
                batches.append(lines)
        except TimeoutError:
            return batches, loop.time() - began, True
        return batches, loop.time() - began, False

    return run(read)


@pytest.mark.parametrize("drip", [b"{", b"\n", b" ", b"\r\n", b" \n "])
def test_bytes_that_make_no_event_do_not_keep_a_watch(drip: bytes) -> None:
    assert lines_of(repeat(drip)) == ([], QUIET, True)
    chunks = iter([b"{}\n", b'{"a"', b":1}\n", *repeat(drip, 1000)])
    batches, seconds, is_quiet = lines_of(chunks)
    assert ([line for lines in batches for line in lines if line], is_quiet) == ([b"{}", b'{"a":1}'], True)
    assert seconds == 3 + QUIET


def test_an_event_in_many_pieces_may_take_its_time_between_others() -> None:
    pieces = [b"{", *[b"x"] * 7, b"}\n"]
    batches, seconds, is_quiet = lines_of(iter(pieces * 5))
    assert batches == [[b"{xxxxxxx}"]] * 5
    assert (seconds, is_quiet) == (46.0, False)


def test_a_line_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedframe.cluster.kubernetes.client.LARGEST_BODY", 4)
    assert lines_of(iter([b"abc", b"d\n"])) == ([[b"abcd"]], 3.0, False)
    with pytest.raises(OSError, match="a line is longer than 4 bytes"):
        lines_of(repeat(b"abc"))


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, begin: bytes) -> None:
    """Answer with *begin*, and a byte each second after it."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(begin)
    while not writer.is_closing():
        await asyncio.sleep(1)
        writer.write(b"x")


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(b"HTTP/1.1 200 O", id="a head that never ends"),
        pytest.param(b"HTTP/1.1 500 X\r\n\r\n", id="an error without an end"),
    ],
)
def test_an_answer_that_drips_is_no_watch(begin: bytes) -> None:
    async def watch() -> float:
        listening = await asyncio.start_server(lambda *ends: drip(*ends, begin), "127.0.0.1", 0)
        client = ApiClient(Access(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", NoToken()))
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(NoAnswer) as failure:
            async with client.stream("/pods", quiet_seconds=QUIET):
                pytest.fail("there is no watch")
        assert failure.value.is_quiet
        await client.close()
        listening.close()
        return loop.time() - began

    assert run(watch) == QUIET
