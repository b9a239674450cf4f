"""Connections of the server: bounded in number, and in the time that the head of a request takes.

Without bounds, connections that send nothing, or a byte now and then, would end the answers to probes.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS: Final = 10.0
"""Seconds from the first byte of a request, or the connection, to the end of the request's head."""
MOST_CONNECTIONS: Final = 256
"""Connections at a time. A further one ends the one that has waited longest for a request."""


class BoundedConnection(H11Protocol):
    """A connection that is closed when the head of a request does not arrive in time."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._idle_since: float = self.loop.time()

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
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

    @override
    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _make_room(self) -> None:
        """End the connection that has waited longest; this one if all others have a request. O(n)."""
        idle = [
            each
            for each in self.connections
            if isinstance(each, BoundedConnection) and each is not self and each._is_idle
        ]
        oldest = min(idle, key=lambda each: each._idle_since, default=self)
        self.connections.discard(oldest)
        oldest.transport.abort()
