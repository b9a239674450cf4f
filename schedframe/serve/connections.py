"""Connections of the server: bounded in number, and in the time that a client takes for its part.

Without bounds, connections that send nothing, or a byte now and then, or that take no answer would end the
answers to probes. The bounds hold from the first byte on: a connection counts before its TLS handshake.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Final, cast

import h11
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS: Final = 10.0
"""Seconds for TLS to begin, and from the connection or the first byte of a request to the end of a head."""
ANSWER_SECONDS: Final = 60.0
"""Seconds in which a client must take an answer."""
MOST_CONNECTIONS: Final = 256
"""Connections at a time. A further one ends the one for which the server has waited longest."""
_MAY_ANSWER: Final = (h11.IDLE, h11.SEND_RESPONSE)
"""States of the server in which an answer may begin."""


def connection(tls: ssl.SSLContext | None, **options: Any) -> asyncio.Protocol:
    """Return the protocol of a new connection; *options* are those of uvicorn."""
    http = BoundedConnection(**options)
    return http if tls is None else TlsHandshake(http, tls)


class BoundedConnection(H11Protocol):
    """A connection that is closed when a request does not arrive, or its answer is not taken, in time."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._untaken: asyncio.TimerHandle | None = None
        """Ends the connection when the client does not take the answers that are left to send."""
        self.below: asyncio.Transport | None = None
        """The connection below that of TLS, whose buffer counts, too."""
        self.waits_since: float = self.loop.time()
        """When the server began to wait for the client."""

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @property
    def waits(self) -> bool:
        """Whether the server waits for the client: for a request, or for room for an answer."""
        return self._is_idle or self._untaken is not None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base
        super().connection_made(transport)
        self._expect_head()
        _make_room(self.connections, self)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        self._has_taken()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        if self._timer is None and self._is_idle:
            self._expect_head()
        super().data_received(data)

    @override
    def handle_events(self) -> None:
        former = self.cycle
        super().handle_events()
        if self.cycle is not former:
            self._expect_nothing()
            if not self._left():
                self._has_taken()

    @override
    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, unless the answer to its head has begun: then only the end is left."""
        if not self._is_idle:
            self.cycle.disconnected = True  # whatever the page still sends goes nowhere
        if self.conn.our_state in _MAY_ANSWER:
            super().send_400_response(msg)
        else:
            self.transport.close()

    @override
    def on_response_complete(self) -> None:
        self.waits_since = self.loop.time()
        if self._untaken is None and self._left():
            self._untaken = self.loop.call_later(ANSWER_SECONDS, self._end_untaken)
        super().on_response_complete()

    def _left(self) -> int:
        """Return the bytes that wait for the client to take them."""
        below = 0 if self.below is None else self.below.get_write_buffer_size()
        return below + self.transport.get_write_buffer_size()

    def _has_taken(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None

    def _end_untaken(self) -> None:
        self._untaken = None
        if self._left():
            self.transport.abort()

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class TlsHandshake(asyncio.Protocol):
    """A connection until its TLS handshake has ended; then *http* has it.

    asyncio's own server shows a connection to its protocol only after the handshake, so those that never end
    it would not be counted.
    """

    waits = True
    """The server waits for the client, as :attr:`BoundedConnection.waits`."""

    def __init__(self, http: BoundedConnection, tls: ssl.SSLContext) -> None:
        self.http = http
        self.tls = tls
        self.connections: set[Any] = http.connections
        self.waits_since = http.waits_since
        self.transport: asyncio.Transport
        self._task: asyncio.Task[None] | None = None
        self._early: list[bytes] = []
        """What came with the end of the handshake."""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.pause_reading()  # until TLS reads
        self.connections.add(self)
        _make_room(self.connections, self)
        self._task = self.http.loop.create_task(self._shake_hands())

    @override
    def data_received(self, data: bytes) -> None:
        self._early.append(data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self.connections.discard(self)

    def shutdown(self) -> None:
        """Called by uvicorn when the server ends."""
        self.transport.abort()

    async def _shake_hands(self) -> None:
        try:
            secure = await self.http.loop.start_tls(
                self.transport, self, self.tls, server_side=True, ssl_handshake_timeout=HEAD_SECONDS
            )
        except OSError:  # the client broke off, speaks no TLS or another one: it has no more of the server
            return
        finally:
            self.connections.discard(self)
        if secure is None or secure.is_closing():
            return
        self.http.below = self.transport
        secure.set_protocol(self.http)
        self.http.connection_made(secure)
        if self._early:
            self.http.data_received(b"".join(self._early))


def _make_room(connections: set[Any], newest: BoundedConnection | TlsHandshake) -> None:
    """End the connection that the server has waited longest for, if there are too many. O(n).

    That is the newest one if all others have a request.
    """
    if len(connections) <= MOST_CONNECTIONS:
        return
    waiting = [each for each in connections if each is not newest and each.waits]
    oldest = min(waiting, key=lambda each: each.waits_since, default=newest)
    connections.discard(oldest)
    oldest.transport.abort()
