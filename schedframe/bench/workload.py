"""Workloads as lists of operations, and the arena in which they are carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter_ns, process_time_ns
from typing import Any, Protocol

from attrs import define, field, frozen

from ..api import Pod
from ..cluster import InMemoryCluster
from ..cycle import Scheduler
from .clock import SkippingClock
from .memory import settle

Progress = Callable[[str], None]
"""Told what is being done; for people who wait."""


@frozen
class Options:
    """What a benchmark is asked for; ``None`` is the template's own."""

    nodes: int | None = None
    init: int | None = None
    pods: int | None = None
    seed: int = 0
    percentage: int | None = None
    """percentageOfNodesToScore: 0 is kube-scheduler's adaptive sampling, ``None`` scores all nodes."""


@define(eq=False)
class Measured:
    """What was measured: times in nanoseconds."""

    keys: set[str] = field(factory=set)
    """Of the pods whose scheduling is measured."""
    attempts: list[int] = field(factory=list)
    """How long each scheduling cycle took, from pop to bound."""
    elapsed: int = 0
    """From the first look at the created pods until nothing was ready any more."""
    cpu: int = 0
    """CPU time of the process meanwhile: less than ``elapsed`` if others wanted the machine too."""


@frozen
class Meanwhile:
    """Something that happens in the cluster while pods are scheduled: after every so many cycles."""

    every: int
    happen: Callable[[Arena, int], None]
    """Given the arena and how many cycles there were."""


@define(eq=False)
class Arena:
    """A cluster, the scheduler that follows it, and the figures so far."""

    cluster: InMemoryCluster
    scheduler: Scheduler
    clock: SkippingClock
    """The scheduler's."""
    progress: Progress
    measured: Measured = field(factory=Measured)

    def create(self, objects: Iterable[Any]) -> list[str]:
        """Put *objects* into the cluster; their keys."""
        return [self.cluster.create(obj).key for obj in objects]

    def schedule(self, meanwhile: Meanwhile | None = None, patience: float = 0.0) -> None:
        """Schedule until nothing is ready, on the clock.

        *patience*: backoffs of up to so many seconds are waited for; they are skipped, and do not count.
        """
        scheduler, clock, cycles = self.scheduler, perf_counter_ns, self.measured.attempts
        every = meanwhile.every if meanwhile is not None else 0
        cpu_before, started = process_time_ns(), clock()
        scheduler.sync()
        before = clock()
        while True:
            if scheduler.schedule_one() is None:
                if self._skip_wait(patience):
                    continue
                break
            after = clock()
            cycles.append(after - before)
            if every and len(cycles) % every == 0 and meanwhile is not None:
                meanwhile.happen(self, len(cycles))
                after = clock()
            before = after
        self.measured.elapsed += clock() - started
        self.measured.cpu += process_time_ns() - cpu_before

    def _skip_wait(self, patience: float) -> bool:
        deadline = self.scheduler.next_deadline() if patience else None
        if deadline is None or deadline - self.clock.now() > patience:
            return False
        self.clock.skip_to(deadline)
        return True


class Operation(Protocol):
    """One step of a workload."""

    def run(self, arena: Arena) -> None:
        """Carry it out."""
        ...


@frozen
class Create:
    """Objects that are there before anything is measured: nodes, running pods, whatever there is."""

    what: str
    count: int
    make: Callable[[int], Any]
    """Makes the i-th of them."""

    def run(self, arena: Arena) -> None:
        """Create them and let the scheduler take note."""
        arena.progress(f"creating {self.count} {self.what}")
        arena.create(map(self.make, range(self.count)))
        arena.scheduler.sync()


@frozen
class Backlog:
    """Pods that find no node before anything is measured, and wait for better times from then on."""

    count: int
    make: Callable[[int], Pod]

    def run(self, arena: Arena) -> None:
        """Create them and try each one once."""
        arena.progress(f"rejecting {self.count} pods")
        arena.create(map(self.make, range(self.count)))
        arena.scheduler.run_until_idle()


@frozen
class SchedulePods:
    """Pods whose scheduling is measured: created off the clock, told of and scheduled on it."""

    count: int
    make: Callable[[int], Pod]
    meanwhile: Meanwhile | None = None
    patience: float = 0.0
    """See :meth:`Arena.schedule`."""

    def run(self, arena: Arena) -> None:
        """Create the pods, then measure."""
        arena.progress(f"creating {self.count} pods")
        arena.measured.keys.update(arena.create(map(self.make, range(self.count))))
        with settle():
            arena.progress(f"scheduling {self.count} pods")
            arena.schedule(self.meanwhile, self.patience)
