"""A dry run on a running scheduler leaves nothing behind, whatever plugins ask for through their handle."""

from __future__ import annotations

from itertools import count

import pytest
from attrs import define

from schedframe import (
    CycleState,
    Handle,
    InMemoryCluster,
    Pod,
    Scheduler,
    Simulation,
    Status,
    ThreadExecutor,
    hookimpl,
)
from schedframe.cycle.runtime.executors import Executor, InlineExecutor
from schedframe.fork.dry_run import dry_run
from schedframe.simulate.evaluator import Evaluator
from schedframe.testing import node, pod


@define(eq=False)
class Busy:
    """Asks for changes in every hook of an evaluation."""

    handle: Handle | None = None

    def _ask(self, about: Pod) -> None:
        handle = self.handle
        assert handle is not None
        handle.record_event(about, "Asked", "the pod was looked at")
        other = handle.cluster.get("Pod", "default/other")
        assert other is not None
        handle.withdraw_nomination(other)

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> None:
        if pod.name == "p":
            self._ask(pod)

    @hookimpl
    def pre_filter(self, pod: Pod) -> None:
        if pod.name == "p":
            self._ask(pod)


@pytest.mark.parametrize("executor", [InlineExecutor, ThreadExecutor])
def test_requests_of_plugins_have_no_effect(executor: type[Executor]) -> None:
    plugin = Busy()
    other = {
        "kind": "Pod",
        "metadata": {"name": "other"},
        "spec": {"schedulingGates": [{"name": "closed"}], "containers": [{"name": "c"}]},
        "status": {"nominatedNodeName": "n"},
    }
    cluster = InMemoryCluster([node("n").allocatable(cpu="4", pods=9), other])
    with Scheduler(cluster, seed=0, plugins=[plugin], executor=executor()) as scheduler:
        scheduler.run_until_idle()
        before, recorded = cluster.list("Pod"), scheduler.events.series()
        assert before[0].status.nominated_node_name == "n"
        core = scheduler.core
        plugin.handle = core.frameworks["default-scheduler"].handle
        evaluator, asking = Evaluator(core), pod("p").build()
        assert evaluator.evaluate(asking).decision is not None
        assert evaluator.decide(asking) is not None
        assert evaluator.feasible(asking) == ["n"]
        scheduler.run_until_idle()
        assert not core.writes
    assert cluster.list("Pod") == before
    assert scheduler.events.series() == recorded
    assert all(event.reason != "Asked" for event in cluster.events)


def test_the_default_binder_binds_nothing_in_a_dry_run() -> None:
    cluster = InMemoryCluster([node("n").allocatable(cpu="4", pods=9), pod("p").gated_by("closed")])
    with Scheduler(cluster, seed=0) as scheduler:
        scheduler.run_until_idle()
        waiting = cluster.get("Pod", "default/p")
        assert waiting is not None
        (binder,) = scheduler.core.frameworks["default-scheduler"].plan.bind
        with dry_run(scheduler.core) as writes:
            binder.call(CycleState(), waiting, "n")
        assert [name for _, name in writes.bound] == ["n"]
    assert not cluster.list("Pod")[0].node_name


def test_the_reason_of_a_gated_pod_is_asked_for_without_effect() -> None:
    @define(eq=False)
    class Gate:
        handle: Handle

        @hookimpl
        def pre_enqueue(self, pod: Pod) -> Status:
            self.handle.record_event(pod, "Asked", f"request {next(calls)}")
            return Status.unschedulable("closed")

    calls = count(1)
    with Simulation([node("n").allocatable(cpu="4", pods=9)], plugins=[Gate]) as simulation:
        (placement,) = simulation.schedule([pod("p")])
        notes = [event.message for event in simulation.cluster.events if event.reason == "Asked"]
    assert placement.message == "closed"
    assert (notes, next(calls)) == (["request 1"], 3)
