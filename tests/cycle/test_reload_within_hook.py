"""A reload that a hook asks for, while a step of the scheduler is under way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import define

from schedframe import InMemoryCluster, Pod, Scheduler, Status, VirtualClock, hookimpl
from schedframe.config import ConfigSource
from schedframe.cycle import observing
from schedframe.testing import node, pod


@define(eq=False)
class Reloading:
    """Calls ``reload`` in the hook that the label of the pod names."""

    reload: Callable[[ConfigSource], object] | None = None

    def _call(self, pod: Pod, hook: str) -> None:
        if self.reload is not None and pod.labels.get("reload") == hook:
            self.reload(None)

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Status | None:
        self._call(pod, "pre_enqueue")
        return None

    @hookimpl
    def reserve(self, pod: Pod) -> Status | None:
        self._call(pod, "reserve")
        return None

    @hookimpl
    def pre_bind(self, pod: Pod) -> Status | None:
        self._call(pod, "pre_bind")
        return None


@pytest.mark.parametrize("hook", ["pre_enqueue", "reserve", "pre_bind"])
def test_a_hook_cannot_reload(hook: str) -> None:
    """A cycle is under way: pods would be lost between the former profiles and the new ones."""
    plugin, clock = Reloading(), VirtualClock()
    faults: list[Status] = []
    cluster = InMemoryCluster([node("n"), pod("first").labels(reload=hook), pod("second")], clock=clock)
    with Scheduler(
        cluster,
        clock=clock,
        plugins=[plugin],
        observers=[observing(faulted=lambda status, _: faults.append(status))],
    ) as scheduler:
        plugin.reload = scheduler.reload
        before = scheduler.config
        scheduler.run_until_idle()
        assert scheduler.config is before
        assert {each.plugin for each in faults} == {"Reloading"}
        assert f"reload() was called within Reloading.{hook}" in faults[0].message
        assert [each.name for each in cluster.list("Pod") if each.spec.node_name] == ["second"]
        plugin.reload = None
        scheduler.reload(None)
        assert scheduler.config is not before
        clock.advance(600)
        scheduler.run_until_idle()
        assert all(each.spec.node_name for each in cluster.list("Pod")), "none is lost"
