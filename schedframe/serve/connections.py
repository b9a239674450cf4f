"""Connections of the server: bounded in number, and in the time that a client takes for its part.

Without bounds, connections that send nothing, or a byte now and then, or that take no answer would end the
answers to probes. The bounds hold from the first byte on: a connection counts before its TLS handshake.

uvicorn makes the protocol that reads requests and writes answers. The one here stands before it: it sees when
bytes arrive, and around the application when a request begins and when its answer is complete.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, MutableMapping
from copy import copy
from typing import Any, Final, cast

import h11
from typing_extensions import override

HEAD_SECONDS: Final = 10.0
"""Seconds for TLS to begin, and from the connection or the first byte of a request to the end of a head."""
ANSWER_SECONDS: Final = 60.0
"""Seconds in which a client must take an answer."""
MOST_CONNECTIONS: Final = 256
"""Connections at a time. A further one ends the one for which the server has waited longest."""


class BoundedConnection(asyncio.Protocol):
    """A connection that is closed when a request does not arrive, or its answer is not taken, in time.

    *make* makes the protocol of uvicorn from *options*; *others* are all connections of the server.
    """

    def __init__(
        self,
        make: Callable[..., Any],
        tls: ssl.SSLContext | None,
        others: set[BoundedConnection],
        **options: Any,
    ) -> None:
        config = copy(options["config"])
        self._app, config.loaded_app = config.loaded_app, self._observed
        self._http: asyncio.Protocol = make(**{**options, "config": config})
        self._tls, self._others = tls, others
        self._loop = asyncio.get_running_loop()
        self._below: asyncio.Transport
        """That of the socket, whose buffer counts with that of TLS."""
        self._transport: asyncio.Transport
        """What answers are written to."""
        self._handshake: asyncio.Task[None] | None = None
        self._early: list[bytes] | None = None
        """What came before the end of the handshake was seen."""
        self._is_idle = True
        """Whether there is no request whose answer is not complete."""
        self._timer: asyncio.TimerHandle | None = None
        self._untaken: asyncio.TimerHandle | None = None
        """Ends the connection when the client does not take the answers that are left to send."""
        self.waits_since: float = self._loop.time()
        """When the server began to wait for the client."""

    @property
    def waits(self) -> bool:
        """Return whether the server waits for the client: for a request, or for room for an answer."""
        return self._is_idle or self._untaken is not None

    def abort(self) -> None:
        """End the connection without sending more."""
        self._others.discard(self)
        self._below.abort()

    # ---- called by the loop ------------------------------------------------------------------------------

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._below = self._transport = cast("asyncio.Transport", transport)
        self._others.add(self)
        _make_room(self._others, self)
        if self._tls is None:
            self._begin()
            return
        # asyncio's own server shows a connection only after the handshake, so that those that never end it
        # would not be counted.
        self._early = []
        self._below.pause_reading()  # until TLS reads
        self._handshake = self._loop.create_task(self._shake_hands(self._tls))

    async def _shake_hands(self, tls: ssl.SSLContext) -> None:
        try:
            secure = await self._loop.start_tls(
                self._below, self, tls, server_side=True, ssl_handshake_timeout=HEAD_SECONDS
            )
        except OSError:  # the client broke off, speaks no TLS or another one: it has no more of the server
            self._others.discard(self)
            return
        if secure is None or secure.is_closing():
            self._others.discard(self)
            return
        self._transport, early, self._early = secure, self._early, None
        self._begin()
        if early:
            self.data_received(b"".join(early))

    def _begin(self) -> None:
        self._http.connection_made(self._transport)
        self._expect_head()

    @override
    def data_received(self, data: bytes) -> None:
        if self._early is not None:
            self._early.append(data)
            return
        if self._timer is None and self._is_idle:
            self._expect_head()
        try:
            self._http.data_received(data)
        except h11.LocalProtocolError:
            # A body that is no HTTP, after its answer has begun: there is nothing left to say to it.
            self._transport.abort()

    @override
    def eof_received(self) -> bool | None:
        return self._http.eof_received() if self._early is None else None

    @override
    def pause_writing(self) -> None:
        self._http.pause_writing()

    @override
    def resume_writing(self) -> None:
        self._http.resume_writing()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._others.discard(self)
        self._expect_nothing()
        self._has_taken()
        if self._early is None:
            self._http.connection_lost(exc)

    # ---- requests ----------------------------------------------------------------------------------------

    async def _observed(self, scope: Any, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        """Call the application, and note when the request has come and when its answer is complete."""
        self._expect_nothing()
        if not self._left():
            self._has_taken()
        self._is_idle = is_complete = False

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal is_complete
            if self._transport.is_closing():
                return  # a refusal of the body has been sent already
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                is_complete = True
                self._end_answer()

        if not self._transport.is_closing():
            await self._app(scope, receive, sending)
        if self._transport.is_closing():
            while (await receive())["type"] != "http.disconnect":
                pass  # uvicorn would log that the application has not answered
        elif not is_complete:
            self._end_answer()

    def _end_answer(self) -> None:
        self._is_idle = True
        self.waits_since = self._loop.time()
        if self._untaken is None and self._left():
            self._untaken = self._loop.call_later(ANSWER_SECONDS, self._end_untaken)

    def _left(self) -> int:
        """Return the bytes that wait for the client to take them."""
        below = 0 if self._below is self._transport else self._below.get_write_buffer_size()
        return below + self._transport.get_write_buffer_size()

    def _has_taken(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None

    def _end_untaken(self) -> None:
        self._untaken = None
        if self._left():
            self._transport.abort()

    def _expect_head(self) -> None:
        self._timer = self._loop.call_later(HEAD_SECONDS, self._transport.abort)

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _make_room(connections: set[BoundedConnection], newest: BoundedConnection) -> None:
    """End the connection that the server has waited longest for, if there are too many. O(n).

    That is the newest one if all others have a request.
    """
    if len(connections) <= MOST_CONNECTIONS:
        return
    waiting = [each for each in connections if each is not newest and each.waits]
    oldest = min(waiting, key=lambda each: each.waits_since, default=newest)
    oldest.abort()
