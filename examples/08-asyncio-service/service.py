"""A scheduling service in one event loop: workers and clients connect, and talk in lines of JSON.

A worker sends ``{"join": name, "capacity": {…}}``, receives ``{"run": key}``, and answers ``{"done": key}``
or ``{"failed": key}``. A client sends ``{"submit": key, "requests": {…}}`` and receives what becomes of it.
"""

from __future__ import annotations

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from typing import Any, Self

from attrs import define, field, frozen

from schedframe import SchedframeError
from schedframe.embed import AsyncDriver, Backoff, Embedding, NotStarted, PlacementFailure, Requirements

HOST = "127.0.0.1"


def send(writer: StreamWriter, **message: Any) -> None:
    """Send a line, unless the other end is gone."""
    if not writer.is_closing():
        writer.write(json.dumps(message).encode() + b"\n")


async def lines(reader: StreamReader) -> AsyncIterator[dict[str, Any]]:
    """Messages, until the other end is gone."""
    while line := await reader.readline():
        yield json.loads(line)


@frozen(eq=False)
class Order:
    """Something to be done for a client."""

    key: str
    requests: dict[str, float]
    priority: int
    client: StreamWriter
    labels: dict[str, str] = field(factory=dict)


@frozen(eq=False)
class Connected:
    """A worker at the other end of a connection."""

    key: str
    capacity: dict[str, float]
    labels: dict[str, str]
    writer: StreamWriter


@define(eq=False)
class Service:
    """Use it in ``async with``; ``port`` is where it listens then."""

    driver: AsyncDriver = field(factory=AsyncDriver)
    port: int = 0
    _embedding: Embedding[Order, Connected] = field(init=False)
    _server: asyncio.Server = field(init=False)
    _driving: asyncio.Task[None] = field(init=False)
    _connections: dict[StreamWriter, asyncio.Task[None] | None] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._embedding = Embedding(
            on_place=self._placed,
            on_unplaced=self._waits,
            needs=lambda order: Requirements(priority=order.priority),
            retry=Backoff(initial=0.01, longest=1.0),
            wake_up=self.driver.wake_up,
        )

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        self._driving = asyncio.create_task(self.driver.run(self._embedding))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        connections = dict(self._connections)
        for writer in connections:
            writer.close()
        await asyncio.gather(*(task for task in connections.values() if task is not None))
        self.driver.stop()
        await self._driving
        self._embedding.close()

    # ---- what the scheduler decides ----

    def _placed(self, order: Order, worker: Connected) -> None:
        if worker.writer.is_closing():
            raise NotStarted(f"{worker.key} hung up")
        send(worker.writer, run=order.key)
        send(order.client, placed=order.key, on=worker.key)

    def _waits(self, order: Order, why: PlacementFailure) -> None:
        send(order.client, waits=order.key, why=why.message)

    # ---- what others say ----

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        joined: list[Connected] = []
        self._connections[writer] = asyncio.current_task()
        try:
            async for message in lines(reader):
                try:
                    self._handle(message, writer, joined)
                except (LookupError, SchedframeError) as error:
                    send(writer, error=f"{type(error).__name__}: {error}")
                await writer.drain()
        except (ConnectionError, json.JSONDecodeError):
            pass  # as good as the end of the stream: nothing sensible will follow
        finally:
            del self._connections[writer]
            for worker in joined:
                self._embedding.remove_worker(worker)
            writer.close()

    def _handle(self, message: dict[str, Any], writer: StreamWriter, joined: list[Connected]) -> None:
        embedding = self._embedding
        match message:
            case {"submit": key}:
                embedding.submit(Order(key, message["requests"], message.get("priority", 0), writer))
            case {"join": key}:
                worker = Connected(key, message["capacity"], message.get("labels", {}), writer)
                embedding.add_worker(worker)
                joined.append(worker)
            case {"done": key}:
                order = embedding.task_of(key)
                if order is not None and embedding.finish(key, on=joined[0].key):
                    send(order.client, done=key, on=joined[0].key)
            case {"failed": key}:
                embedding.fail(key, on=joined[0].key)
            case {"ping": number}:
                send(writer, pong=number, tasks=len(embedding))
            case _:
                send(writer, error=f"unknown message {sorted(message)}")
