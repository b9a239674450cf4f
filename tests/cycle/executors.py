"""An executor that does what a test says, when it says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field

from schedframe.cycle.runtime.executors import Done, Work, finish


@define(eq=False)
class Job:
    """Work that was submitted."""

    work: Work
    done: Done
    result: Any = None
    is_done: bool = False


@define(eq=False)
class ManualExecutor:
    """Holds work until a test runs it, and results until the test lets them through; both in any order.

    The effect of a piece of work and the news of it are two moments, as they are with a real cluster.
    """

    inline: bool = field(default=False, init=False)
    waiting: list[Job] = field(factory=list, init=False)
    """Submitted and not run, oldest first."""
    finished: list[Job] = field(factory=list, init=False)
    """Run; its result is not reported yet."""
    closed: bool = field(default=False, init=False)

    def submit(self, work: Work, done: Done) -> None:
        """Keep *work* for later."""
        assert not self.closed, "work was submitted to an executor that is closed"
        self.waiting.append(Job(work, done))

    def run(self, index: int = 0) -> Any:
        """Do a piece of work and keep its result back; the result."""
        job = self.waiting.pop(index)
        job.result = finish(job.work)
        self.finished.append(job)
        return job.result

    def tell(self, index: int = 0) -> Any:
        """Let a result through."""
        job = self.finished.pop(index)
        assert not job.is_done
        job.is_done = True
        job.done(job.result)
        return job.result

    def complete(self, index: int = 0) -> Any:
        """Do a piece of work and tell its result at once."""
        self.run(index)
        return self.tell(-1)

    def finish_all(self) -> None:
        """Do everything that was submitted, and tell."""
        while self.waiting or self.finished:
            if self.finished:
                self.tell()
            else:
                self.run()

    def close(self) -> None:
        """Finish what was submitted and take nothing more."""
        self.finish_all()
        self.closed = True

    def __len__(self) -> int:
        return len(self.waiting) + len(self.finished)


@define(eq=False)
class InOrder:
    """An executor that is not inline, and yet has done everything when ``submit`` returns but tell the core.

    What a thread that is always quicker than the core would do.
    """

    inline: bool = field(default=False, init=False)
    before: Callable[[], None] = lambda: None

    def submit(self, work: Work, done: Done) -> None:
        """Run *work* now; the news goes through the inbox."""
        self.before()
        done(finish(work))

    def close(self) -> None:
        """Nothing to finish."""
