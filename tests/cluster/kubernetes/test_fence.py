"""The fence: nothing is written after the deadline, whatever a request waited for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from schedframe.cluster.kubernetes import Access
from schedframe.cluster.kubernetes.client import ApiClient
from schedframe.cluster.kubernetes.credentials import NoToken
from schedframe.cluster.kubernetes.errors import NoAnswer, NotLeading
from schedframe.cluster.kubernetes.fence import Fence, boot_time
from tests.cluster.kubernetes.scripted import run

Handler = Callable[[str, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Answers each request with an empty object, and keeps its first line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.silent = False
        self.resets = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = [
                    int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length")
                ]
                if length:
                    await reader.readexactly(length[0])
                self.lines.append(head.split(" HTTP")[0])
                if not self.silent:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        except ConnectionResetError:
            self.resets += 1
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


def exchange(work: Callable[[Server, ApiClient, Fence, list[float]], Awaitable[Any]]) -> Server:
    """Run *work* with a server, a client, its fence, and the time of the fence's clock in a list."""
    server = Server()

    async def body() -> None:
        now = [100.0]
        fence = Fence(lambda: now[0])
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        client = ApiClient(Access(f"http://127.0.0.1:{port}", NoToken()), fence=fence)
        try:
            await work(server, client, fence, now)
        finally:
            await client.close()
            listening.close()

    run(body)
    return server


def test_it_is_closed_until_it_is_extended() -> None:
    async def work(server: Server, client: ApiClient, fence: Fence, now: list[float]) -> None:
        with pytest.raises(NotLeading):
            await client.request("POST", "/a", b"{}")
        assert json.loads(await client.request("GET", "/b")) == {}  # reading needs no lease
        fence.extend(101.0)
        await client.request("POST", "/c", b"{}")
        now[0] = 101.0
        with pytest.raises(NotLeading):
            await client.request("POST", "/d", b"{}")
        fence.extend(102.0)
        fence.close()
        with pytest.raises(NotLeading):
            await client.request("DELETE", "/e", b"{}")
        assert fence.refused == 3

    assert exchange(work).lines == ["GET /b", "POST /c"]


def test_it_is_checked_when_the_connection_is_there() -> None:
    async def work(server: Server, client: ApiClient, fence: Fence, now: list[float]) -> None:
        fence.extend(101.0)
        post = asyncio.ensure_future(client.request("POST", "/late", b"{}"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # it makes the connection now
        now[0] = 102.0
        with pytest.raises(NotLeading):
            await post
        fence.extend(103.0)
        await client.request("POST", "/after", b"{}")

    assert exchange(work).lines == ["POST /after"]


def test_cutting_off_resets_connections() -> None:
    async def work(server: Server, client: ApiClient, fence: Fence, now: list[float]) -> None:
        fence.extend(101.0)
        server.silent = True
        post = asyncio.ensure_future(client.request("POST", "/a", b"{}"))
        while not server.lines:
            await asyncio.sleep(0.001)
        await client.cut_off()
        with pytest.raises(NoAnswer):
            await post
        server.silent = False
        await client.request("POST", "/b", b"{}")

    server = exchange(work)
    assert (server.lines, server.resets) == (["POST /a", "POST /b"], 1)


def test_the_clock_goes_on() -> None:
    before = boot_time()
    assert boot_time() >= before
