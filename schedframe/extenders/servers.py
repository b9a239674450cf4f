"""The servers that an extender's requests go to, with the connections that are kept to each.

There is one server, unless it redirects. The number of servers that connections are kept to is limited, so
that redirects cannot fill the memory.
"""

from __future__ import annotations

from collections import deque
from ssl import SSLContext
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

from attrs import define, field, frozen

from ..config import Extender as ExtenderConfig
from ..config.extender_tls import tls_context
from ..framework import ExtenderError
from .connecting import Target, connect
from .connection import Connection
from .proxies import authorization_of, proxy_to
from .waiting import Wait

_PORTS: Final = {"http": 80, "https": 443}
_MOST: Final = 16
"""Servers, and addresses, from which on all are forgotten when another one is needed."""
_SAFE: Final = "/?%:@!$&'()*+,;=-._~[]"
"""Characters of a path or query that stay as they are, besides letters and digits."""


@define(eq=False)
class Server:
    """A server, and the connections to it that are not in use."""

    target: Target
    idle: deque[Connection] = field(factory=deque)
    _closed: bool = False

    def take(self, deadline: float, wait: Wait) -> Connection:
        """Return a kept connection that is still open, or a new one. Raises :class:`ExtenderError`."""
        while (kept := self._pop()) is not None:
            if kept.is_idle():
                return kept
            kept.close()
        return connect(self.target, deadline, wait)

    def put_back(self, connection: Connection) -> None:
        """Keep a connection for the next request, if it may be used again."""
        connection.is_reused = True
        if not connection.keeps:
            connection.close()
            return
        self.idle.append(connection)
        if self._closed:  # by another thread, perhaps only now
            self.close()

    def close(self) -> None:
        """Close the kept connections, and those in use as soon as they are not."""
        self._closed = True
        while (kept := self._pop()) is not None:
            kept.close()

    def _pop(self) -> Connection | None:
        try:
            return self.idle.pop()
        except IndexError:
            return None  # also if another thread took the last one


@frozen(eq=False)
class Address:
    """What a URL says: where to send a request, and how it begins."""

    server: Server
    head: bytes
    """Request line and headers up to the length of the body."""


@define(eq=False)
class Servers:
    """The servers of one extender, by URL."""

    config: ExtenderConfig
    _servers: dict[tuple[str, str, int], Server] = field(factory=dict, init=False)
    """By scheme, host and port."""
    _addresses: dict[str, Address] = field(factory=dict, init=False)
    _closed: bool = field(default=False, init=False)

    def address(self, url: str) -> Address:
        """Return what *url* says; O(1) for one that was used before.

        Raises :class:`ExtenderError` for a URL or a proxy that cannot be used.
        """
        known = self._addresses.get(url)
        if known is None:
            parts = _split(url)
            server = self._server(parts)
            if len(self._addresses) >= _MOST:
                self._addresses.clear()
            known = self._addresses[url] = Address(server, _head(parts, server.target))
        return known

    def _server(self, url: SplitResult) -> Server:
        host, port = url.hostname or "", url.port or _PORTS[url.scheme]
        server = self._servers.get((url.scheme, host, port))
        if server is None:
            if len(self._servers) >= _MOST:
                self._forget()
            tls = self.config.tls_config
            context = self._tls_context() if url.scheme == "https" else None
            name = tls.server_name if tls is not None else ""
            target = Target(host, port, context, name, proxy_to(url.scheme, host, port))
            server = self._servers[url.scheme, host, port] = Server(target)
            if self._closed:
                server.close()
        return server

    def _tls_context(self) -> SSLContext:
        try:
            return tls_context(self.config.tls_config, self.config.enable_https)
        except (OSError, ValueError) as error:  # the files changed since the configuration was checked
            raise ExtenderError(f"cannot use the certificates of tlsConfig: {error}") from error

    def _forget(self) -> None:
        servers, self._servers = self._servers, {}
        self._addresses.clear()
        for server in servers.values():
            server.close()

    def close(self) -> None:
        """Close all connections that are not in use; no other is kept from now on."""
        self._closed = True
        for server in list(self._servers.values()):
            server.close()

    @property
    def idle_connections(self) -> int:
        """Number of connections that are kept for further requests."""
        return sum([len(server.idle) for server in self._servers.values()])


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.scheme in _PORTS and parts.hostname and (parts.port is None or parts.port):
            return parts
    except ValueError as error:
        raise ExtenderError(f"cannot use the URL {url!r}: {error}") from error
    raise ExtenderError(f"cannot use the URL {url!r}; it needs http:// and a host")


def _head(url: SplitResult, target: Target) -> bytes:
    host = url.netloc.rpartition("@")[2]
    path = quote(f"{url.path or '/'}?{url.query}" if url.query else url.path or "/", safe=_SAFE)
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {host}",
        "User-Agent: schedframe",
        "Content-Type: application/json",
    ]
    if authorization := authorization_of(url):
        lines.append(f"Authorization: {authorization}")
    if target.proxy is not None and target.tls is None:
        lines[0] = f"POST http://{host}{path} HTTP/1.1"
        if target.proxy.authorization:
            lines.append(f"Proxy-Authorization: {target.proxy.authorization}")
    return "\r\n".join([*lines, "Content-Length: "]).encode()
