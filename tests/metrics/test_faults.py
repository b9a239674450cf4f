"""Calls of plugins that raise are measured with the status Error."""

from __future__ import annotations

from asyncio import CancelledError

import pytest

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    InMemoryCluster,
    NodeInfo,
    Pod,
    Scheduler,
    Status,
    VirtualClock,
    hookimpl,
)
from schedframe.api import Node
from schedframe.cycle import observing
from schedframe.metrics import SchedulerMetrics
from schedframe.queue import QueueingHint
from schedframe.testing import node, pod

PODS = 200
"""One call in ten is measured; with a probability of 0.9 ** 200 none of 200 calls is."""


class Fails:
    """Raises in pre_filter, and in the hint that a node may help."""

    error: type[BaseException]

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: list[NodeInfo]) -> None:
        raise self.error

    @hookimpl
    def events_to_register(self) -> list[EventRegistration]:
        def hint(pod: Pod, old: Node | None, new: Node | None) -> QueueingHint:
            raise self.error

        return [EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD), hint)]


class RejectsAll(Fails):
    """Rejects in pre_filter."""

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: list[NodeInfo]) -> Status:
        return Status.unschedulable("never")


class World:
    """A scheduler with *plugin* that tried *pods* once, and its metrics."""

    def __init__(self, plugin: type[Fails], error: type[BaseException], pods: int) -> None:
        clock = VirtualClock()
        self.cluster = InMemoryCluster([node("n"), *[pod(f"p{i}") for i in range(pods)]], clock=clock)
        self.metrics = SchedulerMetrics()
        own = type("Own", (plugin,), {"error": error})
        self.faults: list[Status] = []
        self.scheduler = Scheduler(
            self.cluster,
            clock=clock,
            seed=0,
            observers=[self.metrics, observing(faulted=lambda status, pod: self.faults.append(status))],
            plugins=[own],
        )
        self.scheduler.run_until_idle()

    def count(self, name: str, *labels: str) -> int:
        """Return the number of durations of a metric."""
        (family,) = [each for each in self.metrics.families() if each.metric.name == f"scheduler_{name}"]
        distribution = family.samples.get(labels)
        return 0 if distribution is None else distribution.count


@pytest.mark.parametrize("error", [RuntimeError, CancelledError])
def test_a_tenth_of_the_calls(error: type[BaseException]) -> None:
    measured = World(Fails, error, PODS).count(
        "plugin_execution_duration_seconds", "Own", "PreFilter", "Error"
    )
    assert 0 < measured < PODS


@pytest.mark.parametrize("error", [RuntimeError, CancelledError])
def test_hints(error: type[BaseException]) -> None:
    world = World(RejectsAll, error, 1)
    world.cluster.create(node("m"))
    world.scheduler.run_until_idle()
    assert world.count("queueing_hint_execution_duration_seconds", "Own", "NodeAdd", "Error") == 1
