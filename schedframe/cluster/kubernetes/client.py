"""The HTTP client of the API server: requests with deadlines, streams of lines, dead connections given up.

An asyncio loop owns it. A connection that no longer carries anything gives no error; only a deadline reveals
it, and then all connections of its age are suspect. So :meth:`ApiClient.distrust` makes all later requests
use new connections, while requests under way on the old ones may still end.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import aiohttp
import msgspec
from attrs import define, field
from yarl import URL

from ..._tls import client_context, load_pair
from ..._version import __version__
from .binary import MAGIC, reason_and_message
from .connections import CONNECT_SECONDS, Address, CannotConnect, Carrier, ConnectionPool, Request
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
from .fence import Fence
from .kubeconfig import Access
from .loop_time import loop_time
from .replies import Reply
from .rights import MissingRights
from .sessions import SessionPool, options_of, reason_of, streaming_session, url_of

logger = logging.getLogger("schedframe.kubernetes")

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
UNREAD: Final = "application/vnd.kubernetes.protobuf,application/json"
"""Accept header for writes whose answer is not read: the form that costs the server least."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
DISTRUST_SECONDS: Final = 3.0
"""Seconds between two renewals of all connections, at least."""


@define(eq=False)
class _Connections:
    """Connections of one age; closed when they are retired and their last request has ended."""

    carrier: Carrier
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
    _is_plain: bool = field(init=False)
    """Whether requests may use plain connections, without aiohttp."""
    _rights: MissingRights = field(factory=MissingRights, init=False)
    _closed: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        if self.access.server.startswith("https:"):
            self._tls = tls_context(self.access)
        self._is_plain = not self.access.proxy_url and URL(self.access.server).user is None

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
        was sent, and :class:`NoAnswer` if no answer of an API server came within *seconds*.
        """
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type
        for last in (False, True):
            reply = await self._exchange(method, path, body, headers, seconds)
            if reply.status < 300:
                if not reply.body.lstrip().startswith((b"{", MAGIC)):
                    # A proxy whose session has ended sends its own page, and nothing has taken effect.
                    raise NoAnswer(f"{method} {path}: the answer is not Kubernetes': {reply.body[:60]!r}")
                return reply.body
            if reply.status == UNAUTHORIZED and self._may_have_another(headers) and not last:
                continue
            if reply.status in _REDIRECTS and self._is_plain and not last:
                self._is_plain = False  # aiohttp follows it
                self._retire()
                continue
            error = _api_error(f"{method} {path}", reply)
            self._rights.note(error)
            raise error
        raise AssertionError("unreachable: the second round returns or raises")

    async def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], seconds: float
    ) -> Reply:
        await self._authorize(headers)
        fence = self.fence
        if fence is not None and body is not None:
            fence.check()
        request = Request(method, path, [*self._own_headers(), *headers.items()], body, fence)
        pool = self._use()
        started = loop_time()
        try:
            return await pool.carrier.exchange(request, seconds)
        except CannotConnect as error:
            raise Unreachable(f"{method} {path}: {reason_of(error)}") from None
        except TimeoutError:
            self.distrust(started)
            raise NoAnswer(f"{method} {path}: no answer within {seconds:g} s") from None
        except OSError as error:
            raise NoAnswer(f"{method} {path}: {reason_of(error)}") from None
        finally:
            self._leave(pool)

    @asynccontextmanager
    async def stream(self, path: str, *, quiet_seconds: float) -> AsyncIterator[AsyncIterator[list[bytes]]]:
        """Open a watch: an iterator over the lines that arrived together.

        The iterator ends when the server ends the stream, and raises :class:`NoAnswer` when the connection
        breaks or carries no whole line for *quiet_seconds*.
        """
        headers = {"Accept": JSON}
        await self._authorize(headers)
        if self._streams is None:
            self._streams = streaming_session(self._tls)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=quiet_seconds)
        try:
            async with (
                asyncio.timeout(quiet_seconds) as opening,
                self._streams.get(
                    url_of(self.access, path),
                    headers=[*self._own_headers(), *headers.items()],
                    timeout=timeout,
                    **options_of(self.access),
                ) as reply,
            ):
                if reply.status != 200:
                    if reply.status == UNAUTHORIZED:
                        self._may_have_another(headers)
                    answer = Reply(reply.status, reply.headers, await reply.read())
                    raise _api_error(f"WATCH {path}", answer)
                opening.reschedule(None)
                yield _lines(reply.content, quiet_seconds)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise Unreachable(f"WATCH {path}: {reason_of(error)}") from None
        except TimeoutError:
            raise NoAnswer(f"WATCH {path}: quiet", is_quiet=True) from None
        except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
            raise NoAnswer(f"WATCH {path}: {reason_of(error)}") from None

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
        pools = [*self._retired, *([self._pool] if self._pool is not None else [])]
        self._pool = None
        for pool in pools:
            pool.retired = True
            pool.carrier.reset()
            await pool.carrier.close()

    async def close(self) -> None:
        """End all connections, and refuse further requests: those under way get :class:`NoAnswer`."""
        self._closed = True
        for pool in (*self._retired, *([self._pool] if self._pool is not None else [])):
            await pool.carrier.close()
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

    def _own_headers(self) -> list[tuple[str, str]]:
        return [("User-Agent", self.user_agent), ("Accept-Encoding", "identity"), *self.access.impersonate]

    def _use(self) -> _Connections:
        pool = self._pool
        if pool is None:
            pool = self._pool = _Connections(self._carrier(), loop_time())
        pool.users += 1
        return pool

    def _leave(self, pool: _Connections) -> None:
        pool.users -= 1
        if pool.retired and not pool.users:
            self._dispose(pool)

    def _dispose(self, pool: _Connections) -> None:
        task = asyncio.get_running_loop().create_task(pool.carrier.close())
        task.add_done_callback(lambda _: self._retired.discard(pool))

    def _carrier(self) -> Carrier:
        if not self._is_plain:
            return SessionPool(self.access, self._tls)
        server = URL(self.access.server)
        host, shown = server.raw_host or "", server.host_port_subcomponent or ""
        return ConnectionPool(
            Address(host, server.port or 443, shown, self._tls, self.access.tls_server_name),
            server.raw_path.rstrip("/"),
        )


async def _lines(content: aiohttp.StreamReader, quiet_seconds: float) -> AsyncIterator[list[bytes]]:
    """Yield the lines that arrived together. Raises :class:`TimeoutError` after *quiet_seconds* without one.

    aiohttp's timer sees to that while nothing arrives. Bytes that make no event, parts of a line and blank
    lines, renew it, so the first of them starts a timer here: they would keep a watch that shows nothing.
    """
    rest, since = list[bytes](), loop_time()
    has_other = False
    while True:
        if has_other:
            async with asyncio.timeout_at(since + quiet_seconds):
                chunk = await content.readany()
        else:
            chunk = await content.readany()
        if not chunk:
            return
        head, found, tail = chunk.rpartition(b"\n")
        has_other = True
        if not found:
            rest.append(tail)
            continue
        rest.append(head)
        whole, rest = b"".join(rest), [tail]
        if not whole or whole.isspace():
            continue
        yield whole.split(b"\n")
        since, has_other = loop_time(), bool(tail)


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
    context = client_context(access.ca_data)
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
        load_pair(context, certificate.certificate, certificate.key)
    return context


def _decode_status(body: bytes) -> tuple[str, str]:
    read = msgspec.json.decode(body, type=_Status)
    return read.reason, read.message


def _api_error(request: str, reply: Reply) -> ApiError:
    status, headers, body = reply
    try:
        reason, message = reason_and_message(body) if body.startswith(MAGIC) else _decode_status(body)
    except (ValueError, RecursionError):  # the latter for what is nested deeply
        reason, message = "", body[:200].decode(errors="replace")
    retry_after = None
    if status in (TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE):
        text = headers.get("retry-after", "")
        retry_after = float(text) if text.isascii() and text.isdigit() else None
    return ApiError(request.partition("?")[0], status, reason, message, retry_after)
