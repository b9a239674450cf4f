"""The HTTP client of the API server: requests with deadlines, streams of lines, dead connections given up.

An asyncio loop owns it. A connection that no longer carries anything gives no error; only a deadline reveals
it, and then all connections of its age are suspect. So :meth:`ApiClient.distrust` makes all later requests
use new connections, while requests under way on the old ones may still end.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import struct
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

import aiohttp
import msgspec
from attrs import define, field
from yarl import URL

from ..._version import __version__
from .credentials import ClientCertificate
from .errors import (
    SERVICE_UNAVAILABLE,
    TOO_MANY_REQUESTS,
    UNAUTHORIZED,
    ApiError,
    CredentialsError,
    NoAnswer,
    Unreachable,
)
from .fence import Fence, FencedBody
from .kubeconfig import Access
from .loop_time import loop_time
from .rights import MissingRights

logger = logging.getLogger("schedframe.kubernetes")

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
METADATA_ONLY: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
"""Accept header for writes whose answer is not read: the server sends the metadata alone."""

CONNECT_SECONDS: Final = 5.0
"""Seconds to make a connection, TLS included."""
KEEP_ALIVE_SECONDS: Final = 50.0
"""Seconds for which an idle connection is kept."""
DISTRUST_SECONDS: Final = 3.0
"""Seconds between two renewals of all connections, at least."""
_RESET: Final = struct.pack("ii", 1, 0)
"""Value of SO_LINGER for which closing a socket discards what is not yet sent."""
UNACKNOWLEDGED_MS: Final = 8000
"""Milliseconds for which sent data may stay unacknowledged before the kernel ends the connection."""


@define(eq=False)
class _Connections:
    """A pool of connections; closed when it is retired and its last request has ended."""

    session: aiohttp.ClientSession
    born: float
    users: int = 0
    retired: bool = False


class _Status(msgspec.Struct):
    """What is read of a ``Status`` of the API server."""

    reason: str = ""
    message: str = ""


@define(eq=False)
class ApiClient:
    """Requests to one API server as one user. All methods belong to the thread of the loop."""

    access: Access
    user_agent: str = f"schedframe/{__version__}"
    fence: Fence | None = None
    """Until when requests with a body may be written; ``None`` for ever."""
    _tls: ssl.SSLContext | None = field(default=None, init=False)
    _certificate: ClientCertificate | None = field(default=None, init=False, repr=False)
    """The certificate of the token source that ``_tls`` has."""
    _pool: _Connections | None = field(default=None, init=False)
    _streams: aiohttp.ClientSession | None = field(default=None, init=False)
    """Makes a new connection for each watch: an idle one may be as dead as the one that it replaces."""
    _retired: set[_Connections] = field(factory=set, init=False)
    _sockets: WeakSet[socket.socket] = field(factory=WeakSet, init=False)
    """Those of the pools, to cut them off."""
    _rights: MissingRights = field(factory=MissingRights, init=False)
    _closed: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        if self.access.server.startswith("https:"):
            self._tls = tls_context(self.access)

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        seconds: float = 30.0,
        accept: str = JSON,
        content_type: str = JSON,
    ) -> bytes:
        """Return the body of a successful answer.

        Raises :class:`ApiError` for any other answer, :class:`Unreachable` or :class:`NotLeading` if nothing
        was sent, and :class:`NoAnswer` if no answer came within *seconds*.
        """
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type
        for last in (False, True):
            status, reply, answer = await self._exchange(method, path, body, headers, seconds)
            if status < 300:
                return answer
            if status == UNAUTHORIZED and self._may_have_another(headers) and not last:
                continue
            error = _api_error(f"{method} {path}", status, reply, answer)
            self._rights.note(error)
            raise error
        raise AssertionError("unreachable: the second round returns or raises")

    async def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], seconds: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        await self._authorize(headers)
        fence, payload = self.fence, None
        if fence is not None and body is not None:
            fence.check()
            payload = FencedBody(body, fence)
        pool = self._use()
        started = loop_time()
        try:
            async with pool.session.request(
                method,
                URL(self.access.server + path, encoded=True),
                data=body if payload is None else payload,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS),
                **self._per_request(),
            ) as reply:
                return reply.status, reply.headers, await reply.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise Unreachable(f"{method} {path}: {_reason(error)}") from None
        except TimeoutError:
            self.distrust(started)
            raise NoAnswer(f"{method} {path}: no answer within {seconds:g} s") from None
        except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
            if payload is not None and payload.refusal is not None:
                raise payload.refusal from None
            raise NoAnswer(f"{method} {path}: {_reason(error)}") from None
        finally:
            self._leave(pool)

    @asynccontextmanager
    async def stream(self, path: str, *, quiet_seconds: float) -> AsyncIterator[AsyncIterator[list[bytes]]]:
        """Open a watch: an iterator over the lines that arrived together.

        The iterator ends when the server ends the stream, and raises :class:`NoAnswer` when the connection
        breaks or carries nothing for *quiet_seconds*.
        """
        headers = {"Accept": JSON}
        await self._authorize(headers)
        if self._streams is None:
            self._streams = self._session(reuse=False)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=quiet_seconds)
        try:
            async with self._streams.get(
                URL(self.access.server + path, encoded=True),
                headers=headers,
                timeout=timeout,
                **self._per_request(),
            ) as reply:
                if reply.status != 200:
                    if reply.status == UNAUTHORIZED:
                        self._may_have_another(headers)
                    raise _api_error(f"WATCH {path}", reply.status, reply.headers, await reply.read())
                yield _lines(reply.content)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise Unreachable(f"WATCH {path}: {_reason(error)}") from None
        except TimeoutError:
            raise NoAnswer(f"WATCH {path}: quiet", is_quiet=True) from None
        except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
            raise NoAnswer(f"WATCH {path}: {_reason(error)}") from None

    def distrust(self, since: float) -> None:
        """Use new connections from now on, unless those in use were made after *since*."""
        pool = self._pool
        if pool is None or pool.born > since or loop_time() - pool.born < DISTRUST_SECONDS:
            return
        logger.info("connections that are %.1f s old are given up", loop_time() - pool.born)
        self._retire()

    def _retire(self) -> None:
        """Use new connections from now on; those in use end with their last request."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        pool.retired = True
        self._retired.add(pool)
        if not pool.users:
            self._dispose(pool)

    async def cut_off(self) -> None:
        """End all connections but those of watches, and discard what the kernel has not yet sent on them.

        Requests under way get :class:`NoAnswer`; later ones use new connections.
        """
        for each in list(self._sockets):
            with suppress(OSError):  # it is closed already
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        pools = [*self._retired, *([self._pool] if self._pool is not None else [])]
        self._pool = None
        for pool in pools:
            pool.retired = True
            await pool.session.close()

    async def close(self) -> None:
        """End all connections, and refuse further requests: those under way get :class:`NoAnswer`."""
        self._closed = True
        for pool in (*self._retired, *([self._pool] if self._pool is not None else [])):
            await pool.session.close()
        if self._streams is not None:
            await self._streams.close()
        self._pool = self._streams = None

    # ---- connections -------------------------------------------------------------------------------------

    async def _authorize(self, headers: dict[str, str]) -> None:
        if self._closed:
            raise Unreachable("the client is closed")
        value = await self.access.tokens.header()
        if value is not None:
            headers["Authorization"] = value
        certificate = self.access.tokens.certificate
        if certificate is not self._certificate:
            await self._change_certificate(certificate)

    async def _change_certificate(self, certificate: ClientCertificate | None) -> None:
        """Prove with *certificate* from now on who the user is: on new connections, also of watches."""
        self._tls = tls_context(self.access, certificate)
        self._certificate = certificate
        self._retire()
        streams, self._streams = self._streams, None
        if streams is not None:
            await streams.close()

    def _may_have_another(self, headers: Mapping[str, str]) -> bool:
        """Note that the server refused the credential of a request; return whether another may be had."""
        return self.access.tokens.refused(headers.get("Authorization"))

    def _per_request(self) -> dict[str, Any]:
        access, options = self.access, dict[str, Any]()
        if access.tls_server_name:
            options["server_hostname"] = access.tls_server_name
        if access.proxy_url:
            options["proxy"] = access.proxy_url
        return options

    def _use(self) -> _Connections:
        pool = self._pool
        if pool is None:
            pool = self._pool = _Connections(self._session(reuse=True), loop_time())
        pool.users += 1
        return pool

    def _leave(self, pool: _Connections) -> None:
        pool.users -= 1
        if pool.retired and not pool.users:
            self._dispose(pool)

    def _dispose(self, pool: _Connections) -> None:
        task = asyncio.get_running_loop().create_task(pool.session.close())
        task.add_done_callback(lambda _: self._retired.discard(pool))

    def _session(self, *, reuse: bool) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0,
            ssl=self._tls if self._tls is not None else True,
            keepalive_timeout=KEEP_ALIVE_SECONDS if reuse else None,
            force_close=not reuse,
            socket_factory=self._socket if reuse else _socket,
        )
        headers = {"User-Agent": self.user_agent, "Accept-Encoding": "identity"}
        every = [*headers.items(), *self.access.impersonate]
        return aiohttp.ClientSession(connector=connector, headers=every, auto_decompress=True)

    def _socket(self, address: Any) -> socket.socket:
        made = _socket(address)
        self._sockets.add(made)
        return made


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[list[bytes]]:
    rest: list[bytes] = []
    while chunk := await content.readany():
        head, found, tail = chunk.rpartition(b"\n")
        if not found:
            rest.append(tail)
            continue
        rest.append(head)
        whole, rest = b"".join(rest), [tail]
        yield whole.split(b"\n")


def _socket(address: Any) -> socket.socket:
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


def tls_context(access: Access, certificate: ClientCertificate | None = None) -> ssl.SSLContext:
    """Return what verifies the server, and proves who the client is: *certificate*, or that of *access*.

    Raises :class:`CredentialsError` for what cannot be used.
    """
    try:
        return _tls_context(access, certificate)
    except ssl.SSLError as error:
        raise CredentialsError(
            f"{access.source}: certificate-authority, client-certificate or client-key "
            f"cannot be used: {error}"
        ) from None


def _tls_context(access: Access, certificate: ClientCertificate | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=access.ca_data)
    if access.insecure:
        logger.warning(
            "%s says insecure-skip-tls-verify: the certificate of %s is not verified, so a proxy on the way "
            "can read and change what is sent; put its certificate-authority into the kubeconfig",
            access.source,
            access.server,
        )
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate is None and access.client_cert is not None and access.client_key is not None:
        certificate = ClientCertificate(access.client_cert, access.client_key)
    if certificate is not None:
        # The ssl module reads certificates from files only.
        with tempfile.TemporaryDirectory(prefix="schedframe-") as folder:
            public, private = Path(folder, "cert"), Path(folder, "key")
            public.write_bytes(certificate.certificate)
            private.touch(mode=0o600)
            private.write_bytes(certificate.key)
            context.load_cert_chain(public, private)
    return context


_decode_status: Final = partial(msgspec.json.decode, type=_Status)


def _api_error(request: str, status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    try:
        read = _decode_status(body)
    except msgspec.MsgspecError:
        read = _Status("", body[:200].decode(errors="replace"))
    retry_after = None
    if status in (TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE):
        text = headers.get("Retry-After", "")
        retry_after = float(text) if text.isdigit() else None
    return ApiError(request.partition("?")[0], status, read.reason, read.message, retry_after)


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
