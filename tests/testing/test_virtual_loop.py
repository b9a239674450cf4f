"""A loop with a time of its own: waits take no time, sockets and threads come first, and in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from schedframe.testing.virtual_loop import VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    made = VirtualLoop()
    yield made
    made.finish()


def test_a_wait_of_an_hour_takes_no_time(loop: VirtualLoop) -> None:
    loop.run(asyncio.sleep(3600))
    assert loop.time() == 3600


def test_time_moves_as_far_as_it_is_told(loop: VirtualLoop) -> None:
    moments: list[float] = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(2)
            moments.append(loop.time())

    _ = loop.create_task(tick())
    assert loop.pump() == 2
    loop.advance(5)
    assert (loop.time(), moments) == (5, [2, 4])
    assert loop.pump() == 6


def test_sockets_come_before_time(loop: VirtualLoop) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(10))
        await writer.drain()
        writer.close()

    async def ask() -> bytes:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(0.001):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello")
            answer = await reader.read(10)
        writer.close()
        server.close()
        return answer

    assert loop.run(ask()) == b"hello"
    assert loop.time() == 0


def test_threads_take_turns_with_the_loop(loop: VirtualLoop) -> None:
    course: list[str] = []
    both_run = threading.Barrier(2)

    async def answer() -> str:
        course.append("loop")
        await asyncio.sleep(60)
        return "answer"

    def work() -> str:
        course.append("thread")
        with pytest.raises(threading.BrokenBarrierError):
            both_run.wait(0.01)
        course.append(loop.run(answer()))
        return "end"

    async def both() -> list[str]:
        return list(await asyncio.gather(asyncio.to_thread(work), asyncio.to_thread(work)))

    assert loop.run(both()) == ["end", "end"]
    assert course == ["thread", "thread", "loop", "loop", "answer", "answer"]
    assert loop.time() == 60


def test_an_error_of_a_thread_arrives(loop: VirtualLoop) -> None:
    def work() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        loop.run(asyncio.to_thread(work))


def test_waiting_for_ever_is_an_error(loop: VirtualLoop) -> None:
    with pytest.raises(RuntimeError, match="never comes"):
        loop.run(asyncio.Event().wait())


def test_the_loop_does_not_wait_for_itself(loop: VirtualLoop) -> None:
    async def inside() -> None:
        loop.run(asyncio.sleep(1))

    with pytest.raises(RuntimeError, match="must not"):
        loop.run(inside())
