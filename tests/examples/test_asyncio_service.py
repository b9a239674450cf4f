"""The service and those who talk to it, in one event loop over loopback."""

from __future__ import annotations

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from attrs import frozen

from schedframe.embed import AsyncDriver

from .loading import load
from .running import EXAMPLES

PATIENCE = 60.0


@frozen
class Peer:
    """One connection to the service."""

    reader: StreamReader
    writer: StreamWriter

    def say(self, **message: Any) -> None:
        self.writer.write(json.dumps(message).encode() + b"\n")

    async def hear(self) -> Any:
        return json.loads(await self.reader.readline())


Connect = Callable[[], Awaitable[Peer]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Connect], Awaitable[None]]], None]:
    module = load(EXAMPLES / "08-asyncio-service" / "service.py", monkeypatch)

    async def bounded(talk: Callable[[Connect], Awaitable[None]]) -> None:
        peers: list[Peer] = []
        async with asyncio.timeout(PATIENCE), module.Service(AsyncDriver(budget=0)) as service:

            async def connect() -> Peer:
                peers.append(Peer(*await asyncio.open_connection(module.HOST, service.port)))
                return peers[-1]

            await talk(connect)
        for peer in peers:
            peer.writer.close()

    return lambda talk: asyncio.run(bounded(talk))


def test_a_task_from_its_submission_to_its_end(serve: Any) -> None:
    async def talk(connect: Connect) -> None:
        client, worker = await connect(), await connect()
        client.say(submit="t", requests={"slots": 0.5})
        assert await client.hear() == {"waits": "t", "why": "no workers available to schedule tasks"}
        worker.say(join="w", capacity={"slots": 1})
        assert await worker.hear() == {"run": "t"}
        assert await client.hear() == {"placed": "t", "on": "w"}
        worker.say(failed="t")
        assert await worker.hear() == {"run": "t"}
        worker.say(done="t")
        assert [await client.hear() for _ in range(2)] == [
            {"placed": "t", "on": "w"},
            {"done": "t", "on": "w"},
        ]

    serve(talk)


def test_the_tasks_of_a_worker_that_hangs_up_go_to_another(serve: Any) -> None:
    async def talk(connect: Connect) -> None:
        client, first, second = await connect(), await connect(), await connect()
        first.say(join="first", capacity={"slots": 1})
        client.say(submit="t", requests={"slots": 1})
        assert await first.hear() == {"run": "t"}
        second.say(join="second", capacity={"slots": 1})
        second.say(ping=1)
        await second.hear()  # it has joined
        first.writer.close()
        assert await second.hear() == {"run": "t"}
        assert [await client.hear() for _ in range(2)] == [
            {"placed": "t", "on": "first"},
            {"placed": "t", "on": "second"},
        ]

    serve(talk)


def test_others_are_answered_while_tasks_are_placed(serve: Any) -> None:
    async def talk(connect: Connect) -> None:
        client, worker, other = await connect(), await connect(), await connect()
        worker.say(join="w", capacity={"slots": 500})
        for i in range(500):
            client.say(submit=str(i), requests={"slots": 1})
        assert await worker.hear() == {"run": "0"}
        other.say(ping=7)
        pong = await other.hear()
        placed = [await client.hear() for _ in range(500)]
        assert pong["pong"] == 7
        assert {message["on"] for message in placed} == {"w"}

    serve(talk)


def test_mistakes_are_answered_and_harm_nobody(serve: Any) -> None:
    async def talk(connect: Connect) -> None:
        client = await connect()
        for message, answer in {
            '{"submit": "t"}': "KeyError: 'requests'",
            '{"submit": "t", "requests": {"slots": -1}}': "InputError: requests['slots']: -1 is below 0",
            '{"submit": 7, "requests": {}}': "InputError: key: 7 is not a key",
            '{"done": "t"}': "",
            '{"failed": "t"}': "IndexError",
            '{"hello": 1}': "unknown message ['hello']",
        }.items():
            client.writer.write(message.encode() + b"\n")
            if answer:
                assert (await client.hear())["error"].startswith(answer)
        client.say(ping=1)
        assert await client.hear() == {"pong": 1, "tasks": 0}
        client.writer.write(b"no JSON\n")
        assert await client.reader.read() == b""  # hung up
        again = await connect()
        again.say(ping=2)
        assert await again.hear() == {"pong": 2, "tasks": 0}

    serve(talk)
