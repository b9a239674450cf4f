"""Ways to the API server: redirects, proxies and their limits, for requests and watches alike."""

from __future__ import annotations

import asyncio
import base64
import gzip
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from attrs import define, field

from schedframe.cluster.kubernetes import Access
from schedframe.cluster.kubernetes.client import MOST_REQUESTS, ApiClient
from schedframe.cluster.kubernetes.credentials import NoToken, StaticToken
from schedframe.cluster.kubernetes.errors import ApiError, NoAnswer, Unreachable
from schedframe.http.parser import LARGEST_BODY, LARGEST_HEAD, ReplyParser
from schedframe.http.protocols import MOST_UNTAKEN

from .scripted import run

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}\n"


def redirect(location: str, status: int = 307) -> bytes:
    return f"HTTP/1.1 {status} X\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()


@define(eq=False)
class Server:
    """Gives one of ``answers`` to each request, the last one for ever; remembers the heads."""

    answers: list[bytes] = field(factory=lambda: [OK])
    heads: list[str] = field(factory=list)
    bodies: list[bytes] = field(factory=list)
    port: int = 0
    connections: int = 0
    ended: int = 0

    async def __aenter__(self) -> Server:
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._listening.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()

    _listening: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = head.partition("Content-Length: ")[2].partition("\r\n")[0]
                self.bodies.append(await reader.readexactly(int(length or 0)))
                self.heads.append(head)
                writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
        self.ended += 1

    @property
    def lines(self) -> list[str]:
        return [head.split(" HTTP/1.1")[0] for head in self.heads]


async def got(client: ApiClient) -> bytes:
    return await client.request("GET", "/a?b=c")


async def watched(client: ApiClient) -> bytes:
    async with client.stream("/a?b=c", quiet_seconds=10.0) as batches:
        async for lines in batches:
            return lines[0]
    raise AssertionError("the watch ended before a line")


READS = pytest.mark.parametrize("read", [got, watched])
Read = Callable[[ApiClient], Awaitable[bytes]]


def asked(work: Callable[[Server, Server], Awaitable[None]]) -> None:
    async def body() -> None:
        async with Server() as first, Server() as second:
            await work(first, second)

    run(body)


# ---- redirects ---------------------------------------------------------------------------------------------


@READS
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_read_follows_redirects(read: Read, status: int) -> None:
    async def work(first: Server, second: Server) -> None:
        first.answers = [redirect("there?d=e", status), OK]
        client = ApiClient(Access(f"{first.url}/k8s", StaticToken("Bearer secret")))
        assert (await read(client)).strip() == b"{}"
        assert first.lines == ["GET /k8s/a?b=c", "GET /k8s/there?d=e"]
        assert all("Authorization: Bearer secret\r\n" in head for head in first.heads)
        await client.close()

    asked(work)


@READS
def test_another_server_gets_no_credentials(read: Read) -> None:
    async def work(first: Server, second: Server) -> None:
        first.answers = [redirect(f"{second.url}/there")]
        client = ApiClient(Access(first.url, StaticToken("Bearer secret")))
        assert (await read(client)).strip() == b"{}"
        assert (second.lines, "secret" in second.heads[0]) == (["GET /there"], False)
        assert f"Host: 127.0.0.1:{second.port}\r\n" in second.heads[0]
        await client.close()

    asked(work)


@READS
def test_redirects_without_end(read: Read) -> None:
    async def work(first: Server, second: Server) -> None:
        first.answers = [redirect("/again")]
        client = ApiClient(Access(first.url, NoToken()))
        with pytest.raises(NoAnswer, match="stopped after 10 redirects"):
            await read(client)
        assert len(first.lines) == MOST_REQUESTS
        await client.close()

    asked(work)


@READS
@pytest.mark.parametrize("location", ["ftp://elsewhere/", "http://[bad/", "mailto:example"])
def test_a_redirect_to_nowhere_is_a_failure(read: Read, location: str) -> None:
    async def work(first: Server, second: Server) -> None:
        first.answers = [redirect(location)]
        client = ApiClient(Access(first.url, NoToken()))
        with pytest.raises(ApiError, match=": 307 "):
            await read(client)
        await client.close()

    asked(work)


@pytest.mark.parametrize("status", [307, 308])
def test_a_write_is_repeated_as_it_is(status: int) -> None:
    async def work(first: Server, second: Server) -> None:
        first.answers = [redirect(f"{second.url}/there", status)]
        client = ApiClient(Access(first.url, NoToken()))
        assert (await client.request("POST", "/a", b'{"x":1}')).strip() == b"{}"
        assert (second.lines, second.bodies) == (["POST /there"], [b'{"x":1}'])
        await client.close()

    asked(work)


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_write_that_would_become_a_read_has_failed(status: int) -> None:
    async def work(first: Server, second: Server) -> None:
        first.answers = [redirect(f"{second.url}/there", status)]
        client = ApiClient(Access(first.url, NoToken()))
        with pytest.raises(ApiError, match=f": {status} ") as caught:
            await client.request("POST", "/a", b"{}")
        assert caught.value.is_refusal
        assert second.lines == []
        await client.close()

    asked(work)


# ---- proxies -----------------------------------------------------------------------------------------------


@READS
def test_plain_http_is_sent_to_the_proxy(read: Read) -> None:
    async def work(proxy: Server, _: Server) -> None:
        url = proxy.url.replace("://", "://me:secret@")
        client = ApiClient(Access("http://api.example:8080/k8s", NoToken(), proxy_url=url))
        assert (await read(client)).strip() == b"{}"
        assert proxy.lines == ["GET http://api.example:8080/k8s/a?b=c"]
        assert "Host: api.example:8080\r\n" in proxy.heads[0]
        assert "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in proxy.heads[0]
        await client.close()

    asked(work)


@READS
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 407 Who are you\r\n\r\n", "the proxy did not connect: HTTP/1.1 407 Who are you"),
        (b"SSH-2.0\r\n\r\n", "the proxy did not connect: SSH-2.0"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000, "cut off or too long"),
        (b"HTTP/1.1 200 OK\r\n\r\nnot TLS", "the proxy did not connect"),
    ],
)
def test_a_proxy_that_does_not_connect(read: Read, answer: bytes, words: str) -> None:
    async def work(proxy: Server, _: Server) -> None:
        proxy.answers = [answer]
        client = ApiClient(Access("https://api.example", NoToken(), proxy_url=proxy.url))
        with pytest.raises(Unreachable, match=words):
            await read(client)
        assert proxy.lines == ["CONNECT api.example:443"]
        await client.close()

    asked(work)


@READS
def test_a_user_of_the_url_is_authorized(read: Read) -> None:
    async def work(server: Server, _: Server) -> None:
        client = ApiClient(Access(server.url.replace("://", "://me:secret@"), NoToken()))
        assert (await read(client)).strip() == b"{}"
        pair = base64.b64encode(b"me:secret").decode()
        assert f"Authorization: Basic {pair}\r\n" in server.heads[0]
        await client.close()

    asked(work)


# ---- bounds ------------------------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies of a megabyte are too large."""
    monkeypatch.setitem(ReplyParser.__init__.__kwdefaults__, "largest_body", 1 << 20)


LONG = b" " * (1 << 20)
HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(HEAD + b"Content-Length: %d\r\n\r\n" % (LARGEST_BODY + 1), id="length"),
        pytest.param(HEAD + b"\r\n{}" + LONG, id="body without a length"),
        pytest.param(HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(LONG * 8), id="decompressed"),
        pytest.param(HEAD + b"X: " + b"x" * 2 * LARGEST_HEAD, id="header"),
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 2 * LARGEST_HEAD, id="extension"
        ),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * LARGEST_HEAD, id="early answers"),
    ],
)
def test_an_answer_that_is_too_large_is_given_up_before_the_deadline(small: None, answer: bytes) -> None:
    async def work(server: Server, _: Server) -> None:
        server.answers = [answer]
        client, loop = ApiClient(Access(server.url, NoToken())), asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(NoAnswer, match=" bytes"):
            await client.request("GET", "/a", seconds=100.0)
        assert loop.time() - began < 100.0
        await client.close()

    asked(work)


@pytest.mark.parametrize("answer", [HEAD + b"X: " + b"x" * 2 * LARGEST_HEAD, b"nonsense\r\n"])
def test_a_watch_whose_head_is_none(answer: bytes) -> None:
    async def work(server: Server, _: Server) -> None:
        server.answers = [answer]
        client = ApiClient(Access(server.url, NoToken()))
        with pytest.raises(NoAnswer) as caught:
            await watched(client)
        assert not caught.value.is_quiet
        await client.close()

    asked(work)


# ---- streams -----------------------------------------------------------------------------------------------

CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def test_a_watch_has_a_connection_of_its_own_which_ends_with_it() -> None:
    async def work(server: Server, _: Server) -> None:
        client = ApiClient(Access(server.url, NoToken()))
        await got(client)
        await watched(client)
        await got(client)
        assert server.connections == 2
        while server.ended < 1:
            await asyncio.sleep(0.01)
        await client.close()

    asked(work)


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        (CHUNKED + b"3\r\na\nb\r\n2\r\nc\n\r\n0\r\n\r\n", [b"a", b"bc"]),
        (HEAD + b"Content-Length: 2\r\n\r\na\n", [b"a"]),
        (CHUNKED + b"0\r\n\r\n", []),
    ],
)
def test_a_watch_that_the_server_ends(answer: bytes, lines: list[bytes]) -> None:
    async def work(server: Server, _: Server) -> None:
        server.answers = [answer]
        client, found = ApiClient(Access(server.url, NoToken())), list[bytes]()
        async with client.stream("/a", quiet_seconds=10.0) as batches:
            async for batch in batches:
                found += [line for line in batch if line]
        assert found == lines
        await client.close()

    asked(work)


@pytest.mark.parametrize("end", [b"zz\r\n", b"2\r\nabab"])
def test_what_came_before_a_watch_breaks_is_not_lost(end: bytes) -> None:
    async def work(server: Server, _: Server) -> None:
        server.answers = [CHUNKED + b"2\r\na\n\r\n" + end]
        client, found = ApiClient(Access(server.url, NoToken())), list[bytes]()

        async def read() -> None:
            async with client.stream("/a", quiet_seconds=10.0) as batches:
                async for batch in batches:
                    found.extend(batch)

        with pytest.raises(NoAnswer, match="malformed chunk") as caught:
            await read()
        assert (found, caught.value.is_quiet) == ([b"a"], False)
        await client.close()

    asked(work)


def test_a_server_waits_for_a_reader_that_is_slow() -> None:
    """What is not taken does not fill the memory, and all of it is read in the end."""
    line, count = b"x" * 65_535 + b"\n", 64

    async def work(server: Server, _: Server) -> None:
        server.answers = [HEAD + b"Content-Length: %d\r\n\r\n" % (len(line) * count) + line * count]
        client, found = ApiClient(Access(server.url, NoToken())), 0
        async with client.stream("/a", quiet_seconds=10.0) as batches:
            async for lines in batches:
                found += sum(map(bool, lines))
                await asyncio.sleep(1)
                (stream,) = client._streams._all
                assert stream._size <= 2 * MOST_UNTAKEN
        assert found == count
        await client.close()

    asked(work)
