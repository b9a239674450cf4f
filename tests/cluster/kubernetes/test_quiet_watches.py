"""A watch is quiet when no event comes: bytes that are no event do not keep it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import repeat
from typing import Any

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

    async def readany(self) -> bytes:
        await asyncio.sleep(1)
        return next(self.chunks, b"")

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self._all()])

    async def _all(self) -> AsyncIterator[bytes]:
        while chunk := await self.readany():
            yield chunk


def lines_of(chunks: Iterator[bytes]) -> tuple[list[list[bytes]], float, bool]:
    """Return the batches, the seconds until the end, and whether it ended for being quiet."""

    async def read() -> tuple[list[list[bytes]], float, bool]:
        batches, loop = list[list[bytes]](), asyncio.get_running_loop()
        began = loop.time()
        try:
            async for lines in _lines(Content(chunks), QUIET):  # type: ignore[arg-type]  # as of aiohttp
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


@define
class Reply:
    status: int
    content: Content
    headers: dict[str, str]

    async def read(self) -> bytes:
        return await self.content.read()


@define(eq=False)
class Session:
    """Stands in for a session of aiohttp: the head takes *head_seconds*."""

    head_seconds: float
    reply: Reply

    @asynccontextmanager
    async def get(self, url: Any, **options: Any) -> AsyncIterator[Reply]:
        await asyncio.sleep(self.head_seconds)
        yield self.reply

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(
    ("head_seconds", "status"),
    [pytest.param(1e9, 200, id="a head that never ends"), pytest.param(0, 500, id="an error without an end")],
)
def test_an_answer_that_drips_is_no_watch(head_seconds: float, status: int) -> None:
    async def watch() -> float:
        client = ApiClient(Access("http://127.0.0.1:1", NoToken()))
        client._streams = Session(head_seconds, Reply(status, Content(repeat(b"x")), {}))  # type: ignore[assignment]
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(NoAnswer) as failure:
            async with client.stream("/pods", quiet_seconds=QUIET):
                pytest.fail("there is no watch")
        assert failure.value.is_quiet
        await client.close()
        return loop.time() - began

    assert run(watch) == QUIET
