"""The order in which requests are sent: by priority, no more at a time and no more a second than allowed.

A request that is not answered for a while, because a webhook or the network holds it up, no longer counts
among those under way. So some that hang do not hold up all others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import IntEnum
from typing import Final

from attrs import define, field

from .loop_time import loop_time

REQUESTS_AT_A_TIME: Final = 48
"""Writes under way at a time, each on its own connection."""
SLOW_SECONDS: Final = 2.0
"""Seconds without an answer after which a request does not count among those under way."""
SLOW_AT_A_TIME: Final = 464
"""Slow requests at a time that do not count; with those that do, there are 512 connections at most."""


class Priority(IntEnum):
    """Of the requests that wait, the first of the least number is sent next."""

    BIND = 0
    WRITE = 1
    """Status, evictions, claims: what pods wait for, besides binds."""
    EVENT = 2


class Closed(Exception):
    """Nothing is sent any more."""


class Turn:
    """The right to send one request."""

    __slots__ = ()


@define(eq=False)
class Lanes:
    """Gives turns to send. ``qps`` of 0 or less is no limit. All methods belong to the thread of the loop."""

    qps: float
    burst: int
    width: int = REQUESTS_AT_A_TIME
    _waiting: tuple[deque[asyncio.Future[Turn]], ...] = field(
        factory=lambda: tuple(deque[asyncio.Future[Turn]]() for _ in Priority), init=False
    )
    _begun: dict[Turn, float] = field(factory=dict, init=False)
    """Requests that count → when each began, oldest first."""
    _slow: set[Turn] = field(factory=set, init=False)
    """Requests under way that do not count."""
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
        turn = await self.take(priority)
        try:
            yield
        finally:
            self.give_back(turn)

    async def take(self, priority: Priority) -> Turn:
        """Wait for a turn; :meth:`give_back` must follow. Raises :class:`Closed`."""
        if self._closed:
            raise Closed
        if not any(self._waiting) and self._may_send():
            return self._begin()
        turn: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        self._waiting[priority].append(turn)
        self._send_next()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back(turn.result())
            raise

    def give_back(self, turn: Turn) -> None:
        """End the turn."""
        if self._begun.pop(turn, None) is None:
            self._slow.discard(turn)
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

    def _begin(self) -> Turn:
        self._tokens -= 1.0
        turn = Turn()
        self._begun[turn] = loop_time()
        return turn

    def _may_send(self) -> bool:
        if len(self._begun) >= self.width and not self._set_slow_aside():
            return False
        if self.qps <= 0:
            self._tokens = 1.0
            return True
        now = loop_time()
        self._tokens = min(float(self.burst), self._tokens + (now - self._filled_at) * self.qps)
        self._filled_at = now
        return self._tokens >= 1.0

    def _set_slow_aside(self) -> bool:
        """Stop counting the oldest request if it is slow; return whether there is room for another."""
        turn, began = next(iter(self._begun.items()))
        if loop_time() - began < SLOW_SECONDS or len(self._slow) >= SLOW_AT_A_TIME:
            return False
        del self._begun[turn]
        self._slow.add(turn)
        return True

    def _send_next(self) -> None:
        while (lane := next((lane for lane in self._waiting if lane), None)) is not None:
            if lane[0].done():  # cancelled
                lane.popleft()
                continue
            if not self._may_send():
                self._wake_later()
                return
            lane.popleft().set_result(self._begin())

    def _wake_later(self) -> None:
        """Try again when there is a token, or the oldest request is slow; a turn that ends tries anyway."""
        if len(self._begun) < self.width:
            moment = loop_time() + (1.0 - self._tokens) / self.qps
        elif len(self._slow) < SLOW_AT_A_TIME:
            moment = next(iter(self._begun.values())) + SLOW_SECONDS
        else:
            return
        if self._timer is not None:
            if self._timer.when() <= moment:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(moment, self._woken)

    def _woken(self) -> None:
        self._timer = None
        self._send_next()
