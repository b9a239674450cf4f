"""A fault of a write that a plugin's answer asked for names that plugin."""

from __future__ import annotations

import pytest

from schedframe import InMemoryCluster, Pod, Scheduler, Status, VirtualClock, hookimpl
from schedframe.cluster import NotFound
from schedframe.cycle import observing
from tests.configurations import configuration, enabling


class Slow:
    """Has something to do before bind, or at permit."""

    @hookimpl
    def permit(self) -> Status | None:
        return None

    @hookimpl
    def pre_bind(self) -> Status | None:
        return None


class Waits(Slow):
    @hookimpl
    def permit(self) -> Status | None:
        return Status.wait(5.0)


@pytest.mark.parametrize("plugin", [Slow, Waits])
def test_a_pod_that_is_gone_when_its_expected_node_is_written(plugin: type[Slow]) -> None:
    clock = VirtualClock()
    faults: list[tuple[str, str]] = []

    def on_fault(status: Status, pod: Pod | None) -> None:
        faults.append((status.plugin, "" if pod is None else pod.name))

    config = configuration(enabling("Slow"))
    cluster = InMemoryCluster(clock=clock)
    scheduler = Scheduler(
        cluster, config, plugins={"Slow": plugin}, clock=clock, observers=[observing(faulted=on_fault)]
    )
    allocatable = {"cpu": "4", "pods": "9"}
    cluster.create({"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": allocatable}})
    cluster.create({"kind": "Pod", "metadata": {"name": "p"}})
    cluster.fail_next("patch_pod_status", NotFound("Pod default/p is not there"))
    scheduler.run_until_idle()
    assert faults == [("Slow", "p")]
