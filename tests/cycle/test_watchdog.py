"""Hooks that run longer than a limit are named, while they run and afterwards."""

from __future__ import annotations

import gc
import logging
import threading

import pytest

from schedframe import NodeInfo, Status, VirtualClock, hookimpl
from schedframe.cycle.watchdog import THREAD_NAME, SlowHook, Watchdog

from .build import World, make_node, make_pod


def _world(plugin: type, watchdog: Watchdog) -> World:
    world = World({"Slow": plugin}, options={"observers": [watchdog]})
    world.create(make_node("n1"), make_pod("p", cpu=1))
    return world


def test_a_slow_hook_is_named_while_it_runs_and_when_it_returned() -> None:
    found: list[SlowHook] = []
    clock = VirtualClock(0.0)
    watchdog = Watchdog(1.0, found.append, clock, threaded=False)

    class Slow:
        @hookimpl
        def filter(self, node_info: NodeInfo) -> Status | None:
            for seconds in (0.5, 1.0, 8.5):
                clock.advance(seconds)
                watchdog.look()
            return None

    world = _world(Slow, watchdog)
    world.settle()
    assert world.node_of("p") == "n1"
    assert [(each.plugin, each.hook, each.pod, each.seconds, each.running) for each in found] == [
        ("Slow", "filter", "default/p", 1.5, True),
        ("Slow", "filter", "default/p", 10.0, False),
    ]
    assert "test_watchdog.py" in found[0].stack
    assert str(found[1]) == "filter of plugin Slow for pod default/p took 10.0 s"


def test_a_hook_that_waits_for_another_one_is_not_to_blame() -> None:
    found: list[SlowHook] = []
    clock = VirtualClock(0.0)
    watchdog = Watchdog(1.0, found.append, clock, threaded=False)
    slow = watchdog.guarded(lambda state, pod, node_info: clock.advance(5.0), "filter", "Slow")

    def outer(state: object, pod: object, statuses: object) -> None:
        slow(None, None, None)
        watchdog.look()
        clock.advance(0.5)

    watchdog.guarded(outer, "post_filter", "Preempting")(None, None, None)
    assert [(each.plugin, each.seconds) for each in found] == [("Slow", 5.0)]


def test_a_hook_that_raises_is_watched_too() -> None:
    found: list[SlowHook] = []
    clock = VirtualClock(0.0)

    def call(pod: object) -> None:
        clock.advance(2.0)
        raise LookupError("no")

    with pytest.raises(LookupError):
        Watchdog(1.0, found.append, clock, threaded=False).guarded(call, "pre_enqueue", "Slow")(None)
    assert [each.seconds for each in found] == [2.0]


def test_the_thread_reports_a_hook_that_hangs_and_ends_with_the_scheduler() -> None:
    seen = threading.Event()

    def report(slow: SlowHook) -> None:
        if slow.running:
            seen.set()

    class Hanging:
        @hookimpl
        def filter(self, node_info: NodeInfo) -> None:
            assert seen.wait(30), "the watchdog does not look"

    before = set(threading.enumerate())
    world = _world(Hanging, Watchdog(0.01, report))
    world.settle()
    assert world.node_of("p") == "n1"
    (thread,) = set(threading.enumerate()) - before
    assert thread.name == THREAD_NAME
    world.scheduler.close()
    assert not thread.is_alive()


def test_the_thread_ends_with_a_scheduler_that_is_never_closed() -> None:
    class Plain:
        @hookimpl
        def filter(self, node_info: NodeInfo) -> None:
            """All nodes pass."""

    before = set(threading.enumerate())
    world = _world(Plain, Watchdog(0.01))
    world.settle()
    (thread,) = set(threading.enumerate()) - before
    del world
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()


def test_without_a_report_it_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "schedframe")
    clock = VirtualClock(0.0)
    watchdog = Watchdog(1.0, timer=clock, threaded=False)
    watchdog.guarded(lambda pod: clock.advance(3.0), "pre_enqueue", "Slow")(make_pod("p"))
    assert caplog.messages == ["slow plugin: pre_enqueue of plugin Slow for pod default/p took 3.0 s"]
