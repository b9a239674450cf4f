"""Operations of workloads: what a workload creates, and which pods it measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .._base.value import record
from ..api import Pod
from ..controllers import PARTS, ControllerManager
from ..controllers.switches import RESOURCE_CLAIMS
from .bench_run import BenchRun


class Operation(Protocol):
    """One step of a workload."""

    def run(self, bench: BenchRun) -> None:
        """Carry out the step."""
        ...


@record(frozen=True)
class Create:
    """Creates objects before the measurement: nodes, running pods, volumes, …"""

    what: str
    count: int
    make: Callable[[int], Any]
    """Makes the i-th object."""

    def run(self, bench: BenchRun) -> None:
        """Create the objects and let the scheduler take in their events."""
        bench.fixture.progress(f"creating {self.count} {self.what}")
        bench.fixture.create(map(self.make, range(self.count)))
        bench.fixture.scheduler.sync()


@record(frozen=True)
class CreateBacklog:
    """Creates pods that find no node before the measurement, and stay pending during it."""

    count: int
    make: Callable[[int], Pod]

    def run(self, bench: BenchRun) -> None:
        """Create the pods and attempt each one once."""
        bench.fixture.progress(f"rejecting {self.count} pods")
        bench.fixture.create(map(self.make, range(self.count)))
        bench.schedule_until_idle()


@record(frozen=True)
class SchedulePods:
    """Creates pods off the clock and measures how they are scheduled, their events included."""

    count: int
    make: Callable[[int], Pod]
    patience: float = 0.0
    """See :meth:`BenchRun.schedule_until_idle`."""

    def run(self, bench: BenchRun) -> None:
        """Create the pods, schedule them, and count which ones got a node."""
        fixture = bench.fixture
        fixture.progress(f"creating {self.count} pods")
        keys = fixture.create(map(self.make, range(self.count)))
        fixture.progress(f"scheduling {self.count} pods")
        bench.start_measuring()
        bench.schedule_until_idle(self.patience)
        bench.stop_measuring()
        bench.measurement.pods += len(keys)
        bench.measurement.placed += count_placed(bench, keys)


def count_placed(bench: BenchRun, keys: Sequence[str]) -> int:
    """Return how many of these pods exist and have a node."""
    pods = (bench.fixture.cluster.get("Pod", key) for key in keys)
    return sum(pod is not None and bool(pod.spec.node_name) for pod in pods)


@record(frozen=True)
class StartClaimController:
    """Lets the cluster make ResourceClaims from the templates that pods name, from now on."""

    def run(self, bench: BenchRun) -> None:
        """Start the controller."""
        ControllerManager(bench.fixture.cluster, without=PARTS.keys() - {RESOURCE_CLAIMS})


@record(frozen=True)
class StartPodTracker:
    """Lets the run follow the events of pods, which operations need that wait for single pods."""

    def run(self, bench: BenchRun) -> None:
        """Start the tracker."""
        bench.tracker.start(bench.fixture.cluster)
