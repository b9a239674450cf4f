"""The order in which requests are sent: by priority, no more at a time and no more a second than allowed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import IntEnum
from typing import Final

from attrs import define, field

REQUESTS_AT_A_TIME: Final = 48
"""Writes under way at a time, each on its own connection: so many that a few may hang."""


class Priority(IntEnum):
    """Of the requests that wait, the first of the least number is sent next."""

    BIND = 0
    WRITE = 1
    """Status, evictions, claims: what pods wait for, besides binds."""
    EVENT = 2


class Closed(Exception):
    """Nothing is sent any more."""


@define(eq=False)
class Lanes:
    """Gives turns to send. ``qps`` of 0 or less is no limit. All methods belong to the thread of the loop."""

    qps: float
    burst: int
    width: int = REQUESTS_AT_A_TIME
    _waiting: tuple[deque[asyncio.Future[None]], ...] = field(
        factory=lambda: tuple(deque[asyncio.Future[None]]() for _ in Priority), init=False
    )
    _under_way: int = field(default=0, init=False)
    _tokens: float = field(init=False)
    _filled_at: float = field(default=0.0, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)
    _ended: asyncio.Event = field(factory=asyncio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self._tokens = float(self.burst)

    @asynccontextmanager
    async def turn(self, priority: Priority) -> AsyncIterator[None]:
        """Wait for a turn, and have it inside. Raises :class:`Closed`."""
        await self.take(priority)
        try:
            yield
        finally:
            self.give_back()

    async def take(self, priority: Priority) -> None:
        """Wait for a turn; :meth:`give_back` must follow. Raises :class:`Closed`."""
        if self._closed:
            raise Closed
        if not any(self._waiting) and self._may_send():
            self._begin()
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting[priority].append(turn)
        self._send_next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back()
            raise

    def give_back(self) -> None:
        """End the turn."""
        self._under_way -= 1
        self._send_next()

    async def pause(self, seconds: float) -> None:
        """Wait so long before another attempt; end at once when nothing is sent any more."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)

    def close(self) -> None:
        """Send nothing more: those that wait get :class:`Closed`."""
        self._closed = True
        self._ended.set()
        for lane in self._waiting:
            while lane:
                turn = lane.popleft()
                if not turn.done():
                    turn.set_exception(Closed())

    def _begin(self) -> None:
        self._under_way += 1
        self._tokens -= 1.0

    def _may_send(self) -> bool:
        if self._under_way >= self.width:
            return False
        if self.qps <= 0:
            self._tokens = 1.0
            return True
        now = asyncio.get_running_loop().time()
        self._tokens = min(float(self.burst), self._tokens + (now - self._filled_at) * self.qps)
        self._filled_at = now
        return self._tokens >= 1.0

    def _send_next(self) -> None:
        while (lane := next((lane for lane in self._waiting if lane), None)) is not None:
            if lane[0].done():  # cancelled
                lane.popleft()
                continue
            if not self._may_send():
                self._wake_later()
                return
            self._begin()
            lane.popleft().set_result(None)

    def _wake_later(self) -> None:
        """Try again when there is a token; a turn that ends tries anyway."""
        if self._timer is None and self._under_way < self.width:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later((1.0 - self._tokens) / self.qps, self._woken)

    def _woken(self) -> None:
        self._timer = None
        self._send_next()
