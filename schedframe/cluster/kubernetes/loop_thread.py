"""A thread that runs an event loop, and calls into it from other threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from attrs import field

from ..._base.value import record

T = TypeVar("T")

POOL_THREADS: Final = 16
"""Threads for plain functions of plugins that may block; started when they are needed."""


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop, which takes half the CPU time, where that is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


@record(eq=False)
class LoopThread:
    """A daemon thread with a loop."""

    loop: asyncio.AbstractEventLoop = field(factory=_new_loop)
    _thread: threading.Thread | None = field(default=None, init=False)

    def start(self) -> None:
        """Start the thread; the loop runs until :meth:`stop`."""
        self.loop.set_default_executor(ThreadPoolExecutor(POOL_THREADS, "schedframe-work"))
        self._thread = threading.Thread(target=self._serve, name="schedframe-network", daemon=True)
        self._thread.start()

    def is_here(self) -> bool:
        """Return whether the caller is that thread."""
        return threading.current_thread() is self._thread

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run *work* on the loop, and wait for its result here. Never call it on the loop's own thread."""
        if self.is_here():
            work.close()
            raise RuntimeError("this call blocks, so it must not be made on the loop's thread")
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def stop(self) -> None:
        """End the loop and the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()
