"""A thread that serves an ASGI application: it answers even when the scheduler or its network loop hangs."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, cast

import uvicorn
from attrs import field

from .._base.tls import REFRESH_SECONDS, CertificateWatch
from .._base.value import record
from ..errors import ClusterError
from .connections import BoundedConnection

logger = logging.getLogger("schedframe.serve")

LONGEST_HEAD: Final = 16_384
KEEP_ALIVE_SECONDS: Final = 30
CLOSE_SECONDS: Final = 2
"""Seconds in which requests under way may end when the server is closed."""


@record(frozen=True)
class Listener:
    """Address and port; with TLS if there is a context."""

    address: str = "127.0.0.1"
    port: int = 0
    """0: any free one."""
    tls: ssl.SSLContext | None = None

    @property
    def is_loopback(self) -> bool:
        """Return whether only programs on this machine can connect."""
        return is_loopback(self.address)


def is_loopback(address: str) -> bool:
    """Return whether only programs on this machine can connect to *address*."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _listening_socket(address: str, port: int) -> socket.socket:
    """Return a socket; ``::`` stands for all addresses of this machine, those of IPv4 included."""
    if ":" not in address:
        return socket.create_server((address, port))
    both = address == "::" and socket.has_dualstack_ipv6()
    return socket.create_server((address, port), family=socket.AF_INET6, dualstack_ipv6=both)


@record(eq=False)
class HttpServer:
    """Serves *app* in a thread of its own, from :meth:`start` to :meth:`close`."""

    app: Any
    listener: Listener
    refresh: Callable[[], object] | None = None
    """Reads the certificate again if it changed; called every few seconds on the thread of the server."""
    on_close: Callable[[], Awaitable[None]] | None = None
    """Called on the loop of the server when it has ended."""
    _connections: set[BoundedConnection] = field(factory=set, init=False)
    _server: uvicorn.Server | None = field(default=None, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _socket: socket.socket | None = field(default=None, init=False)

    @property
    def port(self) -> int:
        """The port that it listens on; 0 before the start."""
        if self._socket is None:
            return 0
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The URL of the server, without a path."""
        address = self.listener.address
        scheme = "http" if self.listener.tls is None else "https"
        return f"{scheme}://{f'[{address}]' if ':' in address else address}:{self.port}"

    def start(self) -> None:
        """Listen. Raises :class:`ClusterError` if the address cannot be listened on."""
        listener = self.listener
        try:
            self._socket = _listening_socket(listener.address, listener.port)
        except OSError as error:
            raise ClusterError(
                f"{listener.address}, port {listener.port} cannot be listened on: {error.strerror or error}"
            ) from None
        config = uvicorn.Config(
            self.app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # a warning for each request that is not HTTP would let strangers fill the log
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=CLOSE_SECONDS,
            h11_max_incomplete_event_size=LONGEST_HEAD,
        )
        config.load()
        # It is called, no more.
        bounded = partial(BoundedConnection, config.http_protocol_class, listener.tls, self._connections)
        config.http_protocol_class = cast("type[asyncio.Protocol]", bounded)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="schedframe-http", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        assert self._server is not None
        assert self._socket is not None
        asyncio.run(self._served(self._server, self._socket))

    async def _served(self, server: uvicorn.Server, listening: socket.socket) -> None:
        refreshing = asyncio.ensure_future(self._refreshed())
        try:
            await server.serve(sockets=[listening])
        finally:
            refreshing.cancel()
            for each in list(self._connections):  # those whose handshake has not ended
                each.abort()
            if self.on_close is not None:
                await self.on_close()

    async def _refreshed(self) -> None:
        if self.refresh is None:
            return
        watch, seconds = CertificateWatch(self.refresh, logger), REFRESH_SECONDS
        while True:
            await asyncio.sleep(seconds)
            seconds = watch.look()

    def close(self) -> None:
        """Listen no more, and wait for the end of requests under way."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join()
            self._server = self._thread = None
