"""Addresses of URLs, proxies on the way, and how requests begin."""

from __future__ import annotations

import ssl

import pytest

from schedframe.http.address import Address, CannotConnect, Proxy, Tunnel

TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@pytest.mark.parametrize(
    ("url", "end", "shown", "prefix"),
    [
        ("http://a.example", ("a.example", 80), "a.example", ""),
        ("https://A.example:6443/k8s/c1", ("a.example", 6443), "A.example:6443", "/k8s/c1"),
        ("https://[fd00::1]:1/x?y=z", ("fd00::1", 1), "[fd00::1]:1", "/x?y=z"),
        ("https://me:secret@a.example", ("a.example", 443), "a.example", ""),
        ("http://bücher.example", ("bücher.example", 80), "xn--bcher-kva.example", ""),
    ],
)
def test_what_a_url_says(url: str, end: tuple[str, int], shown: str, prefix: str) -> None:
    address = Address.of(url)
    assert (address.end, address.shown, address.prefix) == (end, shown, prefix)
    assert "secret" not in repr(address)


@pytest.mark.parametrize("url", ["ftp://a", "http://", "a.example", "http://a:0", "http://a:x", "http://[a"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ValueError, match=r"it needs http://|port|Port|IPv6"):
        Address.of(url)


@pytest.mark.parametrize("url", ["socks5://me:secret@a", "http://", "ftp://a", "http://a:x"])
def test_what_is_no_proxy(url: str) -> None:
    with pytest.raises(ValueError, match=r"it needs http://|[Pp]ort") as caught:
        Proxy.of(url)
    assert "secret" not in str(caught.value)


def test_a_request_begins_as_its_way_asks() -> None:
    headers = [("Accept", "x")]
    direct = Address.of("http://a.example:1")
    assert direct.head("GET", "/b?c", headers) == "GET /b?c HTTP/1.1\r\nHost: a.example:1\r\nAccept: x"
    proxy = Proxy.of("https://me:secret@proxy.example")
    assert proxy == Proxy("proxy.example", 443, "Basic bWU6c2VjcmV0", is_secure=True)
    assert direct.over(None, proxy=proxy).head("GET", "/b", headers) == (
        "GET http://a.example:1/b HTTP/1.1\r\nHost: a.example:1\r\n"
        "Proxy-Authorization: Basic bWU6c2VjcmV0\r\nAccept: x"
    )
    tunnelled = Address.of("https://a.example").over(TLS, "other.example", proxy)
    assert tunnelled.head("GET", "/b", []) == "GET /b HTTP/1.1\r\nHost: a.example"
    assert (tunnelled.end, tunnelled.has_tunnel) == (("proxy.example", 443), True)
    assert tunnelled.certified_name == "other.example"


@pytest.mark.parametrize(
    ("path", "header"), [("/a b", "x"), ("/a\r\nX: y", "x"), ("/", "x\r\nX: y"), ("/", "x\0")]
)
def test_nothing_adds_lines(path: str, header: str) -> None:
    with pytest.raises(CannotConnect, match="cannot be sent"):
        Address.of("http://a").head("GET", path, [("Name", header)])


TUNNELLED = Address.of("https://[fd00::1]").over(TLS, None, Proxy.of("http://proxy"))


@pytest.mark.parametrize("size", [1, 1000])
def test_a_proxy_connects(size: int) -> None:
    tunnel, answer = Tunnel(TUNNELLED), b"HTTP/1.1 200 Connected\r\nVia: x\r\n\r\n"
    assert tunnel.request.startswith(b"CONNECT [fd00::1]:443 HTTP/1.1\r\nHost: [fd00::1]:443\r\n")
    pieces = [answer[i : i + size] for i in range(0, len(answer), size)]
    assert [tunnel.feed(piece) for piece in pieces] == [False] * (len(pieces) - 1) + [True]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 407 Who are you\r\n\r\n", "the proxy did not connect: HTTP/1.1 407 Who are you"),
        (b"HTTP/1.1 200 OK\r\n\r\nearly bytes", "the proxy did not connect"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "the proxy did not connect"),
        (b"SSH-2.0\r\n\r\n", "the proxy did not connect: SSH-2.0"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000, "cut off or too long"),
        (b"", "cut off or too long"),
    ],
)
def test_a_proxy_that_does_not_connect(answer: bytes, words: str) -> None:
    tunnel = Tunnel(TUNNELLED)
    with pytest.raises(OSError, match=words):
        tunnel.feed(answer)
