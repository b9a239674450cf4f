"""Clients that are slow, many or wrong: probes are answered all the same, and nothing leaks."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from schedframe.serve import Endpoints, HttpServer, Listener, application, connections, profiling
from schedframe.serve.tls import self_signed


@contextmanager
def serving(
    address: str = "127.0.0.1", tls: ssl.SSLContext | None = None, **pages: object
) -> Iterator[HttpServer]:
    server = HttpServer(application(Endpoints(**pages)), Listener(address, tls=tls))  # type: ignore[arg-type]  # by name
    server.start()
    try:
        yield server
    finally:
        server.close()


def get(server: HttpServer, path: str = "/livez", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    if server.listener.tls is not None:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", server.port, timeout=10, context=ssl._create_unverified_context()
        )
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def connected(server: HttpServer, sent: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    client.sendall(sent)
    return client


def read_until(client: socket.socket, end: bytes) -> bytes:
    text = b""
    while not text.endswith(end):
        received = client.recv(1000)
        assert received, text
        text += received
    return text


def is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\nX: "])
def test_a_request_that_does_not_arrive_ends_its_connection(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    with serving() as server, connected(server, sent) as client:
        assert is_closed(client)


def test_a_byte_now_and_then_keeps_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second request and a body count like a first request: their bytes renew no deadline."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    with serving() as server, connected(server, b"GET /livez HTTP/1.1\r\nHost: h\r\n\r\n") as client:
        assert read_until(client, b"\r\n\r\nok").startswith(b"HTTP/1.1 200")
        client.settimeout(0.05)
        with suppress(ConnectionError):  # a reset, or a broken pipe
            for _ in range(100):  # five seconds, when nothing ends the waits
                client.sendall(b"G")
                with suppress(TimeoutError):
                    assert client.recv(1) == b""
                    return
            pytest.fail("each byte kept the connection for longer")


def test_a_connection_is_kept_between_two_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    with serving() as server, connected(server) as client:
        for _ in range(2):
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: h\r\n\r\n")
            assert read_until(client, b"\r\n\r\nok")
            client.settimeout(0.3)
            with pytest.raises(TimeoutError):
                client.recv(1)


def test_many_connections_end_no_answers_to_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    with serving() as server, ExitStack() as stack:
        clients = [stack.enter_context(connected(server)) for _ in range(20)]
        assert get(server).status == 200
        assert is_closed(clients[0]), "the oldest is closed first"


def test_handshakes_that_do_not_end_are_connections_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    with serving(tls=self_signed("127.0.0.1")) as server, ExitStack() as stack:
        clients = [stack.enter_context(connected(server, b"\x16\x03\x01"[: n % 4])) for n in range(20)]
        assert get(server).status == 200
        assert is_closed(clients[0]), "the oldest is closed first"
        assert is_closed(clients[11])
        clients[-1].settimeout(0.1)
        with pytest.raises(TimeoutError):
            clients[-1].recv(1)


def test_a_handshake_that_does_not_end_in_time_ends_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    with serving(tls=self_signed("127.0.0.1")) as server, connected(server, b"\x16\x03\x01") as client:
        assert is_closed(client)


def test_a_request_may_come_with_the_end_of_the_handshake() -> None:
    to_server, from_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl._create_unverified_context().wrap_bio(from_server, to_server)
    with serving(tls=self_signed("127.0.0.1")) as server, connected(server) as client:
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.sendall(to_server.read())
                from_server.write(client.recv(100_000))
        tls.write(b"GET /livez HTTP/1.1\r\nHost: h\r\n\r\n")
        client.sendall(to_server.read())  # in one piece
        answer = b""
        while not answer.endswith(b"\r\n\r\nok"):
            try:
                answer += tls.read(1000)
            except ssl.SSLWantReadError:
                from_server.write(client.recv(100_000))
        assert answer.startswith(b"HTTP/1.1 200")


LARGE = b"x" * (1 << 25)
"""More than the buffers of both sides take."""


def open_connections(server: HttpServer) -> int:
    assert server._server is not None
    return len(server._server.server_state.connections)


@pytest.mark.parametrize("has_tls", [False, True])
def test_an_answer_that_is_not_taken_ends_its_connection(
    has_tls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ANSWER_SECONDS", 0.1)
    tls = self_signed("127.0.0.1") if has_tls else None
    with serving(tls=tls, metrics=lambda: LARGE) as server, connected(server) as plain, ExitStack() as stack:
        client = plain
        if has_tls:
            client = stack.enter_context(ssl._create_unverified_context().wrap_socket(plain))
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
        assert client.recv(1) == b"H"
        received = 1
        with suppress(OSError):  # a reset, or the end without the words of TLS
            for _ in range(10_000):
                get(server)  # takes the time that the client does not use to read
                if not open_connections(server):
                    break
            assert not open_connections(server)
            while piece := client.recv(1 << 20):
                received += len(piece)
        assert received < len(LARGE)


def test_answers_that_are_not_taken_end_no_answers_to_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 4)
    with serving(metrics=lambda: LARGE) as server, ExitStack() as stack:
        for _ in range(6):
            client = stack.enter_context(connected(server, b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"))
            assert client.recv(1) == b"H"
        assert get(server).status == 200


@pytest.mark.parametrize("has_tls", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_body_that_is_no_http_leaves_no_traceback(
    at_once: bool, has_tls: bool, caplog: pytest.LogCaptureFixture
) -> None:
    head, garbage = b"GET /livez HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", b"zz\r\nx\r\n"
    tls = self_signed("127.0.0.1") if has_tls else None
    with serving(tls=tls) as server, connected(server) as plain, ExitStack() as stack:
        client = plain
        if has_tls:
            client = stack.enter_context(ssl._create_unverified_context().wrap_socket(plain))
        client.sendall(head + garbage if at_once else head)
        answer = client.recv(1000)
        client.sendall(garbage)
        with suppress(OSError):  # a reset
            while more := client.recv(1000):
                answer += more
        assert answer.startswith(b"HTTP/1.1 400" if at_once else b"HTTP/1.1 200")
        assert get(server).status == 200
    assert not caplog.records


def test_a_head_without_an_end_is_refused() -> None:
    with serving() as server, connected(server, b"GET /livez HTTP/1.1\r\n") as client:
        with suppress(OSError):
            for number in range(10_000):
                client.sendall(b"X-%d: %s\r\n" % (number, b"a" * 1000))
        with suppress(OSError):
            assert client.recv(100).startswith(b"HTTP/1.1 400")
        assert get(server).status == 200


def test_a_body_is_not_waited_for() -> None:
    with serving() as server:
        head = b"GET /livez HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n"
        with connected(server, head) as client:
            assert client.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_pages_are_only_read(method: str) -> None:
    with serving(metrics=lambda: b"") as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request(method, "/metrics")
        assert connection.getresponse().status == 405
        connection.close()


def test_one_profile_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    has_begun, may_end, sampled = threading.Event(), threading.Event(), profiling._sampled

    def held(seconds: float) -> Counter[str]:
        has_begun.set()
        assert may_end.wait(30)
        return sampled(seconds)

    monkeypatch.setattr(profiling, "_sampled", held)
    with serving(profiling=True) as server:
        first = threading.Thread(target=get, args=(server, "/debug/profile?seconds=0.01"))
        first.start()
        assert has_begun.wait(30)
        assert get(server, "/debug/profile?seconds=0.01").status == 503
        may_end.set()
        first.join()
        assert get(server, "/debug/profile?seconds=0.01").status == 200


def test_every_answer_has_its_headers(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> bytes:
        raise ValueError("a fault")

    with serving(metrics=fails) as server:
        for path, status in (("/livez", 200), ("/nosuch", 404), ("/metrics", 500)):
            answer = get(server, path)
            assert answer.status == status
            assert answer.headers["Cache-Control"] == "no-cache, private"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert [record.getMessage() for record in caplog.records] == ["GET /metrics failed"]


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_addresses_of_ipv6() -> None:
    with serving("::1") as server:
        assert server.url == f"http://[::1]:{server.port}"
    if socket.has_dualstack_ipv6():
        with serving("::") as server:
            assert get(server).status == 200, "by IPv4, too"
