"""What hooks off the core report reaches their plugin in the core, before the core learns how they ended."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from schedframe import CycleState, Handle, Pod, ThreadExecutor, hookimpl
from schedframe.cycle import Executor, InlineExecutor
from schedframe.cycle.messages import Reported

from .build import World, make_node, make_pod


class Reporting:
    """Reports from pre_bind, and notes what it receives, where, and how much before the end."""

    def __init__(self, handle: Handle) -> None:
        self.received: list[tuple[str, bool, bool]] = []
        self.at_end: list[int] = []
        self.report = handle.reporter("Reporting", self.receive)

    def receive(self, state: CycleState | None, value: str) -> None:
        if value == "default/odd":
            raise RuntimeError("not that one")
        is_core = threading.current_thread() is threading.main_thread()
        self.received.append((value, state is not None, is_core))

    @hookimpl
    def pre_bind(self, state: CycleState, pod: Pod) -> None:
        self.report(state, pod, pod.key)

    @hookimpl
    def post_bind(self, pod: Pod) -> None:
        self.at_end.append(len([value for value, *_ in self.received if value == pod.key]))


@pytest.mark.parametrize("make", [InlineExecutor, lambda: ThreadExecutor(2)], ids=["core", "threads"])
def test_a_report_is_received_in_the_core_before_the_hook_has_ended(make: Any) -> None:
    executor: Executor = make()
    world = World({"Reporting": Reporting}, executor=executor)
    world.create(make_node("a"), *[make_pod(f"p{number}", cpu=1) for number in range(3)])
    world.settle()
    plugin = world.plugin("Reporting")
    assert sorted(plugin.received) == [(f"default/p{number}", True, True) for number in range(3)]
    assert plugin.at_end == [1, 1, 1]
    executor.close()


def test_a_fault_of_the_receiver_is_the_plugins_and_changes_nothing() -> None:
    executor = ThreadExecutor(1)
    world = World({"Reporting": Reporting}, executor=executor)
    world.create(make_node("a"), make_pod("odd", cpu=1), make_pod("p", cpu=1))
    world.settle()
    assert world.node_of("odd") == world.node_of("p") == "a"
    ((status, pod),) = world.faults
    assert (status.plugin, str(status.error), pod is not None) == ("Reporting", "not that one", True)
    executor.close()


def test_a_report_after_the_attempt_comes_without_a_state_and_one_of_no_plugin_is_dropped() -> None:
    world = World({"Reporting": Reporting})
    world.scheduler.core.inbox.put(Reported("Reporting", "gone", "late"))
    world.scheduler.core.inbox.put(Reported("Other", "gone", "late"))
    world.settle()
    assert world.plugin("Reporting").received == [("late", False, True)]
    assert not world.faults


def test_a_configuration_that_is_refused_takes_no_reports() -> None:
    world = World({"Reporting": Reporting})
    receivers = dict(world.scheduler.core.receivers)

    class Broken:
        def __init__(self, handle: Handle) -> None:
            handle.reporter("Reporting", lambda state, value: None)
            raise ValueError("no")

        @hookimpl
        def pre_bind(self) -> None:
            """Never called."""

    world.scheduler.registry.register("Broken", Broken)
    before = world.scheduler.config
    with pytest.raises(Exception, match="no"):
        world.scheduler.reload(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Broken"}]}}}],
            }
        )
    assert world.scheduler.core.receivers == receivers
    assert world.scheduler.config is before
