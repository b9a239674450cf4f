"""The cluster of one run, with the scheduler that follows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from attrs import field

from .._base.value import record
from ..api import Namespace, ObjectMeta
from ..cluster import InMemoryCluster
from ..cycle import Scheduler
from .clock import SkippingClock
from .options import Progress


@record(eq=False)
class ClusterFixture:
    """A cluster in memory, its scheduler, and the clock of both."""

    cluster: InMemoryCluster
    scheduler: Scheduler
    clock: SkippingClock
    progress: Progress
    _numbers: Iterator[int] = field(factory=lambda: count(1))

    def create(self, objects: Iterable[Any]) -> list[str]:
        """Create *objects* in the cluster; return their keys."""
        return [self.cluster.create(obj).key for obj in objects]

    def next_number(self) -> int:
        """Return 1, 2, 3, … for the names of generated objects."""
        return next(self._numbers)

    def ensure_namespace(self, name: str) -> None:
        """Create the namespace unless it exists."""
        if self.cluster.get("Namespace", name) is None:
            self.cluster.create(Namespace(ObjectMeta(name)))
