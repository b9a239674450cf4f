"""The HTTP client of the API server: requests with deadlines, streams of lines, dead connections given up.

An asyncio loop owns it. A connection that no longer carries anything gives no error; only a deadline reveals
it, and then all connections of its age are suspect. So :meth:`ApiClient.distrust` makes all later requests
use new connections, while requests under way on the old ones may still end.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urljoin

import msgspec
from attrs import evolve, field

from ..._base.value import record
from ..._version import __version__
from ...http.address import Address, CannotConnect, Proxy
from ...http.loop import ConnectionPool, Request
from ...http.parser import LARGEST_BODY, Reply
from ...http.protocols import Stream
from .binary import MAGIC, reason_and_message
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
from .rights import MissingRights
from .tls import tls_context

logger = logging.getLogger("schedframe.kubernetes")

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
UNREAD: Final = "application/vnd.kubernetes.protobuf,application/json"
"""Accept header for writes whose answer is not read: the form that costs the server least."""

_REPEATING: Final = frozenset({307, 308})
"""Redirects after which the same request is sent to another URL."""
_REDIRECTS: Final = frozenset({301, 302, 303}) | _REPEATING
"""The same for a GET. A write that became a GET, as in a browser, would seem to have succeeded."""
MOST_REQUESTS: Final = 10
"""Requests until an answer that is no redirect; as in Go."""
DISTRUST_SECONDS: Final = 3.0
"""Seconds between two renewals of all connections, at least."""


@record(eq=False)
class _Generation:
    """Connections of one age; closed when they are retired and their last request has ended."""

    pool: ConnectionPool
    born: float
    users: int = 0
    retired: bool = False


class _Status(msgspec.Struct):
    """The fields of a ``Status`` of the API server that are read."""

    reason: str = ""
    message: str = ""


@record(eq=False)
class ApiClient:
    """Requests to one API server as one user. All methods belong to the thread of the loop."""

    access: Access
    user_agent: str = f"schedframe/{__version__}"
    fence: Fence | None = None
    """Until when requests with a body may be written; ``None`` for ever."""
    _tls: ssl.SSLContext | None = field(default=None, init=False)
    """Made when an address needs it."""
    _address: Address = field(init=False)
    _certificate: ClientCertificate | None = field(default=None, init=False, repr=False)
    """The certificate of the token source that is in use."""
    _pool: _Generation | None = field(default=None, init=False)
    _streams: ConnectionPool = field(factory=ConnectionPool, init=False)
    """Those of watches."""
    _retired: set[_Generation] = field(factory=set, init=False)
    _rights: MissingRights = field(factory=MissingRights, init=False)
    _closed: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._address = self._address_of(self.access.server)

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
            reply = await self._follow(method, path, body, headers, seconds)
            if reply.status < 300:
                if not reply.body.lstrip().startswith((b"{", MAGIC)):
                    # A proxy whose session has ended sends its own page, and nothing has taken effect.
                    raise NoAnswer(f"{method} {path}: the answer is not Kubernetes': {reply.body[:60]!r}")
                return reply.body
            if reply.status == UNAUTHORIZED and self._may_have_another(headers) and not last:
                continue
            error = _api_error(f"{method} {path}", reply)
            self._rights.note(error)
            raise error
        raise AssertionError("unreachable: the second round returns or raises")

    async def _follow(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], seconds: float
    ) -> Reply:
        """Return the answer to which redirects lead."""
        await self._authorize(headers)
        fence, deadline, name = self.fence, loop_time() + seconds, f"{method} {path}"
        check = fence.check if fence is not None and body is not None else None
        if check is not None:
            check()
        address, request = self._address, self._request(method, path, headers, body, check)
        for _ in range(MOST_REQUESTS):
            reply = await self._exchange(name, address, request, deadline, seconds)
            following = self._redirected(address, request, reply.status, reply.headers)
            if following is None:
                return reply
            address, request = following
        raise NoAnswer(f"{name}: stopped after {MOST_REQUESTS} redirects")

    async def _exchange(
        self, name: str, address: Address, request: Request, deadline: float, seconds: float
    ) -> Reply:
        generation, started = self._use(), loop_time()
        try:
            return await generation.pool.exchange(address, request, deadline - started)
        except CannotConnect as error:
            raise Unreachable(f"{name}: {reason_of(error)}") from None
        except TimeoutError:
            self.distrust(started)
            raise NoAnswer(f"{name}: no answer within {seconds:g} s") from None
        except OSError as error:
            raise NoAnswer(f"{name}: {reason_of(error)}") from None
        finally:
            self._leave(generation)

    @asynccontextmanager
    async def stream(self, path: str, *, quiet_seconds: float) -> AsyncIterator[AsyncIterator[list[bytes]]]:
        """Open a watch: an iterator over the lines that arrived together.

        The iterator ends when the server ends the stream, and raises :class:`NoAnswer` when the connection
        breaks or carries no whole line for *quiet_seconds*.
        """
        headers, deadline = {"Accept": JSON}, loop_time() + quiet_seconds
        await self._authorize(headers)
        stream: Stream | None = None
        try:
            stream = await self._open(path, headers, deadline)
            if stream.status != 200:
                if stream.status == UNAUTHORIZED:
                    self._may_have_another(headers)
                async with asyncio.timeout_at(deadline):
                    raise _api_error(f"WATCH {path}", await stream.whole())
            yield _lines(stream, quiet_seconds)
        except CannotConnect as error:
            raise Unreachable(f"WATCH {path}: {reason_of(error)}") from None
        except TimeoutError:
            raise NoAnswer(f"WATCH {path}: quiet", is_quiet=True) from None
        except OSError as error:
            raise NoAnswer(f"WATCH {path}: {reason_of(error)}") from None
        finally:
            if stream is not None:
                stream.close()

    async def _open(self, path: str, headers: dict[str, str], deadline: float) -> Stream:
        """Return the answer to a watch, to which redirects lead."""
        address, request = self._address, self._request("GET", path, headers)
        for _ in range(MOST_REQUESTS):
            stream = await self._streams.stream(address, request, deadline)
            following = self._redirected(address, request, stream.status, stream.headers)
            if following is None:
                return stream
            stream.close()
            address, request = following
        raise OSError(f"stopped after {MOST_REQUESTS} redirects")

    def _request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        check: Callable[[], object] | None = None,
    ) -> Request:
        own = [("User-Agent", self.user_agent), ("Accept-Encoding", "identity"), *self.access.impersonate]
        return Request(method, self._address.prefix.rstrip("/") + path, [*own, *headers.items()], body, check)

    def _redirected(
        self, address: Address, request: Request, status: int, headers: Mapping[str, str]
    ) -> tuple[Address, Request] | None:
        """Return where a redirect leads, and what is sent there; ``None`` if none can be followed.

        Another server gets no credentials.
        """
        location = headers.get("location")
        if not location or status not in (_REDIRECTS if request.method == "GET" else _REPEATING):
            return None
        try:
            url = urljoin(f"{address.scheme}://{address.shown}{request.path}", location)
            following = self._address_of(url)
        except (ValueError, CredentialsError):
            return None
        sent = request.headers
        if following != address:
            sent = [each for each in sent if each[0] != "Authorization"]
        return following, evolve(request, path=following.prefix or "/", headers=sent)

    def distrust(self, since: float) -> None:
        """Use new connections from now on, unless those in use were made after *since*."""
        newest = self._pool
        if newest is None or newest.born > since or loop_time() - newest.born < DISTRUST_SECONDS:
            return
        logger.info("connections that are %.1f s old are given up", loop_time() - newest.born)
        self._retire()

    def _retire(self) -> None:
        """Use new connections from now on; those in use end with their last request."""
        former, self._pool = self._pool, None
        if former is None:
            return
        former.retired = True
        self._retired.add(former)
        if not former.users:
            self._dispose(former)

    async def cut_off(self) -> None:
        """End all connections but those of watches, and discard what the kernel has not yet sent on them.

        Requests under way get :class:`NoAnswer`; later ones use new connections.
        """
        for each in self._generations():
            each.retired = True
            each.pool.reset()
            await each.pool.close()

    async def close(self) -> None:
        """End all connections, and refuse further requests: those under way get :class:`NoAnswer`."""
        self._closed = True
        for each in self._generations():
            await each.pool.close()
        await self._streams.close()

    def _generations(self) -> list[_Generation]:
        """Return all that are open; later requests use a new one."""
        newest, self._pool = self._pool, None
        return [*self._retired, *([newest] if newest is not None else [])]

    # ---- connections -------------------------------------------------------------------------------------

    async def _authorize(self, headers: dict[str, str]) -> None:
        if self._closed:
            raise Unreachable("the client is closed")
        value = await self.access.tokens.header() or self._address.authorization
        if value:
            headers["Authorization"] = value
        certificate = self.access.tokens.certificate
        if certificate is not self._certificate:
            await self._change_certificate(certificate)

    async def _change_certificate(self, certificate: ClientCertificate | None) -> None:
        """Prove with *certificate* from now on who the user is: on new connections, also of watches."""
        self._certificate, self._tls = certificate, None
        self._address = self._address_of(self.access.server)
        self._retire()
        streams, self._streams = self._streams, ConnectionPool()
        await streams.close()

    def _may_have_another(self, headers: Mapping[str, str]) -> bool:
        """Note that the server refused the credential of a request; return whether another may be had."""
        return self.access.tokens.refused(headers.get("Authorization"))

    def _use(self) -> _Generation:
        generation = self._pool
        if generation is None:
            generation = self._pool = _Generation(ConnectionPool(), loop_time())
        generation.users += 1
        return generation

    def _leave(self, generation: _Generation) -> None:
        generation.users -= 1
        if generation.retired and not generation.users:
            self._dispose(generation)

    def _dispose(self, generation: _Generation) -> None:
        task = asyncio.get_running_loop().create_task(generation.pool.close())
        task.add_done_callback(lambda _: self._retired.discard(generation))

    def _address_of(self, url: str) -> Address:
        """Return the address of *url*, reached as the kubeconfig says. Raises :class:`CredentialsError`."""
        access = self.access
        try:
            address = Address.of(url)
            proxy = Proxy.of(access.proxy_url) if access.proxy_url else None
        except ValueError as error:
            raise CredentialsError(f"{access.source}: server or proxy-url cannot be used: {error}") from None
        if address.scheme == "https" and self._tls is None:
            self._tls = tls_context(access, self._certificate)
        return address.over(self._tls, access.tls_server_name, proxy)


async def _lines(stream: Stream, quiet_seconds: float) -> AsyncIterator[list[bytes]]:
    """Yield the lines that arrived together.

    Raises :class:`TimeoutError` after *quiet_seconds* without one. Bytes that make no event, parts of a line
    and blank lines, do not count: they would keep a watch that shows nothing.
    """
    rest, deadline = bytearray(), loop_time() + quiet_seconds
    while chunk := await stream.read(deadline):
        head, found, tail = chunk.rpartition(b"\n")
        if not found:
            rest += tail
            if len(rest) > LARGEST_BODY:
                raise OSError(f"a line is longer than {LARGEST_BODY} bytes")
            continue
        if rest:
            head = bytes(rest) + head
        rest = bytearray(tail)
        if not head or head.isspace():
            continue
        yield head.split(b"\n")
        deadline = loop_time() + quiet_seconds


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


def reason_of(error: BaseException) -> str:
    """Return what went wrong, in words."""
    return str(error) or type(error).__name__
