"""Workloads as lists of operations, and the arena in which they are carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter_ns, process_time_ns
from typing import Any, Protocol

from attrs import define, field, frozen

from ..api import Pod
from ..cluster import InMemoryCluster
from ..cycle import Scheduler
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

    pods: int = 0
    attempts: list[int] = field(factory=list)
    """How long each scheduling cycle took, from pop to bound."""
    elapsed: int = 0
    """From the first look at the created pods until nothing was ready any more."""
    cpu: int = 0
    """CPU time of the process meanwhile: less than ``elapsed`` if others wanted the machine too."""


@define(eq=False)
class Arena:
    """A cluster, the scheduler that follows it, and the figures so far."""

    cluster: InMemoryCluster
    scheduler: Scheduler
    progress: Progress
    measured: Measured = field(factory=Measured)

    def create(self, objects: Iterable[Any]) -> int:
        """Put *objects* into the cluster; how many."""
        count = 0
        for obj in objects:
            self.cluster.create(obj)
            count += 1
        return count

    def schedule(self) -> None:
        """Schedule until nothing is ready, on the clock."""
        scheduler, clock, cycles = self.scheduler, perf_counter_ns, self.measured.attempts
        cpu_before, started = process_time_ns(), clock()
        scheduler.sync()
        before = clock()
        while scheduler.schedule_one() is not None:
            after = clock()
            cycles.append(after - before)
            before = after
        self.measured.elapsed += clock() - started
        self.measured.cpu += process_time_ns() - cpu_before


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
class SchedulePods:
    """Pods whose scheduling is measured: created off the clock, told of and scheduled on it."""

    count: int
    make: Callable[[int], Pod]

    def run(self, arena: Arena) -> None:
        """Create the pods, then measure."""
        arena.progress(f"creating {self.count} pods")
        arena.measured.pods += arena.create(map(self.make, range(self.count)))
        with settle():
            arena.progress(f"scheduling {self.count} pods")
            arena.schedule()
