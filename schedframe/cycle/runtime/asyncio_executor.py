"""The executor for clusters with an event loop. Apart from the others, which do not need asyncio."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque

from attrs import field

from ..._base.checked import checked
from ..._base.value import record
from ...framework import Status
from .executors import Done, Work


@checked
@record(eq=False)
class AsyncioExecutor:
    """Runs work on an event loop: coroutine functions as tasks, other functions in its thread pool."""

    loop: asyncio.AbstractEventLoop
    inline: bool = field(default=False, init=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False)
    _submitted: deque[tuple[Work, Done]] = field(factory=deque, init=False)
    _is_called: bool = field(default=False, init=False)
    """Whether the loop is about to start what was submitted: waking it costs as much as deciding a pod."""

    def submit(self, work: Work, done: Done) -> None:
        """Run *work* as a task of the loop."""
        self._submitted.append((work, done))
        if not self._is_called:
            self._is_called = True
            self.loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        self._is_called = False  # before the look at the queue, so that nothing is left there
        while self._submitted:
            task = self.loop.create_task(_run_task(*self._submitted.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Wait for what was submitted; called on the loop's own thread, leave that to the loop."""
        if self.loop.is_running() and not _is_here(self.loop):
            asyncio.run_coroutine_threadsafe(self._settle(), self.loop).result()

    async def _settle(self) -> None:
        self._start()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _is_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


async def _run_task(work: Work, done: Done) -> None:
    try:
        result = work() if inspect.iscoroutinefunction(work) else await asyncio.to_thread(work)
        if inspect.isawaitable(result):
            result = await result
    except BaseException as error:
        done(Status.from_error(error))
        raise
    done(result)
