"""Proxies of the environment: when they are used, and how."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from schedframe.http.address import Proxy
from schedframe.http.proxies import proxy_url

from .test_answers import KEEP, RawServer, outcome, plain

NAMES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.fixture
def proxy() -> Iterator[RawServer]:
    server = RawServer([plain(KEEP)])
    yield server
    server.close()


@pytest.mark.parametrize(
    ("no_proxy", "host", "exempt"),
    [
        ("", "extender.example", False),
        ("*", "extender.example", True),
        ("example", "extender.example", True),
        (".example", "extender.example", True),
        ("*.example", "extender.example", True),
        ("*.extender.example", "extender.example", False),
        (".extender.example", "extender.example", False),
        ("extender.example", "EXTENDER.example", True),
        ("other, Extender.Example ", "extender.example", True),
        ("xtender.example", "extender.example", False),
        ("extender.example:80", "extender.example", True),
        ("extender.example:81", "extender.example", False),
        (":80", "extender.example", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.0.0.0/99", "10.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3:80", "10.1.2.3", True),
        ("fd00::1", "fd00::1", True),
        ("[fd00::1]:80", "fd00::1", True),
        ("[fd00::1]:81", "fd00::1", False),
        ("fd00::/8", "fd00::1", True),
        ("", "localhost", True),
        ("", "127.0.0.9", True),
        ("", "::1", True),
    ],
)
def test_which_servers_need_no_proxy(no_proxy: str, host: str, exempt: bool) -> None:
    environ = {"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": no_proxy}
    assert proxy_url("http", host, 80, environ) == (None if exempt else environ["HTTP_PROXY"])


@pytest.mark.parametrize(
    ("environ", "scheme", "expected"),
    [
        ({}, "http", None),
        ({"http_proxy": "proxy"}, "http", Proxy("proxy", 80)),
        ({"http_proxy": "a:1", "HTTP_PROXY": "b:2"}, "http", Proxy("b", 2)),
        ({"https_proxy": "proxy:1"}, "http", None),
        ({"https_proxy": "proxy:1"}, "https", Proxy("proxy", 1)),
        ({"http_proxy": "http://me:a%20b@proxy:1"}, "http", Proxy("proxy", 1, "Basic bWU6YSBi")),
    ],
)
def test_which_proxy_is_used(environ: dict[str, str], scheme: str, expected: Proxy | None) -> None:
    url = proxy_url(scheme, "extender.example", 80, environ)
    assert (None if url is None else Proxy.of(url)) == expected


@pytest.mark.parametrize("url", ["socks5://proxy:1", "https://proxy", "http://", "proxy:port"])
def test_a_proxy_that_cannot_be_used_is_an_error(
    environment: pytest.MonkeyPatch, proxy: RawServer, url: str
) -> None:
    environment.setenv("HTTP_PROXY", url)
    found = outcome(proxy, urlPrefix="http://extender.example")
    assert "cannot use the proxy of HTTP_PROXY for extender.example: " in found
    assert "name the host in NO_PROXY to connect to it directly" in found


def test_http_is_sent_to_the_proxy(environment: pytest.MonkeyPatch, proxy: RawServer) -> None:
    environment.setenv("HTTP_PROXY", proxy.url.replace("://", "://me:secret@"))
    assert outcome(proxy, urlPrefix="http://extender.example:8888/x") == "node-1"
    lines = proxy.heads[0].split(b"\r\n")
    assert lines[0] == b"POST http://extender.example:8888/x/filter HTTP/1.1"
    assert lines[1] == b"Host: extender.example:8888"
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0" in lines


def test_a_server_on_this_machine_is_asked_directly(
    environment: pytest.MonkeyPatch, proxy: RawServer
) -> None:
    environment.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert outcome(proxy) == "node-1"


def test_a_user_of_the_url_is_authorized(proxy: RawServer) -> None:
    assert outcome(proxy, urlPrefix=proxy.url.replace("://", "://me:secret@")) == "node-1"
    assert b"Authorization: Basic bWU6c2VjcmV0" in proxy.heads[0].split(b"\r\n")


class Tunnel:
    """A proxy that connects to *port* of this machine, whatever it is asked for."""

    def __init__(self, port: int, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        self.head = b""
        self._port, self._answer = port, answer
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://me:secret@127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            near, _ = self._server.accept()
            while not self.head.endswith(b"\r\n\r\n"):
                self.head += near.recv(1)
            near.sendall(self._answer)
            far = socket.create_connection(("127.0.0.1", self._port))
            threading.Thread(target=_copy, args=(far, near), daemon=True).start()
            _copy(near, far)

    def close(self) -> None:
        self._server.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)


def test_https_goes_through_a_tunnel(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from cryptography import x509

    from .certificates import Authority, server_context
    from .server import FakeExtender
    from .test_tls import data, message

    authority = Authority("authority")
    server = FakeExtender(
        tls=server_context(tmp_path, authority.issue("server", x509.DNSName("extender.example")))
    )
    server.answers["/filter"] = [{"body": {"NodeNames": ["node"]}}]
    tunnel = Tunnel(int(server.url.rpartition(":")[2]))
    environment.setenv("HTTPS_PROXY", tunnel.url)
    tls = {"caData": data(authority.cert)}
    assert message(server, tls, urlPrefix="https://extender.example") == ""
    assert tunnel.head.startswith(b"CONNECT extender.example:443 HTTP/1.1\r\nHost: extender.example:443\r\n")
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in tunnel.head
    tunnel.close()
    server.close()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "the proxy did not connect: HTTP/1.1 407"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000, "is cut off or too long"),
        (b"nonsense\r\n\r\n", "the proxy did not connect: nonsense"),
    ],
)
def test_a_proxy_that_does_not_connect_is_an_error(
    environment: pytest.MonkeyPatch, proxy: RawServer, answer: bytes, expected: str
) -> None:
    tunnel = Tunnel(1, answer)
    environment.setenv("HTTPS_PROXY", tunnel.url)
    assert expected in outcome(proxy, urlPrefix="https://extender.example")
    tunnel.close()
