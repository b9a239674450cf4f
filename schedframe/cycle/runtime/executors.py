"""Executors run pre_bind, bind and writes to the cluster: in the core at once, or in threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from attrs import field

from ..._base.checked import checked
from ..._base.value import record
from ...framework import Status
from ...framework.binding import completed

Work = Callable[[], Any]
"""Does the work and returns its result, or a coroutine that will; should not raise."""
Done = Callable[[Any], None]
"""WrittenStatus the result; may be called from any thread."""


class Executor(Protocol):
    """Runs work off (or in) the core."""

    @property
    def inline(self) -> bool:
        """Return whether ``submit`` has done everything, ``done`` included, when it returns.

        The core runs work by itself then, with the outcomes of :func:`finish`.
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
        return None if result is None else completed(result)
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


@record(eq=False)
class InlineExecutor:
    """Runs everything at once in the core: for clusters in memory, simulations and tests."""

    inline: bool = field(default=True, init=False)

    def submit(self, work: Work, done: Done) -> None:
        """Run *work* now."""
        finish_whatever(work, done)

    def close(self) -> None:
        """Nothing to finish."""


@checked
@record(eq=False)
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
