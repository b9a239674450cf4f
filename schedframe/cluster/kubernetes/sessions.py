"""Requests and watches by aiohttp: through proxies, and wherever the plain connections cannot be used."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import aiohttp
from attrs import define, field
from yarl import URL

from .connections import CONNECT_SECONDS, KEEP_ALIVE_SECONDS, RESET, CannotConnect, Request, new_socket
from .fence import FencedBody
from .kubeconfig import Access
from .replies import Reply


@define(eq=False)
class SessionPool:
    """Connections of a session of aiohttp. Implements :class:`.Carrier`."""

    access: Access
    tls: ssl.SSLContext | None
    session: aiohttp.ClientSession = field(init=False)
    _sockets: WeakSet[socket.socket] = field(factory=WeakSet, init=False)

    def __attrs_post_init__(self) -> None:
        def watched_socket(address: Any) -> socket.socket:
            made = new_socket(address)
            self._sockets.add(made)
            return made

        connector = aiohttp.TCPConnector(
            limit=0,
            ssl=_tls_of(self.tls),
            keepalive_timeout=KEEP_ALIVE_SECONDS,
            socket_factory=watched_socket,
        )
        self.session = aiohttp.ClientSession(connector=connector)

    async def exchange(self, request: Request, seconds: float) -> Reply:
        """See :class:`.Carrier`."""
        payload = None
        if request.fence is not None and request.body is not None:
            payload = FencedBody(request.body, request.fence)
        try:
            async with self.session.request(
                request.method,
                url_of(self.access, request.path),
                data=request.body if payload is None else payload,
                headers=request.headers,
                timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS),
                **options_of(self.access),
            ) as reply:
                return Reply(reply.status, reply.headers, await reply.read())
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise CannotConnect(reason_of(error)) from None
        except TimeoutError:
            raise
        except aiohttp.ClientError as error:
            if payload is not None and payload.refusal is not None:
                raise payload.refusal from None
            raise OSError(reason_of(error)) from None

    def reset(self) -> None:
        """See :class:`.Carrier`."""
        for each in list(self._sockets):
            with suppress(OSError):  # it is closed already
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    async def close(self) -> None:
        """See :class:`.Carrier`."""
        await self.session.close()


def streaming_session(tls: ssl.SSLContext | None) -> aiohttp.ClientSession:
    """Return a session that makes a new connection for each watch: an idle one may be as dead as its last."""
    connector = aiohttp.TCPConnector(limit=0, ssl=_tls_of(tls), force_close=True, socket_factory=new_socket)
    return aiohttp.ClientSession(connector=connector)


def url_of(access: Access, path: str) -> URL:
    """Return the whole URL of a quoted path."""
    return URL(access.server + path, encoded=True)


def options_of(access: Access) -> dict[str, Any]:
    """Return the arguments of a request that depend on the server and the way to it."""
    options = dict[str, Any]()
    if access.tls_server_name:
        options["server_hostname"] = access.tls_server_name
    if access.proxy_url:
        options["proxy"] = access.proxy_url
    return options


def reason_of(error: BaseException) -> str:
    """Return what went wrong, in words."""
    return str(error) or type(error).__name__


def _tls_of(tls: ssl.SSLContext | None) -> ssl.SSLContext | bool:
    return True if tls is None else tls
