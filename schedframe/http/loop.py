"""Connections in an event loop that carry requests one after another: kept alive, through proxies if need be.

All methods belong to the thread of the loop.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

from attrs import field
from typing_extensions import override

from .._base.tls import client_context
from .._base.value import record
from .address import Address, CannotConnect, Tunnel
from .kept import KeptConnections
from .parser import Reply
from .protocols import Connection, Stream

CONNECT_SECONDS: Final = 5.0
"""Seconds to make a connection, proxy and TLS included."""
UNACKNOWLEDGED_MS: Final = 8000
"""Milliseconds for which sent data may stay unacknowledged before the kernel ends the connection."""
READ_BYTES: Final = 1 << 18
"""Bytes that are read at once, at most; as much as asyncio reads."""
RESET: Final = struct.pack("ii", 1, 0)
"""Value of SO_LINGER for which closing a socket discards what is not yet sent."""


C = TypeVar("C", bound="Connection")


@record(frozen=True)
class Request:
    """A request to send."""

    method: str
    path: str
    """Quoted, with the query."""
    headers: Sequence[tuple[str, str]]
    body: bytes | None = None
    check: Callable[[], object] | None = None
    """Called in the step that hands the bytes to the connection; nothing is sent if it raises."""


@record(eq=False)
class ConnectionPool:
    """Connections, kept by the address that they lead to.

    The methods that send raise :class:`CannotConnect` if nothing was sent, :class:`TimeoutError`, another
    ``OSError`` if the connection ends before the answer or what comes is none, and what ``check`` raises.
    """

    _kept: KeptConnections[Connection] = field(factory=KeptConnections, init=False)
    _all: set[Connection] = field(factory=set, init=False)
    _buffer: memoryview = field(factory=lambda: memoryview(bytearray(READ_BYTES)), init=False)
    _failed: set[Any] = field(factory=set, init=False)
    """Socket addresses that did not answer; they are tried after the others."""

    async def exchange(self, address: Address, request: Request, seconds: float) -> Reply:
        """Return the answer, within *seconds*. A read is repeated if a kept connection had ended already."""
        deadline, data = _now() + seconds, _bytes_of(address, request)
        connection = self._kept.take(address, _now())
        if connection is not None:
            try:
                return await self._carry(connection, address, request, data, deadline)
            except ConnectionResetError:
                if request.method != "GET" or not connection.parser.is_empty:
                    raise
        connection = await self._connect(address, deadline, Connection)
        return await self._carry(connection, address, request, data, deadline)

    async def _carry(
        self, connection: Connection, address: Address, request: Request, data: bytes, deadline: float
    ) -> Reply:
        is_done = False
        timer = asyncio.get_running_loop().call_at(deadline, connection.time_out)
        try:
            if request.check is not None:
                request.check()
            reply = await connection.send(data)
            is_done = True
            return reply
        finally:
            timer.cancel()
            if is_done and connection.is_usable:
                self._kept.put(address, connection, _now())
            else:
                connection.close()

    async def stream(self, address: Address, request: Request, deadline: float) -> Stream:
        """Return the answer once its head has come, by *deadline*, on a connection of its own.

        A kept connection may be as dead as the one that this one replaces.
        """
        data = _bytes_of(address, request)
        connection = await self._connect(address, deadline, Stream)
        try:
            async with asyncio.timeout_at(deadline):
                await connection.begin(data)
        except BaseException:
            connection.close()
            raise
        return connection

    def reset(self) -> None:
        """Let the kernel discard what it has not sent yet, once the connections are closed."""
        for connection in self._all:
            with suppress(OSError):  # it is closed already
                connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    async def close(self) -> None:
        """End all connections; requests under way fail."""
        self._kept.close()
        for connection in list(self._all):
            connection.close()
        await asyncio.sleep(0)  # requests under way get to know it

    # ---- connecting --------------------------------------------------------------------------------------

    async def _connect(self, address: Address, deadline: float, make: type[C]) -> C:
        failure: OSError | None = None
        try:
            async with asyncio.timeout_at(min(deadline, _now() + CONNECT_SECONDS)):
                for found in await self._socket_addresses(*address.end):
                    self._failed.add(found[4])
                    try:
                        connection = await self._open(found, address, make)
                    except OSError as error:
                        failure = error
                        continue
                    self._failed.discard(found[4])
                    return connection
        except TimeoutError:
            failure = TimeoutError("no connection in time")
        host, port = address.end
        raise CannotConnect(f"cannot connect to {host}:{port}: {failure}") from None

    async def _socket_addresses(self, host: str, port: int) -> list[Any]:
        try:
            version = ipaddress.ip_address(host).version
        except ValueError:
            loop = asyncio.get_running_loop()
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            return sorted(found, key=lambda each: each[4] in self._failed)
        family = socket.AF_INET if version == 4 else socket.AF_INET6
        return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))]

    async def _open(self, found: Any, address: Address, make: type[C]) -> C:
        made = new_socket(found)
        made.setblocking(False)
        connection = make(made, self._all, self._buffer)
        try:
            await asyncio.get_running_loop().sock_connect(made, found[4])
            await _secure(connection, address)
            if not connection.is_usable:
                raise ConnectionResetError("the pool was closed")
        except BaseException:
            connection.close()
            made.close()
            raise
        return connection


async def _secure(connection: Connection, address: Address) -> None:
    """Give *connection* a transport over its socket, which is connected: TLS, through a proxy if need be."""
    loop, proxy, tls = asyncio.get_running_loop(), address.proxy, address.tls
    first, name = tls, address.certified_name
    if proxy is not None:
        first, name = (tls or client_context()) if proxy.is_secure else None, proxy.host
    tunnel = _Tunnelling(Tunnel(address), loop.create_future()) if address.has_tunnel else None
    transport, _ = await loop.create_connection(
        lambda: tunnel or connection,
        sock=connection.socket,
        ssl=first,
        server_hostname=None if first is None else name,
    )
    if tunnel is None:
        return
    try:
        await tunnel.is_open
        assert tls is not None
        transport.set_protocol(connection)
        secured = await loop.start_tls(transport, connection, tls, server_hostname=address.certified_name)
    except BaseException:
        transport.abort()
        raise
    if secured is None:
        raise ConnectionResetError("the connection ended before TLS")
    connection.connection_made(secured)


@record(eq=False)
class _Tunnelling(asyncio.Protocol):
    """A connection to a proxy until it has connected to the server."""

    tunnel: Tunnel
    is_open: asyncio.Future[None]

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).write(self.tunnel.request)

    @override
    def data_received(self, data: bytes) -> None:
        if self.is_open.done():
            return
        try:
            if self.tunnel.feed(data):
                self.is_open.set_result(None)
        except OSError as error:
            self.is_open.set_exception(error)

    @override
    def eof_received(self) -> None:
        self.data_received(b"")

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self.data_received(b"")


def _bytes_of(address: Address, request: Request) -> bytes:
    """Return head and body. Raises :class:`CannotConnect` for what cannot be sent."""
    body = request.body or b""
    head = address.head(request.method, request.path, request.headers)
    if request.body is None and request.method == "GET":
        return f"{head}\r\n\r\n".encode()
    return f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def new_socket(address: Any) -> socket.socket:
    """Return a socket for a result of getaddrinfo, that notices when the other side is gone."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 5),
        ("TCP_KEEPINTVL", 2),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", UNACKNOWLEDGED_MS),
    ):
        option = getattr(socket, name, None)  # not every platform has all of them
        if option is not None:
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


def _now() -> float:
    """Return the time that deadlines are counted in: that of the loop, which a test may replace."""
    return asyncio.get_running_loop().time()
