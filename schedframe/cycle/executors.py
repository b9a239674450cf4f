"""Who runs pre_bind, bind and writes to the cluster: in the core at once, or in threads."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from attrs import define, field

Work = Callable[[], Any]
"""Does the work and returns its result, or a coroutine that will; must not raise."""
Done = Callable[[Any], None]
"""Told the result; may be called from any thread."""


class Executor(Protocol):
    """Runs work off (or in) the core."""

    @property
    def inline(self) -> bool:
        """Whether ``submit`` has done everything, ``done`` included, when it returns."""
        ...

    def submit(self, work: Work, done: Done) -> None:
        """Run *work* and tell *done* its result, exactly once."""
        ...

    def close(self) -> None:
        """Finish what was submitted and take nothing more."""
        ...


def finish(result: Any) -> Any:
    """The result itself, or that of the coroutine it is, run to its end."""
    return asyncio.run(result) if inspect.iscoroutine(result) else result


@define(eq=False)
class InlineExecutor:
    """Runs everything at once in the core: for clusters in memory, simulations and tests."""

    inline: bool = field(default=True, init=False)

    def submit(self, work: Work, done: Done) -> None:
        """Run *work* now."""
        done(finish(work()))

    def close(self) -> None:
        """Nothing to finish."""


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
        self._pool.submit(lambda: done(finish(work())))

    def close(self) -> None:
        """Wait for what was submitted."""
        self._pool.shutdown(wait=True)


@define(eq=False)
class AsyncioExecutor:
    """Runs work on an event loop: coroutines as tasks, plain functions in its default thread pool."""

    loop: asyncio.AbstractEventLoop
    inline: bool = field(default=False, init=False)
    _tasks: set[Any] = field(factory=set, init=False)

    def submit(self, work: Work, done: Done) -> None:
        """Run *work* as a task of the loop."""
        self.loop.call_soon_threadsafe(self._start, work, done)

    def _start(self, work: Work, done: Done) -> None:
        task = self.loop.create_task(_run(work, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Tasks go on as long as their loop does."""


async def _run(work: Work, done: Done) -> None:
    result = await asyncio.to_thread(work)
    done(await result if inspect.isawaitable(result) else result)
