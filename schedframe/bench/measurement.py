"""Measurement of a run of a workload, and the figures that are worked out from it."""

from __future__ import annotations

from math import ceil
from typing import Any

from attrs import field

from .._base.value import record

Figures = dict[str, Any]
"""Plain values by name, in the order in which they are shown."""


@record(eq=False)
class Measurement:
    """Counts and times of the measured pods. Times are nanoseconds."""

    pods: int = 0
    """Pods whose scheduling is measured."""
    placed: int = 0
    """How many of them got a node."""
    attempts: list[int] = field(factory=list)
    """Duration of each scheduling cycle, from pop to bound."""
    elapsed: int = 0
    """Wall time, without skipped waits."""
    waited: int = 0
    """Skipped waits: time on the scheduler's clock in which there was nothing to do."""
    cpu: int = 0
    """CPU time of the process; less than ``elapsed`` if other processes used the machine."""

    def figures(self, *, with_waits: bool) -> Figures:
        """Return the figures of a run; with *with_waits* ``seconds`` include the skipped waits."""
        seconds = (self.elapsed + self.waited * with_waits) / 1e9
        cpu = self.cpu / 1e9
        pods, cycles = max(self.pods, self.placed), sorted(self.attempts)
        return {
            "pods": pods,
            "scheduled": self.placed,
            "unschedulable": pods - self.placed,
            "attempts": len(cycles),
            "seconds": round(seconds, 6),
            "cpu_seconds": round(cpu, 6),
            "pods_per_s": rate(self.placed, seconds),
            "attempts_per_s": rate(len(cycles), seconds),
            "pods_per_cpu_s": rate(self.placed, cpu),
            "attempts_per_cpu_s": rate(len(cycles), cpu),
            "p50_us": percentile_us(cycles, 50),
            "p99_us": percentile_us(cycles, 99),
        }


def rate(count: int, seconds: float) -> float:
    """Return *count* per second; 0 for no time."""
    return round(count / seconds, 1) if seconds else 0.0


def percentile_us(ascending: list[int], percent: int) -> float | None:
    """Return a percentile of nanoseconds (nearest rank) in microseconds; ``None`` for an empty list."""
    if not ascending:
        return None
    return round(ascending[ceil(len(ascending) * percent / 100) - 1] / 1e3, 1)
