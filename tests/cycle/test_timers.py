"""Calls that plugins ask for at a later time."""

from __future__ import annotations

import threading
from math import inf, nan
from typing import Any

import pytest
from attrs import define

from schedframe import (
    Handle,
    InMemoryCluster,
    InputError,
    Pod,
    Scheduler,
    Simulation,
    Status,
    VirtualClock,
    hookimpl,
)
from schedframe.cycle import observing
from schedframe.cycle.runtime.timers import Timers
from schedframe.testing import StubHandle, World
from tests.configurations import configuration, enabling

CONFIG: dict[str, Any] = configuration(enabling("NotBefore"))
NODE = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}
POD = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}


START = VirtualClock()()


@define(eq=False)
class NotBefore:
    """Turns pods down before second 30, and brings them back then."""

    handle: Handle

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | None:
        wait = START + 30 - self.handle.clock()
        if wait <= 0:
            return None
        self.handle.call_later(wait, lambda: self.handle.activate([pod]))
        return Status.unresolvable("not yet")

    @hookimpl
    def events_to_register(self) -> tuple[()]:
        return ()


def test_calls_come_in_order_of_time_and_of_asking() -> None:
    timers, seen = Timers(), []
    for moment, name in ((2.0, "c"), (1.0, "a"), (1.0, "b"), (3.0, "d")):
        timers.add(moment, lambda name=name: seen.append(name))
    assert timers.next_deadline() == 1.0
    for action in timers.due(2.0):
        action()
        if seen == ["a"]:
            timers.add(0.5, lambda: seen.append("new"))
    assert seen == ["a", "new", "b", "c"]
    assert timers
    assert timers.next_deadline() == 3.0


def test_a_plugin_brings_a_pod_back_at_a_time() -> None:
    clock = VirtualClock()
    cluster = InMemoryCluster([NODE, POD], clock=clock)
    scheduler = Scheduler(cluster, CONFIG, plugins={"NotBefore": NotBefore}, clock=clock)
    scheduler.run_until_idle()
    assert scheduler.next_deadline() == START + 30
    clock.advance(29)
    assert scheduler.run_until_idle() == 0
    clock.advance(1)
    scheduler.run_until_idle()
    assert cluster.get("Pod", "default/p").spec.node_name == "n1"


def test_asking_what_would_happen_calls_nobody() -> None:
    world = Simulation([NODE], CONFIG, plugins={"NotBefore": NotBefore})
    assert "not yet" in (world.evaluate(POD).message or "")
    assert world.scheduler.next_deadline() is None


def test_a_call_that_raises_is_reported_and_the_next_one_is_made() -> None:
    faults: list[str] = []
    clock = VirtualClock()
    scheduler = Scheduler(
        InMemoryCluster([], clock=clock),
        clock=clock,
        observers=[observing(faulted=lambda status, pod: faults.append(status.message))],
    )
    (framework,) = scheduler.core.frameworks.values()
    seen: list[str] = []
    framework.handle.call_later(0, lambda: 1 // 0)
    framework.handle.call_later(-5, lambda: seen.append("called"))
    scheduler.run_until_idle()
    assert seen == ["called"]
    assert len(faults) == 1


@define(eq=False)
class WaitsLong:
    """Its pre_bind waits for more seconds than a lock of Python can."""

    @hookimpl
    def pre_bind(self) -> Status:
        return Status.wait(1e12)


class StoppedWhenWaitedFor(threading.Event):
    """Stops the scheduler when it begins to wait, and records for how long it would have waited."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self.scheduler = scheduler
        self.timeouts: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.timeouts.append(timeout)
        self.scheduler.stop()
        return super().wait(timeout)


def test_a_deadline_beyond_what_a_thread_can_wait_for_does_not_end_the_scheduler() -> None:
    scheduler = Scheduler(InMemoryCluster([NODE, POD]), plugins=[WaitsLong])
    woken = scheduler._woken = StoppedWhenWaitedFor(scheduler)
    with scheduler:
        scheduler.run()
    assert woken.timeouts == [threading.TIMEOUT_MAX]


@pytest.mark.parametrize("seconds", [inf, -inf, nan])
def test_a_time_that_never_comes_is_an_error(seconds: float) -> None:
    scheduler = Scheduler(InMemoryCluster([NODE]))
    (framework,) = scheduler.core.frameworks.values()
    for handle in (framework.handle, StubHandle(World(()))):
        with pytest.raises(InputError, match="is not a finite number"):
            handle.call_later(seconds, lambda: None)
    assert scheduler.next_deadline() is None
