"""Address of a URL: the server, the proxy on the way, and how requests begin."""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Iterable
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from attrs import evolve, field

from .._base.value import record
from .parser import ReplyError, ReplyParser

PORTS: Final = {"http": 80, "https": 443}
"""Those of URLs that name none, by scheme."""
_MOST_OF_PROXY: Final = 1 << 13
"""Bytes of the head of a proxy's answer."""
_SHOWN: Final = 80
"""Bytes of its answer that an error shows."""


class CannotConnect(OSError):
    """No connection was made, or nothing can be sent, so nothing was sent."""


@record(frozen=True)
class Proxy:
    """A proxy, spoken to in HTTP."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)
    """Value of ``Proxy-Authorization``, if the URL has a user."""
    is_secure: bool = False
    """Whether the connection to the proxy itself is one of TLS."""

    @classmethod
    def of(cls, url: str) -> Proxy:
        """Return the proxy at *url*. Raises :class:`ValueError` for what is none, without the URL."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in PORTS or not parts.hostname:
            raise ValueError("it needs http:// or https:// and a host")
        port = PORTS[parts.scheme] if parts.port is None else parts.port
        return cls(parts.hostname, port, basic_authorization(parts), parts.scheme == "https")


@record(frozen=True)
class Address:
    """A server, and the way to it. Equal addresses may share connections."""

    scheme: str
    host: str
    port: int
    shown: str = field(eq=False)
    """Value of the Host header."""
    prefix: str = field(default="", eq=False)
    """Path and query of the URL."""
    authorization: str = field(default="", eq=False, repr=False)
    """Value of ``Authorization``, if the URL has a user."""
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    server_name: str | None = None
    """Name in the certificate, if it is not that of the host."""
    proxy: Proxy | None = None

    @classmethod
    def of(cls, url: str) -> Address:
        """Return the address of *url*, without TLS and proxy. Raises :class:`ValueError`."""
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname or parts.port == 0:
            raise ValueError("it needs http:// or https:// and a host")
        port = PORTS[parts.scheme] if parts.port is None else parts.port
        shown = parts.netloc.rpartition("@")[2]
        if not shown.isascii():
            shown = shown.encode("idna").decode()
        prefix = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return cls(parts.scheme, parts.hostname, port, shown, prefix, basic_authorization(parts))

    def over(
        self, tls: ssl.SSLContext | None, server_name: str | None = None, proxy: Proxy | None = None
    ) -> Address:
        """Return the same with settings of the connection; *tls* is for ``https`` alone, which needs it."""
        return evolve(
            self, tls=tls if self.scheme == "https" else None, server_name=server_name or None, proxy=proxy
        )

    @property
    def end(self) -> tuple[str, int]:
        """Host and port to connect to: those of the proxy, if there is one."""
        via = self if self.proxy is None else self.proxy
        return via.host, via.port

    @property
    def has_tunnel(self) -> bool:
        """Return whether the proxy must connect to the server first."""
        return self.proxy is not None and self.tls is not None

    @property
    def certified_name(self) -> str:
        """Name that the certificate of the server must have."""
        return self.server_name or self.host

    def head(self, method: str, path: str, headers: Iterable[tuple[str, str]]) -> str:
        """Return request line and headers, up to the length of the body.

        Raises :class:`CannotConnect` for what would end a line.
        """
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.shown}"]
        if self.proxy is not None and self.tls is None:
            lines[0] = f"{method} http://{self.shown}{path} HTTP/1.1"
            if self.proxy.authorization:
                lines.append(f"Proxy-Authorization: {self.proxy.authorization}")
        lines += [f"{name}: {value}" for name, value in headers]
        if " " in path or not "".join(lines).isprintable():
            raise CannotConnect("a path or header with characters that cannot be sent")
        return "\r\n".join(lines)


def basic_authorization(url: SplitResult) -> str:
    """Return the value of the header that authorizes the user in *url*; empty if there is none."""
    if not url.username and not url.password:
        return ""
    user = f"{unquote(url.username or '')}:{unquote(url.password or '')}"
    return f"Basic {b64encode(user.encode()).decode()}"


class Tunnel:
    """The request to a proxy to connect to *address*, and its answer."""

    def __init__(self, address: Address) -> None:
        assert address.proxy is not None
        host = f"[{address.host}]" if ":" in address.host else address.host
        name = f"{host}:{address.port}"
        lines = [f"CONNECT {name} HTTP/1.1", f"Host: {name}", "User-Agent: schedframe"]
        if address.proxy.authorization:
            lines.append(f"Proxy-Authorization: {address.proxy.authorization}")
        self.request = "\r\n".join([*lines, "", ""]).encode()
        """What is sent first."""
        self._parser = ReplyParser(largest_head=_MOST_OF_PROXY)
        self._first = b""

    def feed(self, data: bytes) -> bool:
        """Take what the proxy sent, nothing at its end; return whether it has connected.

        Raises ``OSError`` if it does not. No byte of the server can be among them: in TLS the client begins.
        """
        self._first = (self._first + data)[:_SHOWN]
        first = self._first.partition(b"\r\n")[0].decode("latin-1")
        try:
            if not data:
                raise ReplyError
            reply = self._parser.feed(data)
        except ReplyError:
            if first and not first.startswith("HTTP/1."):
                raise OSError(f"the proxy did not connect: {first}") from None
            raise OSError("the answer of the proxy to CONNECT is cut off or too long") from None
        status = self._parser.status if reply is None else reply.status
        if status and (status != 200 or not b"\r\n\r\n".endswith(data[-4:])):
            raise OSError(f"the proxy did not connect: {first}")
        return bool(status)
