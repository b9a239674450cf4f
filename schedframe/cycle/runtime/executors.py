"""Executors run pre_bind, bind and writes to the cluster: in the core at once, or in threads."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from attrs import define, field

from ..._brief import brief_repr
from ..._checked import checked
from ...framework import Status

Work = Callable[[], Any]
"""Does the work and returns its result, or a coroutine that will; should not raise."""
Done = Callable[[Any], None]
"""WrittenStatus the result; may be called from any thread."""


class Executor(Protocol):
    """Runs work off (or in) the core."""

    @property
    def inline(self) -> bool:
        """Whether ``submit`` has done everything, ``done`` included, when it returns.

        The core runs work by itself then, as :func:`finish` does.
        """
        ...

    def submit(self, work: Work, done: Done) -> None:
        """Run *work* and call *done* with its result, exactly once."""
        ...

    def close(self) -> None:
        """Finish what was submitted and take nothing more."""
        ...


def finish(work: Work) -> Any:
    """Return the result of *work*, or of the coroutine that it returns; a failure as a status."""
    try:
        result = work()
        return result if result is None or not inspect.iscoroutine(result) else _run(result)
    except Exception as error:  # noqa: BLE001 - returned to the caller as a status
        return Status.from_error(error)


def finish_whatever(work: Work, done: Done) -> None:
    """Call *done* with the result of *work*, also if it is interrupted; then raise the interruption."""
    try:
        result = finish(work)
    except BaseException as error:
        # A plugin that ends its thread (SystemExit), or Ctrl-C, must not take the pod with it.
        done(Status.from_error(error))
        raise
    done(result)


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # A loop is running here already, as in a notebook, and can run no second one: another thread can.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


@brief_repr
@define(eq=False)
class InlineExecutor:
    """Runs everything at once in the core: for clusters in memory, simulations and tests."""

    inline: bool = field(default=True, init=False)

    def submit(self, work: Work, done: Done) -> None:
        """Run *work* now."""
        finish_whatever(work, done)

    def close(self) -> None:
        """Nothing to finish."""


@checked
@brief_repr
@define(eq=False)
class ThreadExecutor:
    """Runs work in a pool of threads: for clusters behind a network. Coroutines get a loop of their own."""

    workers: int = 16
    inline: bool = field(default=False, init=False)
    _pool: ThreadPoolExecutor = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix="schedframe-bind")

    def submit(self, work: Work, done: Done) -> None:
        """Run *work* in some thread."""
        self._pool.submit(finish_whatever, work, done)

    def close(self) -> None:
        """Wait for what was submitted."""
        self._pool.shutdown(wait=True)


@checked
@brief_repr
@define(eq=False)
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
