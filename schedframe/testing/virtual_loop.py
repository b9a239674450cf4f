"""An event loop whose time moves only when nothing else can happen: waits of minutes take no real time.

Sockets, and threads of the loop's executor, are real. The loop lets everything that they bring happen first,
and only then moves its time to the next timer. One thread at a time runs, the loop's or one of the executor,
so equal programs take equal courses.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from typing_extensions import override

T = TypeVar("T")

SETTLE_SECONDS: Final = 0.0005
"""Real seconds for which sockets must be quiet before time moves; the kernel takes less to the other end."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop with a time of its own, in seconds from 0."""

    def __init__(self) -> None:
        self._now = 0.0
        self._is_pumping = False
        self._idle_until: float | None = None
        self._turns = _Turns(self)
        super().__init__(_PatientSelector(self._idle))
        self.set_default_executor(self._turns)

    @override
    def time(self) -> float:
        """Return the virtual time."""
        return self._now

    def pump(self) -> float | None:
        """Run until only the passing of time can change anything.

        Returns when the next timer is due, ``None`` without one.
        """
        self._is_pumping = True
        try:
            self.run_forever()
        finally:
            self._is_pumping = False
        return self._idle_until

    def advance_to(self, moment: float) -> None:
        """Move the time forward; timers that are due by then run in the next :meth:`pump`."""
        self._now = max(self._now, moment)

    def advance(self, seconds: float) -> None:
        """Let *seconds* pass, with all that is due in them, in order."""
        end = self._now + seconds
        while (due := self.pump()) is not None and due <= end:
            self.advance_to(due)
        self.advance_to(end)
        self.pump()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run *work* to its end: from outside of the loop, or from a thread of its executor.

        Raises :class:`RuntimeError` on the loop's own thread while it runs, and if *work* waits for something
        that never comes.
        """
        if asyncio._get_running_loop() is self:
            work.close()
            raise RuntimeError("this call blocks, so it must not be made on the loop's thread")
        if self.is_running():
            return self._turns.wait_for(work)
        return self.run_until_complete(work)

    def finish(self) -> None:
        """Cancel all tasks, and close the loop."""
        tasks = asyncio.all_tasks(self)
        for task in tasks:
            task.cancel()
        if tasks:
            self.run_until_complete(asyncio.wait(tasks))
        self.run_until_complete(self.shutdown_asyncgens())
        self.close()

    def _idle(self, timeout: float | None) -> None:
        """Nothing happens before *timeout*: go there, or leave that to the caller of :meth:`pump`."""
        self._idle_until = None if timeout is None else self._now + timeout
        if self._is_pumping:
            self.stop()
        elif timeout is None:
            raise RuntimeError("the loop waits for something that never comes")
        else:
            self._now += timeout


class _PatientSelector(selectors.BaseSelector):
    """A selector that never waits for time: it reports that nothing happens."""

    def __init__(self, idle: Callable[[float | None], None]) -> None:
        self._idle = idle
        self._real = selectors.DefaultSelector()

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if len(self._real.get_map()) > 1:  # the first one is the loop's own, which wakes it
            ready = self._real.select(SETTLE_SECONDS)
        if not ready:
            self._idle(timeout)
        return ready

    @override
    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    @override
    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    @override
    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    @override
    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    @override
    def close(self) -> None:
        self._real.close()


class _Turns(ThreadPoolExecutor):
    """Threads that take turns with the loop: a submitted call runs until it ends or waits for the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(1)
        self._loop = loop
        self._returned = threading.Semaphore(0)
        """Released when the thread whose turn it is gives its turn back."""

    @override
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - handed to the one who waits for the result
                future.set_exception(error)
            finally:
                self._returned.release()

        threading.Thread(target=work, daemon=True).start()
        self._returned.acquire()
        return future

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Give the turn back until the loop has run *work*; called in a thread of this executor."""
        ended = threading.Semaphore(0)
        tasks: list[asyncio.Task[T]] = []

        def end(task: asyncio.Task[T]) -> None:
            ended.release()
            self._returned.acquire()

        def begin() -> None:
            task = self._loop.create_task(work)
            tasks.append(task)
            task.add_done_callback(end)

        self._loop.call_soon_threadsafe(begin)
        self._returned.release()
        ended.acquire()
        return tasks[0].result()
