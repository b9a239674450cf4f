"""Connections that carry requests one after another, to a server that answers as the test chooses."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from schedframe.cluster.kubernetes import Access
from schedframe.cluster.kubernetes.client import UNREAD, ApiClient
from schedframe.cluster.kubernetes.credentials import NoToken, StaticToken, TokenSource
from schedframe.cluster.kubernetes.errors import ApiError, NoAnswer, Unreachable
from schedframe.http.address import Address
from schedframe.http.kept import KEEP_ALIVE_SECONDS
from schedframe.http.loop import ConnectionPool
from schedframe.http.protocols import Connection
from schedframe.testing.api_server.binary import in_binary

from .scripted import run

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Server:
    """Gives one of ``answers`` to each request, the last one for ever.

    ``None`` closes the connection instead, and ``...`` says nothing.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.heads: list[str] = []
        self.connections: list[asyncio.StreamWriter] = []
        self.ended = 0
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                for line in head.split("\r\n"):
                    if line.startswith("Content-Length"):
                        await reader.readexactly(int(line[16:]))
                self.heads.append(head)
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if answer is None:
                    break
                if answer is not ...:
                    writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        self.ended += 1
        writer.close()

    @property
    def lines(self) -> list[str]:
        return [head.split(" HTTP")[0] for head in self.heads]


def exchange(
    work: Callable[[Server, ApiClient], Awaitable[Any]],
    *answers: Any,
    host: str = "127.0.0.1",
    prefix: str = "",
    tokens: TokenSource | None = None,
    **access: Any,
) -> Server:
    """Run *work* with a server and a client of it; return the server."""
    server = Server(*answers or (OK,))

    async def body() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        server.port = listening.sockets[0].getsockname()[1]
        client = ApiClient(Access(f"http://{host}:{server.port}{prefix}", tokens or NoToken(), **access))
        try:
            await work(server, client)
        finally:
            await client.close()
            listening.close()

    run(body)
    return server


def test_one_connection_carries_one_request_after_another() -> None:
    async def work(server: Server, client: ApiClient) -> None:
        for path in ("/a", "/b?x=y"):
            assert await client.request("GET", path) == b"{}"
        await client.request("DELETE", "/c", b"12")
        await client.request("POST", "/d")
        assert len(server.connections) == 1
        await asyncio.gather(*(client.request("GET", "/e") for _ in range(3)))
        assert len(server.connections) == 3

    server = exchange(work, prefix="/k8s", tokens=StaticToken("Bearer secret"))
    assert server.lines[:4] == ["GET /k8s/a", "GET /k8s/b?x=y", "DELETE /k8s/c", "POST /k8s/d"]
    headers = [set(head.split("\r\n")[1:]) for head in server.heads]
    assert {f"Host: 127.0.0.1:{server.port}", "Authorization: Bearer secret"} <= headers[0]
    assert not any(line.startswith("Content-Length") for line in headers[0])
    assert {"Content-Length: 2", "Content-Type: application/json"} <= headers[2]
    assert "Content-Length: 0" in headers[3]


def test_a_host_by_name() -> None:
    async def work(server: Server, client: ApiClient) -> None:
        assert await client.request("GET", "/a") == b"{}"

    assert exchange(work, host="localhost").lines == ["GET /a"]


def test_a_connection_that_the_server_closes_afterwards_is_not_used_again() -> None:
    closing = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")

    async def work(server: Server, client: ApiClient) -> None:
        await client.request("POST", "/a", b"{}")
        await client.request("POST", "/b", b"{}")
        assert len(server.connections) == 2

    exchange(work, closing, OK)


def test_an_idle_connection_that_has_ended_is_not_used() -> None:
    async def work(server: Server, client: ApiClient) -> None:
        await client.request("POST", "/a", b"{}")
        server.connections[0].close()
        await asyncio.sleep(0.05)
        await client.request("POST", "/b", b"{}")

    assert exchange(work).lines == ["POST /a", "POST /b"]


@pytest.mark.parametrize(("method", "is_repeated"), [("GET", True), ("POST", False), ("DELETE", False)])
def test_only_a_read_is_repeated_when_an_idle_connection_ends(method: str, is_repeated: bool) -> None:
    async def work(server: Server, client: ApiClient) -> None:
        await client.request("GET", "/a")
        request = client.request(method, "/b", None if method == "GET" else b"{}")
        if is_repeated:
            assert await request == b"{}"
        else:
            with pytest.raises(NoAnswer, match="ended before the answer"):
                await request

    assert exchange(work, OK, None, OK).lines == ["GET /a", *[f"{method} /b"] * (1 + is_repeated)]


@pytest.mark.parametrize(
    "answer", [None, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", b"nonsense\r\n\r\n"]
)
def test_half_an_answer_is_none(answer: bytes | None) -> None:
    async def work(server: Server, client: ApiClient) -> None:
        request = asyncio.ensure_future(client.request("GET", "/a"))
        while not server.heads:
            await asyncio.sleep(0.001)
        server.connections[0].close()
        with pytest.raises(NoAnswer):
            await request

    assert exchange(work, answer).lines == ["GET /a"]


def test_a_request_without_an_answer_gives_its_connection_up() -> None:
    async def work(server: Server, client: ApiClient) -> None:
        with pytest.raises(NoAnswer, match="no answer within 0"):
            await client.request("POST", "/a", b"{}", seconds=0.05)
        waiting = asyncio.ensure_future(client.request("POST", "/b", b"{}"))
        while len(server.heads) < 2:
            await asyncio.sleep(0.001)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.sleep(0.05)
        assert server.ended == 2

    exchange(work, ...)


def test_bytes_that_no_request_has_asked_for_end_the_connection() -> None:
    async def work(server: Server, client: ApiClient) -> None:
        await client.request("GET", "/a")
        server.connections[0].write(OK)
        await asyncio.sleep(0.05)
        await client.request("GET", "/b")
        assert len(server.connections) == 2

    exchange(work)


def test_nothing_listens() -> None:
    async def work(server: Server, client: ApiClient) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            other = ApiClient(Access(f"http://127.0.0.1:{taken.getsockname()[1]}", NoToken()))
            with pytest.raises(Unreachable, match="cannot connect to 127"):
                await other.request("POST", "/a", b"{}")

    exchange(work)


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/a\n"])
def test_a_path_cannot_add_lines(path: str) -> None:
    async def work(server: Server, client: ApiClient) -> None:
        with pytest.raises(Unreachable, match="cannot be sent"):
            await client.request("GET", path)

    assert exchange(work).lines == []


def test_a_token_cannot_add_lines() -> None:
    async def work(server: Server, client: ApiClient) -> None:
        with pytest.raises(Unreachable, match="cannot be sent") as caught:
            await client.request("GET", "/a")
        assert "secret" not in str(caught.value)

    assert exchange(work, tokens=StaticToken("Bearer secret\r\nX: y")).lines == []


def test_a_redirect_is_followed() -> None:
    to = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"

    async def work(server: Server, client: ApiClient) -> None:
        assert await client.request("GET", "/a") == b"{}"

    assert exchange(work, to, OK).lines == ["GET /a", "GET /there"]


def test_what_the_server_says_about_a_failure() -> None:
    body = b'{"reason": "TooManyRequests", "message": "later"}'
    answer = b"HTTP/1.1 429 X\r\nRetry-After: 7\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    async def work(server: Server, client: ApiClient) -> None:
        with pytest.raises(ApiError) as caught:
            await client.request("GET", "/a?b=c")
        error = caught.value
        assert (error.status, error.reason, error.message) == (429, "TooManyRequests", "later")
        assert error.retry_after == 7.0
        assert str(error) == "GET /a: 429 TooManyRequests: later"

    exchange(work, answer)


def test_a_failure_and_a_success_in_the_binary_form() -> None:
    status = {"kind": "Status", "reason": "Conflict", "message": "it has a node", "code": 409}
    failure, success = in_binary(status), in_binary({"kind": "Event", "apiVersion": "events.k8s.io/v1"})
    refused = b"HTTP/1.1 409 X\r\nContent-Length: %d\r\n\r\n" % len(failure) + failure
    taken = b"HTTP/1.1 201 X\r\nContent-Length: %d\r\n\r\n" % len(success) + success
    half = b"HTTP/1.1 500 X\r\nContent-Length: 6\r\n\r\nk8s\x00\x12\x7f"

    async def work(server: Server, client: ApiClient) -> None:
        with pytest.raises(ApiError) as caught:
            await client.request("POST", "/a", b"{}", accept=UNREAD)
        assert (caught.value.reason, caught.value.message) == ("Conflict", "it has a node")
        assert await client.request("POST", "/a", b"{}", accept=UNREAD) == success
        with pytest.raises(ApiError) as caught:
            await client.request("POST", "/a", b"{}", accept=UNREAD)
        assert (caught.value.status, caught.value.reason) == (500, "")

    exchange(work, refused, taken, half)


def test_connections_that_are_idle_for_long_are_closed() -> None:
    async def work(server: Server, client: ApiClient) -> None:
        await asyncio.gather(*(client.request("GET", "/a") for _ in range(2)))
        assert client._pool is not None
        pool = client._pool.pool
        (idle,) = pool._kept._idle.values()
        for index, (since, connection) in enumerate(idle):
            idle[index] = since - KEEP_ALIVE_SECONDS - 1.0, connection
        await client.request("GET", "/b")
        await asyncio.sleep(0.05)
        assert (len(server.connections), server.ended, len(pool._all)) == (3, 2, 1)

    exchange(work)


def test_an_address_that_does_not_answer_is_tried_last() -> None:
    async def work(server: Server, client: ApiClient) -> None:
        pool, several = ConnectionPool(), Address.of(f"http://several.example:{server.port}")
        asked: list[Any] = []

        async def both(*_: Any, **__: Any) -> list[Any]:
            ends = ("127.0.0.2", server.port), ("127.0.0.1", server.port)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", end) for end in ends]

        loop: Any = asyncio.get_running_loop()
        connect = loop.sock_connect

        async def counted(made: socket.socket, address: Any) -> None:
            asked.append(address[0])
            await connect(made, address)

        loop.getaddrinfo, loop.sock_connect = both, counted
        await pool._connect(several, loop.time() + 5.0, Connection)
        await pool._connect(several, loop.time() + 5.0, Connection)
        await pool.close()
        assert asked == ["127.0.0.2", "127.0.0.1", "127.0.0.1"]

    exchange(work)
