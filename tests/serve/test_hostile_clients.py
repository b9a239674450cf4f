"""Clients that are slow, many or wrong: probes are answered all the same, and nothing leaks."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from schedframe.errors import InputError
from schedframe.serve import Endpoints, HttpServer, Listener, application, connections, profiling
from schedframe.serve.tls import ServerCertificate, _made, self_signed


@contextmanager
def serving(address: str = "127.0.0.1", **pages: object) -> Iterator[HttpServer]:
    server = HttpServer(application(Endpoints(**pages)), Listener(address))  # type: ignore[arg-type]  # by name
    server.start()
    try:
        yield server
    finally:
        server.close()


def get(server: HttpServer, path: str = "/livez", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
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


def test_a_certificate_needs_no_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container with a read-only root file system."""
    pytest.importorskip("cryptography")

    def refused(*_: object, **__: object) -> None:
        raise FileNotFoundError("No usable temporary directory")

    for name in ("mkstemp", "mkdtemp"):
        monkeypatch.setattr(f"tempfile.{name}", refused)
    assert self_signed("0.0.0.0").get_ciphers()


def files(folder: Path) -> tuple[Path, Path]:
    paths = folder / "cert", folder / "key"
    for path, text in zip(paths, _made("127.0.0.1"), strict=True):
        path.write_bytes(text)
    return paths


def test_a_key_that_does_not_fit_leaves_the_former_certificate_in_use(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    certificate, key = files(tmp_path)
    loaded = ServerCertificate(certificate, key)
    loaded.refresh()
    server = HttpServer(application(Endpoints()), Listener(tls=loaded.context))
    server.start()
    former = ssl.get_server_certificate(("127.0.0.1", server.port))
    try:
        certificate.write_bytes(_made("127.0.0.1")[0])
        with pytest.raises(InputError, match="cannot be used"):
            loaded.refresh()
        assert ssl.get_server_certificate(("127.0.0.1", server.port)) == former
    finally:
        server.close()


def test_an_encrypted_key_is_refused(tmp_path: Path) -> None:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    certificate, key = files(tmp_path)
    plain = serialization.load_pem_private_key(key.read_bytes(), None)
    pkcs8, locked = serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    key.write_bytes(plain.private_bytes(serialization.Encoding.PEM, pkcs8, locked))
    with pytest.raises(InputError, match="the key is encrypted"):
        ServerCertificate(certificate, key).refresh()
