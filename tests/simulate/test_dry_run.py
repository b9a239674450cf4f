"""A dry run on a running scheduler leaves nothing behind, whatever plugins ask for through their handle."""

from __future__ import annotations

import pytest
from attrs import define

from schedframe import Handle, InMemoryCluster, Pod, Scheduler, ThreadExecutor, hookimpl
from schedframe.cycle.runtime.executors import Executor, InlineExecutor
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
