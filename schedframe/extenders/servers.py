"""Servers of an extender, and the connections that are kept to them.

There is one server, unless it redirects.
"""

from __future__ import annotations

from ssl import SSLContext
from time import monotonic
from typing import Final
from urllib.parse import quote

from attrs import field

from .._base.value import record
from ..config import Extender as ExtenderConfig
from ..config.extender_tls import tls_context
from ..framework import ExtenderError
from ..http.address import Address, Proxy
from ..http.blocking import Connection, Wait, connect
from ..http.kept import KeptConnections
from ..http.proxies import proxy_url

_MOST: Final = 16
"""URLs from which on all are forgotten when another one is needed."""
_SAFE: Final = "/?%:@!$&'()*+,;=-._~[]"
"""Characters of a path or query that stay as they are, besides letters and digits."""


@record(frozen=True, eq=False)
class Destination:
    """Destination of requests by a URL: where to send them, and how they begin."""

    address: Address
    head: bytes
    """Request line and headers up to the length of the body."""


@record(eq=False)
class Servers:
    """The servers of one extender, by URL."""

    config: ExtenderConfig
    _kept: KeptConnections[Connection] = field(factory=KeptConnections, init=False)
    _destinations: dict[str, Destination] = field(factory=dict, init=False)
    _tls: SSLContext | None = field(default=None, init=False)

    def destination(self, url: str) -> Destination:
        """Return what *url* says; O(1) for one that was used before.

        Raises :class:`ExtenderError` for a URL or a proxy that cannot be used.
        """
        known = self._destinations.get(url)
        if known is None:
            if len(self._destinations) >= _MOST:
                self._destinations.clear()
            address = self._address(url)
            known = self._destinations[url] = Destination(address, _head(address))
        return known

    def _address(self, url: str) -> Address:
        try:
            address = Address.of(url)
        except ValueError as error:
            raise ExtenderError(f"cannot use the URL {url!r}: {error}") from error
        tls, name = self.config.tls_config, ""
        if address.scheme == "https" and tls is not None:
            name = tls.server_name
        context = self._tls_context() if address.scheme == "https" else None
        return address.over(context, name, _proxy_to(address))

    def _tls_context(self) -> SSLContext:
        if self._tls is None:
            try:
                self._tls = tls_context(self.config.tls_config, self.config.enable_https)
            except (OSError, ValueError) as error:  # the files changed since the configuration was checked
                raise ExtenderError(f"cannot use the certificates of tlsConfig: {error}") from error
        return self._tls

    def take(self, address: Address, deadline: float, wait: Wait) -> Connection:
        """Return a kept connection that is still open, or a new one. Raises ``OSError``."""
        return self._kept.take(address, monotonic()) or connect(address, deadline, wait)

    def put_back(self, address: Address, connection: Connection) -> None:
        """Keep a connection for the next request, if it may be used again."""
        connection.is_reused = True
        if connection.keeps:
            self._kept.put(address, connection, monotonic())
        else:
            connection.close()

    def close(self) -> None:
        """Close all connections that are not in use; no other is kept from now on."""
        self._kept.close()

    @property
    def idle_connections(self) -> int:
        """Number of connections that are kept for further requests."""
        return len(self._kept)


def _proxy_to(address: Address) -> Proxy | None:
    """Return the proxy of the environment. Raises :class:`ExtenderError` for one that cannot be used."""
    url = proxy_url(address.scheme, address.host, address.port)
    if url is None:
        return None
    try:
        proxy = Proxy.of(url)
        if proxy.is_secure:
            raise ValueError("a proxy with https:// is not supported")
    except ValueError as error:
        raise ExtenderError(
            f"cannot use the proxy of {address.scheme.upper()}_PROXY for {address.host}: {error}; "
            "name the host in NO_PROXY to connect to it directly"
        ) from error
    return proxy


def _head(address: Address) -> bytes:
    path = quote(address.prefix, safe=_SAFE)
    headers = [("User-Agent", "schedframe"), ("Content-Type", "application/json")]
    if address.authorization:
        headers.append(("Authorization", address.authorization))
    head = address.head("POST", path if path.startswith("/") else f"/{path}", headers)
    return f"{head}\r\nContent-Length: ".encode()
