"""Answers of every form, byte by byte: what counts, what is an error, and what becomes of the connection.

The reference reads the body by ``net/http`` of Go and its first value by ``encoding/json``.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import define, field

import schedframe
from schedframe.extenders import HttpExtender
from schedframe.http.blocking import _PIECE as _CHUNK
from tests.cycle.build import make_node, make_pod

from .test_bad_servers import config

NODES = ("node-0", "node-1", "node-2")
KEEP = b'{"NodeNames":["node-1"]}'


def plain(body: bytes, *headers: bytes) -> bytes:
    """Return an answer with its length."""
    lines = (b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(body: bytes, size: int = 7, *, trailer: bytes = b"") -> bytes:
    """Return an answer in chunks of *size* bytes."""
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    chunks = b"".join(b"%X;ext=1\r\n%b\r\n" % (len(part), part) for part in parts)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n" + trailer + b"\r\n"


@define(eq=False)
class RawServer:
    """Sends prepared bytes after each request, whatever it is."""

    answers: list[bytes] = field(factory=list)
    """In order; the last one is repeated."""
    closes: bool = False
    """Close each connection after its first answer."""
    endless: bytes = b""
    """Sent again and again after the answer."""
    has_closed: threading.Semaphore = field(factory=lambda: threading.Semaphore(0))
    """Released when a connection was closed."""
    connections: int = 0
    requests: int = 0
    heads: list[bytes] = field(factory=list)
    bodies: list[bytes] = field(factory=list)
    _server: socket.socket = field(init=False)
    _open: list[socket.socket] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def close(self) -> None:
        self._server.close()
        for connection in self._open:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        received = b""
        try:
            while True:
                while (end := received.find(b"\r\n\r\n")) < 0:
                    if not (more := connection.recv(65536)):
                        return
                    received += more
                head = received[:end]
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                while len(received) < end + 4 + length:
                    received += connection.recv(65536)
                self.heads.append(head)
                self.bodies.append(received[end + 4 : end + 4 + length])
                received = received[end + 4 + length :]
                self.requests += 1
                connection.sendall(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
                while self.endless:
                    connection.sendall(self.endless)
                if self.closes:
                    connection.close()
                    self.has_closed.release()
                    return
        except OSError:
            pass


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    servers = []

    def start(*answers: bytes, **more: Any) -> RawServer:
        servers.append(RawServer(list(answers), **more))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def world(server: RawServer, **entry: Any) -> schedframe.Simulation:
    given = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True, **entry}
    return schedframe.Simulation([make_node(name, cpu=8) for name in NODES], config(given))


def outcome(server: RawServer, **entry: Any) -> str:
    """Return the node of a pod, or why there is none."""
    with world(server, **entry) as simulation:
        (placed,) = simulation.schedule([make_pod()])
    return placed.node_name or placed.message


def extender_of(simulation: schedframe.Simulation) -> HttpExtender:
    (extender,) = simulation.scheduler.core.extenders
    assert isinstance(extender, HttpExtender)
    return extender


@pytest.mark.parametrize(
    "answer",
    [
        plain(KEEP),
        plain(b" \r\n\t" + KEEP),
        plain(KEEP + b'\n{"NodeNames":["node-2"]} and more'),  # only the first value is read
        plain(KEEP + b"\x00\xff"),
        plain(KEEP, b"Content-Type: text/plain", b"X-Empty:"),
        chunked(KEEP),
        chunked(KEEP, 1, trailer=b"X-Checksum: 1\r\n"),
        chunked(KEEP).replace(b"Transfer-Encoding: chunked", b"transfer-encoding:  Chunked"),
        b"HTTP/1.1 200\r\nContent-Length: %d\r\n\r\n%b" % (len(KEEP), KEEP),
        b"HTTP/1.1 100 Continue\r\n\r\n" + plain(KEEP),
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + plain(KEEP),
        plain(b'{"nodenames":["node-1"]}'),
        plain(b'{"NODENAMES":["node-1"],"Unknown":{"a":[1,{}]}}'),
        plain(b'{"Nodes":null,"NodeNames":["node-1"],"FailedNodes":null,"Error":null}'),
        plain(b'{"NodeNames":["node-2"],"nodeNames":["node-1"]}'),  # the last one counts
        plain(b'{"Nodes":{"items":[{"metadata":{"name":"node-2"}}]},"NodeNames":["node-1"]}'),
        plain(b'{"NodeNames":["node-\\u0031"],"FailedNodes":{"node-1":"kept nevertheless"}}'),
    ],
)
def test_the_node_is_kept(serve: Callable[..., RawServer], answer: bytes) -> None:
    assert outcome(serve(answer)) == "node-1"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (plain(b""), "the answer is empty"),
        (plain(b"   "), "the answer is empty"),
        (plain(b"[1"), "the answer is not JSON"),
        (plain(b"NaN"), "the answer is not JSON"),
        (plain(b"[]"), "the answer is a list; it must be an object"),
        (plain(b'{"NodeNames":"node-1"}'), "NodeNames is text; it must be a list"),
        (plain(b'{"NodeNames":[1]}'), "NodeNames is a number; it must be text"),
        (plain(b'{"NodeNames":["node-1"],"FailedNodes":["node-2"]}'), "FailedNodes is a list"),
        (plain(b'{"NodeNames":["node-1"],"Error":{}}'), "Error is an object; it must be text"),
        (plain(b'{"NodeNames":["node-1"],"Error":"no licence server"}'), "no licence server"),
        (plain(b'{"NodeNames":["node-1","Node-1"]}'), 'a filtered node "Node-1" which is not found'),
        (plain(KEEP).replace(b"200 OK", b"204 No Content"), "code 204"),
        (plain(KEEP).replace(b"200 OK", b"201 Created"), "code 201"),
        (plain(KEEP).replace(b"200 OK", b"500 Oops"), "code 500"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}", "Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}", "Content-Length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "malformed chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "malformed chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}", "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}", "Transfer-Encoding"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "malformed HTTP response"),
        (b"HTTP/2 200 OK\r\n\r\n", "malformed HTTP response"),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", "malformed HTTP response"),
        (b"", "EOF"),
    ],
)
def test_the_attempt_ends_with_an_error(serve: Callable[..., RawServer], answer: bytes, words: str) -> None:
    assert words in outcome(serve(answer, closes=True))


NONE = "0/3 nodes are available: no new claims to deallocate"
"""Without a reason of an extender; the rest is about preemption."""


@pytest.mark.parametrize(
    ("answer", "reasons"),
    [
        (b"null", NONE),
        (b"{}", NONE),
        (b'{"NodeNames":[]}', NONE),
        (b'{"NodeNames":null,"Nodes":null}', NONE),
        (b'{"NodeNames":[],"FailedNodes":{"node-0":"full","unknown":"x"}}', "1 full, 1 x."),
        (
            b'{"NodeNames":[],"FailedNodes":{"node-0":"full"},"FailedAndUnresolvableNodes":{"node-0":"never"}}',
            "0/3 nodes are available: 1 never.",
        ),
    ],
)
def test_no_node_is_left(serve: Callable[..., RawServer], answer: bytes, reasons: str) -> None:
    assert reasons in outcome(serve(plain(answer)))


def test_whole_nodes_have_precedence_only_without_the_capability(serve: Callable[..., RawServer]) -> None:
    both = plain(b'{"Nodes":{"items":[{"metadata":{"name":"node-2"}}]},"NodeNames":["node-1"]}')
    assert outcome(serve(both), nodeCacheCapable=True) == "node-1"
    assert outcome(serve(both), nodeCacheCapable=False) == "node-2"


def test_an_answer_of_ten_megabytes(serve: Callable[..., RawServer]) -> None:
    filler = json.dumps({f"unknown-{i:06d}": "x" * 100 for i in range(80_000)}).encode()
    answer = b'{"FailedNodes":%b,"NodeNames":["node-1"]}' % filler
    assert len(answer) > 9_000_000
    assert outcome(serve(plain(answer))) == "node-1"
    assert outcome(serve(chunked(answer, 100_000))) == "node-1"


@pytest.mark.parametrize("framed", [plain, chunked])
def test_answers_larger_and_smaller_than_the_buffer_take_turns(
    serve: Callable[..., RawServer], framed: Callable[[bytes], bytes]
) -> None:
    """On one connection, whose buffer grows for the large ones and is small again after them."""
    bodies = []
    for number, size in enumerate((0, _CHUNK - 60, _CHUNK, 3 * _CHUNK, 0, 2 * _CHUNK, 10, 10)):
        failed = json.dumps({f"unknown-{number}": "x" * size}).encode()
        bodies.append(b'{"FailedNodes":%b,"NodeNames":["node-%d"]}' % (failed, 1 + number % 2))
    server = serve(*map(framed, bodies))
    with world(server) as simulation:
        found = [simulation.evaluate(make_pod()).best for _ in bodies]
    assert found == [[f"node-{1 + number % 2}"] for number in range(len(bodies))]
    assert (server.connections, server.requests) == (1, len(bodies))


def test_a_server_that_never_ends_its_answer_is_left_at_the_deadline(serve: Callable[..., RawServer]) -> None:
    """Also if there is always something to read."""
    begin = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    server = serve(begin, endless=b"4000\r\n%b\r\n" % (b" " * 0x4000))
    assert "no answer in time, within 0.2s" in outcome(server, httpTimeout="200ms")


SCORES = [
    (b'[{"Host":"node-1","Score":1}]', {"node-1": 10}),
    (b'[{"host":"node-1","SCORE":1}]', {"node-1": 10}),
    (b'[{"Host":"node-1","Score":1,"More":[]}]', {"node-1": 10}),
    (b'[{"Host":"node-1","Score":1000}]', {"node-1": 10_000}),
    (b'[{"Host":"node-1","Score":-3}]', {"node-1": -30}),
    (b'[{"Host":"node-1","Score":1},{"Host":"node-1","Score":2}]', {"node-1": 30}),
    (b'[{"Host":"unknown","Score":9},{"Host":"node-1","Score":1}]', {"node-1": 10}),
    (b'[{"Host":"node-1"},{"Score":4},null,{}]', {"node-1": 0}),
    (b'[{"Host":"node-1","Score":null}]', {"node-1": 0}),
    (b"[]", {}),
    (b"null", {}),
]


@pytest.mark.parametrize(("answer", "expected"), SCORES)
def test_scores(serve: Callable[..., RawServer], answer: bytes, expected: dict[str, int]) -> None:
    server = serve(plain(answer))
    with world(server, filterVerb="", prioritizeVerb="prioritize", weight=1) as simulation:
        evaluation = simulation.evaluate(make_pod())
    assert evaluation.scores[server.url] == expected


@pytest.mark.parametrize(
    "answer",
    [
        b'{"Host":"node-1","Score":1}',
        b'[{"Host":"node-1","Score":1.5}]',
        b'[{"Host":"node-1","Score":"1"}]',
        b'[{"Host":"node-1","Score":9223372036854775808}]',
        b'[{"Host":1,"Score":1}]',
        b'["node-1"]',
    ],
)
def test_scores_of_a_wrong_form_count_for_nothing(serve: Callable[..., RawServer], answer: bytes) -> None:
    server = serve(plain(answer))
    with world(server, filterVerb="", prioritizeVerb="prioritize", weight=1) as simulation:
        evaluation = simulation.evaluate(make_pod())
    assert server.url not in evaluation.scores
    assert evaluation.best


# ---- connections -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (plain(KEEP), 1),
        (chunked(KEEP), 1),
        (plain(KEEP, b"Connection: close"), 0),
        (plain(KEEP, b"connection: Close"), 0),
        (plain(KEEP).replace(b"HTTP/1.1", b"HTTP/1.0"), 0),
        (plain(KEEP, b"Connection: keep-alive").replace(b"HTTP/1.1", b"HTTP/1.0"), 1),
        (plain(KEEP).replace(b"200 OK", b"500 Oops"), 1),
    ],
)
def test_connections_are_kept_where_the_server_keeps_them(
    serve: Callable[..., RawServer], answer: bytes, kept: int
) -> None:
    with world(serve(answer)) as simulation:
        simulation.evaluate(make_pod())
        assert extender_of(simulation).idle_connections == kept


@pytest.mark.parametrize("answer", [plain(KEEP) + b"more", plain(KEEP) * 2, chunked(KEEP) + b"\r\n"])
def test_a_connection_with_bytes_behind_the_answer_is_not_used_again(
    serve: Callable[..., RawServer], answer: bytes
) -> None:
    server = serve(answer, plain(KEEP))
    with world(server) as simulation:
        for _ in range(2):
            assert simulation.evaluate(make_pod()).best == ["node-1"]
    assert server.connections == 2


def test_a_kept_connection_that_the_server_closed_is_replaced(serve: Callable[..., RawServer]) -> None:
    server = serve(plain(KEEP), closes=True)
    with world(server) as simulation:
        for _ in range(3):
            assert simulation.evaluate(make_pod()).best == ["node-1"]
            assert server.has_closed.acquire(timeout=30)
    assert (server.connections, server.requests) == (3, 3)


def test_a_request_is_not_repeated_once_it_was_sent(serve: Callable[..., RawServer]) -> None:
    """The server may have acted on it."""
    server = serve(plain(KEEP), b"")
    with world(server, httpTimeout="200ms") as simulation:
        assert simulation.schedule([make_pod("first")])[0].node_name == "node-1"
        assert simulation.schedule([make_pod("second")])[0].node_name is None
    assert server.requests == 2


def test_a_kept_connection_that_breaks_before_a_byte_is_sent_is_replaced(
    serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It broke between the look at it and the request."""
    server = serve(plain(KEEP))
    with world(server) as simulation:
        assert simulation.evaluate(make_pod()).best == ["node-1"]
        (((_, connection),),) = extender_of(simulation)._servers._kept._idle.values()
        monkeypatch.setattr(type(connection), "is_idle", lambda self: True)
        connection._socket.shutdown(socket.SHUT_RDWR)
        assert simulation.evaluate(make_pod()).best == ["node-1"]
    assert server.connections == 2
