"""Run a workload on a cluster of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import field

from .._base.value import record
from ..api import Pod
from ..cluster import InMemoryCluster
from ..cycle import Scheduler
from ..cycle.metering.meter import Meter
from ..cycle.observer import observing
from ..cycle.options import ScoreAllNodes
from ..cycle.tuning import Tuning
from ..framework import Registry, Status
from ..framework.factories import Factory
from .bench_run import BenchRun, NotDeliveredError, StalledError
from .clock import SkippingClock
from .fixture import ClusterFixture
from .measurement import Figures, Measurement
from .operations import Operation
from .options import Progress, no_progress


@record(frozen=True)
class WorkloadDefinition:
    """Operations, and the scheduler that they need."""

    operations: Sequence[Operation]
    config: Any = None
    """As for :class:`Scheduler`."""
    score_all_nodes: ScoreAllNodes = True
    plugins: Mapping[str, Factory] | None = None
    registry: Registry | None = None
    feature_gates: Mapping[str, bool] = field(factory=dict)
    wait_together: bool = False
    """As for :class:`Tuning`; off, because what is measured is attempts, also those that fail."""


@record(frozen=True)
class Outcome:
    """Result of a run: the measurement, and what went wrong."""

    measurement: Measurement
    cluster: InMemoryCluster
    problems: Figures
    """``not_delivered`` or ``stalled`` with the reason; ``faults`` and the first ``fault``; or nothing."""


@record(frozen=True)
class WorkloadRunner:
    """Runs workloads, each on a new cluster with a new scheduler."""

    seed: int = 0
    progress: Progress = field(default=no_progress)
    metrics: bool = False

    def run(self, definition: WorkloadDefinition) -> Outcome:
        """Carry out the operations one after the other.

        Operations that cannot be carried out, stalled pods and faults of plugins are reported in the outcome.
        Raises :class:`InputError` for definitions that make no sense.
        """
        clock, faults = SkippingClock(), []  # type: SkippingClock, list[str]
        cluster = InMemoryCluster(clock=clock)

        def faulted(status: Status, pod: Pod | None) -> None:
            faults.append(f"{status.plugin or 'scheduler'}: {status.message}")

        with (
            _quiet(),
            Scheduler(
                cluster,
                definition.config,
                plugins=definition.plugins,
                registry=definition.registry,
                feature_gates=definition.feature_gates or None,
                clock=clock,
                seed=self.seed,
                score_all_nodes=definition.score_all_nodes,
                tuning=Tuning(wait_together=definition.wait_together),
                observers=[observing(faulted=faulted), *([Meter()] if self.metrics else [])],
            ) as scheduler,
        ):
            bench = BenchRun(ClusterFixture(cluster, scheduler, clock, self.progress))
            problems = _run_operations(bench, definition.operations)
        if faults:
            problems |= {"faults": len(faults), "fault": faults[0]}
        return Outcome(bench.measurement, cluster, problems)


def _run_operations(bench: BenchRun, operations: Sequence[Operation]) -> Figures:
    """Return why the workload could not be finished; empty if it was."""
    try:
        for operation in operations:
            operation.run(bench)
    except NotDeliveredError as error:
        return {"not_delivered": str(error)}
    except StalledError as error:
        return {"stalled": str(error)}
    return {}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep faults out of the log: they are figures here."""
    logger = logging.getLogger("schedframe")
    handler, propagates = logging.NullHandler(), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = propagates
        logger.removeHandler(handler)
