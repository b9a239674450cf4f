"""The order in which requests are sent: by priority, no more at a time and no more a second than allowed.

A request that hangs while others are answered, because of a webhook or the network, no longer counts among
those under way, so it does not hold up the others. When no request is answered at all, more are tried little
by little. A server that is merely slow answers all of them late, and gets no more at a time than allowed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from typing import Final

from attrs import field

from ..._base.value import record
from .loop_time import loop_time

DEFAULT_QPS: Final = 50.0
DEFAULT_BURST: Final = 100
REQUESTS_AT_A_TIME: Final = 48
"""Writes under way at a time, each on its own connection."""
SLOW_SECONDS: Final = 1.0
"""Seconds without an answer after which a request may hang, and the server too if it answers none."""
PROBE_SECONDS: Final = 0.02
"""Seconds between two further requests while the server answers none."""
OVERTAKEN: Final = 2
"""A slow request hangs if, for each request at a time, this number has ended since it began."""
SLOW_AT_A_TIME: Final = 464
"""Slow requests at a time that do not count; with those that do, there are 512 connections at most."""

_WHOLE_TOKEN: Final = 1.0 - 1e-6
"""Tokens that count as one: when the timer for the next one fires, rounding may have left a bit less."""


class Priority(IntEnum):
    """Of the requests that wait, the first of the least number is sent next."""

    BIND = 0
    BIND_AGAIN = 1
    """A bind whose answer did not come, or that failed: others must not wait for it."""
    WRITE = 2
    """Status, evictions, claims: what pods wait for, besides binds."""
    EVENT = 3


class Closed(Exception):
    """Nothing is sent any more."""


class Turn:
    """The right to send one request."""

    __slots__ = ("began", "ended_before")

    def __init__(self, began: float, ended_before: int) -> None:
        self.began = began
        self.ended_before = ended_before
        """Number of requests that had ended when it began."""


class _HeldTurn:
    """Context with a turn inside; a class, because a generator as context takes 1 µs more a request."""

    __slots__ = ("_lanes", "_priority", "_turn")

    def __init__(self, lanes: Lanes, priority: Priority) -> None:
        self._lanes = lanes
        self._priority = priority
        self._turn: Turn | None = None

    async def __aenter__(self) -> None:
        self._turn = await self._lanes.take(self._priority)

    async def __aexit__(self, *_: object) -> None:
        assert self._turn is not None  # it was entered
        self._lanes.give_back(self._turn)


@record(eq=False)
class Lanes:
    """Gives turns to send. ``qps`` of 0 or less is no limit. All methods belong to the thread of the loop."""

    qps: float
    burst: int
    width: int = REQUESTS_AT_A_TIME
    on_slow: Callable[[], None] | None = None
    """Called when :meth:`slow` changes."""
    _waiting: tuple[deque[asyncio.Future[Turn]], ...] = field(
        factory=lambda: tuple(deque[asyncio.Future[Turn]]() for _ in Priority), init=False
    )
    _begun: dict[Turn, None] = field(factory=dict, init=False)
    """Requests that count, oldest first."""
    _slow: set[Turn] = field(factory=set, init=False)
    """Requests under way that do not count."""
    _ended_count: int = field(default=0, init=False)
    _ended_at: float = field(default=0.0, init=False)
    """When the last request ended."""
    _probed_at: float = field(default=0.0, init=False)
    _tokens: float = field(init=False)
    _filled_at: float = field(default=0.0, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)
    _ended: asyncio.Event = field(factory=asyncio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self._tokens = float(self.burst)

    def turn(self, priority: Priority) -> _HeldTurn:
        """Return a context that waits for a turn, and has it inside. Entering raises :class:`Closed`."""
        return _HeldTurn(self, priority)

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
        if turn in self._begun:
            del self._begun[turn]
        elif turn in self._slow:
            self._slow.remove(turn)
            self._slow_changed()
        self._ended_count += 1
        self._ended_at = loop_time()
        self._send_next()

    def slow(self) -> int:
        """Return the number of requests under way that do not count, because they are slow."""
        return len(self._slow)

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
        turn = Turn(loop_time(), self._ended_count)
        self._begun[turn] = None
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
        return self._tokens >= _WHOLE_TOKEN

    def _set_slow_aside(self) -> bool:
        """Stop counting the oldest request if it hangs; return whether there is room for another."""
        turn = next(iter(self._begun))
        if len(self._slow) >= SLOW_AT_A_TIME or loop_time() < turn.began + SLOW_SECONDS:
            return False
        if self._ended_count - turn.ended_before < OVERTAKEN * self.width:
            if loop_time() < self._next_probe():
                return False
            self._probed_at = loop_time()
        del self._begun[turn]
        self._slow.add(turn)
        self._slow_changed()
        return True

    def _slow_changed(self) -> None:
        if self.on_slow is not None:
            self.on_slow()

    def _next_probe(self) -> float:
        """Return when another request may be tried although those under way are not answered."""
        return max(self._ended_at + SLOW_SECONDS, self._probed_at + PROBE_SECONDS)

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
            moment = max(next(iter(self._begun)).began + SLOW_SECONDS, self._next_probe())
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
