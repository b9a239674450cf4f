"""The core inside an event loop: it places tasks for a few milliseconds, then yields to the loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from attrs import field

from .._base.value import record
from ..cycle import Scheduler
from ..cycle.runtime.interrupts import Hold
from ..errors import InputError, SchedframeError
from .embedding import Embedding


@record(eq=False)
class AsyncDriver:
    """Drives a :class:`Scheduler` or an :class:`Embedding` as a task of an event loop.

    The scheduler must call :meth:`wake_up` when there is something to do, so the driver is made first::

        driver = AsyncDriver()
        embedding = Embedding(workers, on_place=start, wake_up=driver.wake_up)
        await driver.run(embedding)

    ``budget``: seconds for which it may keep the loop before it yields. A step is never interrupted, so it
    may take longer by one step. Nothing polls: with nothing to do it sleeps until the next deadline or
    message.
    """

    budget: float = field(default=0.002)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)  # None: not running
    _woken: asyncio.Event = field(factory=asyncio.Event, init=False)
    # Whether a wake-up is on its way to the loop already: one is enough for any number of messages.
    _signalled: bool = field(default=False, init=False)
    _stopping: bool = field(default=False, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    @budget.validator
    def _positive(self, attribute: object, value: float) -> None:
        if not value >= 0:
            raise InputError("budget", f"{value} is below 0", "give seconds; 0 yields after every step")

    def wake_up(self) -> None:
        """Wake the driver: there is something to do. Any thread; O(1)."""
        with self._lock:
            if self._signalled:
                return
            self._signalled = True
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._woken.set)

    def stop(self) -> None:
        """Make :meth:`run` return after the present step; the next run, if none is under way. Any thread."""
        self._stopping = True
        self.wake_up()

    async def run(self, target: Scheduler | Embedding[Any, Any]) -> None:
        """Drive *target* until :meth:`stop` is called, or the task that awaits this is cancelled.

        What leaves ``step`` leaves this method, such as ``KeyboardInterrupt``. Closes nothing.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._loop is not None:
                raise SchedframeError("this driver runs already; make one for each scheduler")
            self._loop = loop
        try:
            while self._is_wanted():
                deadline = self._steps(target, loop)
                if deadline is None:
                    await self._woken.wait()
                elif (remaining := deadline - _now(target)) > 0:
                    await self._wait(remaining)
                else:
                    await asyncio.sleep(0)
        finally:
            with self._lock:
                self._loop = None

    def _is_wanted(self) -> bool:
        """Return whether to go on. The next wait notices a signal that comes after this."""
        with self._lock:
            self._signalled = False
            self._woken.clear()
            wanted = not self._stopping
            self._stopping = False
            return wanted

    def _steps(
        self, target: Scheduler | Embedding[Any, Any], loop: asyncio.AbstractEventLoop
    ) -> float | None:
        end = loop.time() + self.budget
        with Hold() as hold:
            while True:
                deadline = target.step()
                if deadline is None or deadline > _now(target) or loop.time() >= end or hold.arrived:
                    return deadline

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return


def _now(target: Scheduler | Embedding[Any, Any]) -> float:
    return target.core.clock() if isinstance(target, Scheduler) else target.clock()
