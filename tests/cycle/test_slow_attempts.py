"""Attempts that take long are named with pod and plugin, and their pods rest."""

from __future__ import annotations

import gc
import logging
import threading
from typing import Any

import pytest

from schedframe import (
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    NodeInfo,
    Pod,
    Scheduler,
    Simulation,
    Status,
    VirtualClock,
    hookimpl,
)
from schedframe.cycle.runtime.clock import SystemClock
from schedframe.cycle.slow_attempts import FRAMES, REST, AttemptWatch, SlowAttempt
from schedframe.cycle.watchdog import THREAD_NAME, Watchdog
from schedframe.queue import Pool

from .build import World, make_node, make_pod

PERIOD = 0.25


class Driven(SystemClock):
    """The machine's clock, as far as the scheduler knows; tests move it, and look as the thread would."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.watchdog: Watchdog | None = None

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.now += PERIOD
            if self.watchdog is not None:
                self.watchdog.look()


def driven(plugins: dict[str, type]) -> tuple[World, Driven, list[SlowAttempt]]:
    clock = Driven()
    clock.watchdog = Watchdog(1.0, timer=clock, threaded=False)
    world = World(plugins, clock=clock, options={"observers": [clock.watchdog]})
    found: list[SlowAttempt] = []
    (look,) = clock.watchdog._followed
    watch = look.__self__  # type: ignore[attr-defined]  # a method
    assert isinstance(watch, AttemptWatch)
    watch.report = found.append
    return world, clock, found


def slow_filter(seconds: float, clock_of: list[Driven], *, fits: bool) -> type:
    class Slow:
        @hookimpl
        def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
            if pod.name.startswith("evil"):
                clock_of[0].pass_by(seconds)
            return None if fits else Status.unschedulable("no")

        @hookimpl
        def events_to_register(self) -> tuple[EventRegistration, ...]:
            return (EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD)),)

    return Slow


def test_a_slow_attempt_is_named_while_it_goes_on_and_when_it_has_ended() -> None:
    clocks: list[Driven] = []
    world, clock, found = driven({"Slow": slow_filter(8.5, clocks, fits=True)})
    clocks.append(clock)
    world.create(make_node("n1"), make_pod("evil", cpu=1), make_pod("plain", cpu=1))
    world.settle()
    clock.pass_by(PERIOD)
    assert world.node_of("evil") == "n1"
    assert [(each.pod, each.plugin, each.running) for each in found] == [
        ("default/evil", "Slow", True),
        ("default/evil", "Slow", False),
    ]
    assert 1.0 < found[0].seconds <= 1.5
    assert abs(found[1].seconds - 8.5) <= PERIOD
    assert (
        str(found[1]) == f"that of pod default/evil took {found[1].seconds:.1f} s, most of it in plugin Slow"
    )


def test_attempts_within_the_limit_are_not_named() -> None:
    clocks: list[Driven] = []
    world, clock, found = driven({"Slow": slow_filter(0.75, clocks, fits=True)})
    clocks.append(clock)
    world.create(make_node("n1"), *[make_pod(f"evil{i}", cpu=0.1) for i in range(5)])
    world.settle()
    clock.pass_by(60)  # nothing is under way, although nothing else was popped
    assert found == []


def test_time_between_attempts_and_of_binding_is_no_attempt() -> None:
    world, clock, found = driven({})
    world.create(make_node("n1"), make_pod("p", cpu=1), make_pod("large", cpu=99))
    world.settle()
    clock.pass_by(20)
    assert found == []


def test_without_a_plugin_on_the_stack_the_place_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    world, clock, found = driven({})
    world.create(make_node("n1"), make_pod("p", cpu=1))
    search = type(world.scheduler.core.search)
    decide = search.decide

    def slow_decide(*arguments: Any) -> Any:
        clock.pass_by(3)
        return decide(*arguments)

    monkeypatch.setattr(search, "decide", slow_decide)
    world.settle()
    clock.pass_by(PERIOD)
    assert [(each.pod, each.plugin, each.running) for each in found] == [
        ("default/p", "", True),
        ("default/p", "", False),
    ]
    assert found[0].stack.count(".py:") == FRAMES


# ---- resting ---------------------------------------------------------------------------------------------


def resting(seconds: float = 4.0) -> tuple[World, Driven]:
    """A pod that was rejected after an attempt of that length, and rests."""
    clocks: list[Driven] = []
    world, clock, _ = driven({"Slow": slow_filter(seconds, clocks, fits=False)})
    clocks.append(clock)
    world.create(make_node("n1"), make_pod("evil", cpu=1))
    world.settle()
    return world, clock


def attempts_of(world: World, name: str) -> int:
    return next(each.attempts for each in world.scheduler.pending() if each.key == f"default/{name}")


def joined(world: World, number: int) -> None:
    world.create(make_node(f"joined{number}"))
    world.settle()


def test_a_pod_whose_attempt_took_long_is_not_tried_again_before_it_rested() -> None:
    world, clock = resting(4.0)
    ended, number = clock.now, 0
    while clock.now < ended + REST * 4.0 - 1:
        joined(world, number)
        assert attempts_of(world, "evil") == 1
        clock.pass_by(5)
        number += 1
    clock.pass_by(2 * REST)
    joined(world, number)
    assert attempts_of(world, "evil") == 2


def test_activation_and_updates_do_not_end_the_rest() -> None:
    world, clock = resting()
    evil = world.cluster.get("Pod", "default/evil")
    for number in range(3):
        world.scheduler.core.queue.activate([evil])
        world.cluster.apply(make_pod("evil", cpu=1, labels={"n": str(number)}, uid=evil.uid))
        world.settle()
        clock.pass_by(5)
        assert attempts_of(world, "evil") == 1
    world.scheduler.core.queue.check_invariants()


def test_pending_says_that_the_pod_rests() -> None:
    world, clock = resting()
    joined(world, 0)
    (entry,) = world.scheduler.pending()
    assert entry.rests
    assert entry.pool is Pool.BACKOFF
    assert entry.wake_at is not None
    assert entry.wake_at - clock.now > REST * 3
    assert (
        world.scheduler.pending().messages[entry.key].startswith("rests, because its last attempt took long")
    )


def test_other_pods_are_tried_meantime_and_popped_early_as_ever() -> None:
    world, clock = resting()
    world.create(make_pod("plain", cpu=1))
    world.settle()
    joined(world, 0)
    assert attempts_of(world, "plain") == 2, "it backs off, and is popped early because nothing is active"
    assert attempts_of(world, "evil") == 1
    clock.pass_by(1)


def test_a_slow_attempt_of_a_virtual_clock_changes_nothing() -> None:
    timer = Driven()
    timer.watchdog = Watchdog(1.0, timer=timer, threaded=False)
    clock = VirtualClock()
    clocks = [timer]
    plugins = {"Slow": slow_filter(4.0, clocks, fits=False)}
    world = World(plugins, clock=clock, options={"observers": [timer.watchdog]})
    world.create(make_node("n1"), make_pod("evil", cpu=1))
    world.settle()
    joined(world, 0)
    assert attempts_of(world, "evil") == 2
    assert not world.scheduler.pending()[0].rests


# ---- by default ------------------------------------------------------------------------------------------


def test_with_the_machines_clock_a_thread_looks_and_hooks_are_called_as_without(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen = threading.Event()

    class Logged(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "has been going on" in record.getMessage():
                seen.set()

    class Hanging:
        @hookimpl
        def filter(self, node_info: NodeInfo) -> None:
            assert seen.wait(30), "nothing looks"

    handler = Logged()
    logging.getLogger("schedframe").addHandler(handler)
    before = set(threading.enumerate())
    world = World({"Hanging": Hanging}, clock=SystemClock())
    try:
        watchdog = world.scheduler.core.observers.find(Watchdog)
        assert isinstance(watchdog, Watchdog)
        world.create(make_node("n1"), make_pod("p", cpu=1))
        world.settle()
        (thread,) = set(threading.enumerate()) - before
        assert thread.name == THREAD_NAME
        assert not watchdog._running
        world.scheduler.close()
    finally:
        logging.getLogger("schedframe").removeHandler(handler)
    assert not thread.is_alive()
    running, ended = [each for each in caplog.messages if each.startswith("slow attempt: ")]
    assert running.startswith("slow attempt: that of pod default/p has been going on for 1.")
    assert running.endswith("now in plugin Hanging")
    assert ended.startswith("slow attempt: that of pod default/p took ")


def test_a_simulation_starts_no_thread() -> None:
    before = set(threading.enumerate())
    simulation = Simulation([make_node("n1")])
    simulation.schedule([make_pod("p", cpu=1)])
    assert set(threading.enumerate()) == before
    gc.collect()


def test_a_scheduler_with_a_virtual_clock_has_no_watchdog() -> None:
    world = World(clock=VirtualClock())
    assert isinstance(world.scheduler, Scheduler)
    assert world.scheduler.core.observers.find(Watchdog) is None
