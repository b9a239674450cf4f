"""One request to an extender, and the answer to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from time import monotonic
from typing import Final, TypeVar
from urllib.parse import urljoin

from attrs import field

from .._base.value import record
from ..framework import ExtenderError
from ..http.address import Address, CannotConnect
from ..http.blocking import Connection, Wait
from ..http.parser import Reply
from .servers import Servers

T = TypeVar("T")

MOST_REQUESTS: Final = 10
"""Requests until an answer that is no redirect; as in Go."""
_REPEATS: Final = frozenset({HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT})
"""Redirects after which the same request is sent to another URL."""


@record(eq=False)
class Exchange:
    """A request that is sent, to be answered within *timeout* seconds, connecting and redirects included."""

    servers: Servers
    verb: str
    url: str
    timeout: float
    wait: Wait
    deadline: float = field(init=False)
    _request: Sequence[bytes] = field(default=(), init=False)
    _address: Address | None = field(default=None, init=False)
    _connection: Connection | None = field(default=None, init=False)
    _answer: bytes | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.deadline = monotonic() + self.timeout

    def send(self, body: Sequence[bytes], url: str = "") -> None:
        """Send the request, the body in parts, to *url* or that of the exchange.

        Raises :class:`ExtenderError`.
        """
        self._request = body
        destination = self.servers.destination(url or self.url)
        request = (b"%b%d\r\n\r\n" % (destination.head, sum(map(len, body))), *body)
        self._address, self._connection = destination.address, None
        try:
            while self._connection is None:
                self._connection = self.servers.take(destination.address, self.deadline, self.wait)
                self._try_to_send(self._connection, request)
        except OSError as error:
            raise self._failed(error) from error

    def _try_to_send(self, connection: Connection, request: Sequence[bytes]) -> None:
        """Send *request*; a kept connection that the server has closed is dropped, as in Go."""
        try:
            connection.send(request, self.deadline, self.wait)
        except CannotConnect:
            if not connection.is_reused:
                raise
            connection.close()
            self._connection = None

    def read(self, decode: Callable[[bytes], T]) -> T:
        """Return what *decode* makes of the answer. Raises :class:`ExtenderError`."""
        return decode(self.receive())

    def receive(self) -> bytes:
        """Return the body of the answer, waited for once. Raises :class:`ExtenderError`."""
        if self._answer is None:
            reply, url, sent = self._receive(), self.url, 1
            while reply.status in _REPEATS and (location := reply.headers.get("location")):
                if sent >= MOST_REQUESTS:
                    raise ExtenderError(f'Post "{self.url}": stopped after {MOST_REQUESTS} redirects')
                url, sent = _joined(url, location), sent + 1
                self.send(self._request, url)
                reply = self._receive()
            if reply.status != HTTPStatus.OK:
                raise ExtenderError(self._refusal(reply, url))
            self._answer, self._request = reply.body, ()
        return self._answer

    def _receive(self) -> Reply:
        connection, address = self._connection, self._address
        assert connection is not None
        assert address is not None
        try:
            reply = connection.receive(self.deadline, self.wait)
        except OSError as error:
            raise self._failed(error) from error
        self.servers.put_back(address, connection)
        return reply

    def _refusal(self, reply: Reply, url: str) -> str:
        problem = f"failed {self.verb} with extender at URL {self.url}, code {reply.status}"
        if url != self.url:
            problem += f" from {url}, to which it redirected"
        if location := reply.headers.get("location"):
            problem += f"; it redirects to {location} with a code that does not repeat the request"
        return problem

    def _failed(self, error: OSError) -> ExtenderError:
        if self._connection is not None:
            self._connection.close()
        detail = f"{error}, within {self.timeout:g}s" if isinstance(error, TimeoutError) else str(error)
        return ExtenderError(f'Post "{self.url}": {detail}')


def _joined(url: str, location: str) -> str:
    """Return where *location*, which may be relative to *url*, leads. Raises :class:`ExtenderError`."""
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise ExtenderError(f"cannot follow the redirect to {location!r}: {error}") from error
