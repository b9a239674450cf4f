"""Ctrl-C at any moment: the scheduler goes on afterwards as if it had never come."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from schedframe import InMemoryCluster, Scheduler, Simulation, VirtualClock
from schedframe.cycle.messages import Question
from schedframe.cycle.runtime import interrupts
from schedframe.cycle.runtime.interrupts import HELD, Hold, letting_through
from tests.interrupting import WORLDS_FACTOR, interrupted_at

from .build import World, make_node, make_pod, plugin_class
from .pod_groups.helpers import GANGS, group, node, pod

NODES, CPUS = 3, 12
LINES = 4_000
"""About as many as a drive runs."""


@pytest.fixture(autouse=True)
def no_handler_is_left() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before
    assert not HELD.is_on


def drive(scheduler: Scheduler, rng: Random, method: str) -> bool:
    """Let a signal come at a random moment of *method*; whether it interrupted it."""
    line = int(LINES ** rng.random())

    def step() -> None:
        while scheduler.core.clock() >= (scheduler.step() or float("inf")):
            pass

    def one() -> None:
        while scheduler.schedule_one() is not None:
            pass

    calls: dict[str, Callable[[], object]] = {
        "run_until_idle": scheduler.run_until_idle,
        "step": step,
        "schedule_one": one,
        "pending": scheduler.pending,
    }
    return interrupted_at(line, calls[method])


def check(cluster: InMemoryCluster, scheduler: Scheduler, cpus: int) -> None:
    """Compare with the cluster: the room that is counted, and whether a pod waits that would fit."""
    core = scheduler.core
    for part in (core.queue, core.cache, core.waiting, core.paused):
        part.check_invariants()
    bound = Counter(each.node_name for each in cluster.list("Pod") if each.node_name)
    assert Counter(state.pod.node_name for state in core.cache.states.values()) == bound
    assert not core.binding
    assert all(count <= cpus for count in bound.values())


@pytest.mark.parametrize("method", ["run_until_idle", "step", "schedule_one", "pending"])
@pytest.mark.parametrize("seed", range(4 * WORLDS_FACTOR))
def test_pods(method: str, seed: int) -> None:
    rng = Random(seed)
    clock = VirtualClock()
    cluster = InMemoryCluster([make_node(f"n{i}", cpu=CPUS) for i in range(NODES)], clock=clock)
    scheduler = Scheduler(cluster, clock=clock, seed=1)
    interrupted = 0
    for number in range(12):
        for member in range(4):
            cluster.create(make_pod(f"p{number}-{member}", cpu=1, priority=rng.choice([0, 5])))
        interrupted += drive(scheduler, rng, method)
        if rng.random() < 0.3:
            victim = rng.choice(cluster.list("Pod"))
            cluster.delete(victim)
    assert interrupted
    for _ in range(3):
        clock.advance(700)
        scheduler.run_until_idle()
    check(cluster, scheduler, CPUS)
    placed = sum(1 for each in cluster.list("Pod") if each.node_name)
    assert placed == min(len(cluster.list("Pod")), NODES * CPUS)


@pytest.mark.parametrize("seed", range(6 * WORLDS_FACTOR))
def test_groups(seed: int) -> None:
    """The next ``run_until_idle`` did not return, or raised."""
    rng = Random(seed)
    clock = VirtualClock()
    cluster = InMemoryCluster([node(f"n{i}", cpu=CPUS) for i in range(NODES)], clock=clock)
    scheduler = Scheduler(cluster, clock=clock, seed=1, feature_gates=GANGS)
    interrupted = 0
    for number in range(6):
        cluster.create(group(f"g{number}", 3))
        for member in range(5):
            cluster.create(pod(f"p{number}-{member}", f"g{number}"))
        interrupted += drive(scheduler, rng, "run_until_idle")
    assert interrupted
    for _ in range(3):
        clock.advance(700)
        scheduler.run_until_idle()
    check(cluster, scheduler, CPUS)
    assert all(each.node_name for each in cluster.list("Pod"))


@pytest.mark.parametrize("seed", range(4 * WORLDS_FACTOR))
def test_simulation(seed: int) -> None:
    """Also in the middle of ``add`` and ``schedule``."""
    rng = Random(seed)
    with Simulation([node(f"n{i}", cpu=CPUS) for i in range(NODES)]) as simulation:
        for number in range(6):
            pods = [pod(f"p{number}-{member}") for member in range(4)]
            calls: list[Callable[[], object]] = [
                lambda pods=pods: simulation.schedule(pods),
                lambda number=number: simulation.add(pod(f"a{number}")),
                lambda number=number: simulation.evaluate(pod(f"e{number}")),
                lambda: simulation.remove_pod("default/p0-0"),
            ]
            for call in calls:
                interrupted_at(int(LINES ** rng.random()), call)
        simulation.schedule()
        check(simulation.cluster, simulation.scheduler, CPUS)
        assert not simulation.pending()


# ---- what holds signals back -----------------------------------------------------------------------------


def with_filter(work: Callable[[], object]) -> World:
    """A world whose first pod meets *work* in a filter."""
    fake = plugin_class(filter=lambda self, state, pod, node_info: work() and None)
    world = World({"Fake": fake})
    world.create(make_node("a"), make_pod("p"), make_pod("q"))
    return world


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_the_step_is_finished_first() -> None:
    world = with_filter(lambda: None if world.node_of("p") else press())
    with pytest.raises(KeyboardInterrupt):
        world.settle()
    assert (world.node_of("p"), world.node_of("q")) == ("a", "")
    assert not world.faults
    world.settle()
    assert world.node_of("q") == "a"


def test_a_signal_that_is_passed_on_once_more_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "SAME_PRESS_SECONDS", float("inf"))
    world = with_filter(lambda: [press() for _ in range(3)])
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            world.scheduler.schedule_one()
    assert world.node_of("p") == world.node_of("q") == "a"


def test_the_second_one_breaks_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook may hang."""
    monkeypatch.setattr(interrupts, "SAME_PRESS_SECONDS", 0.0)
    presses: list[None] = []

    def hang() -> None:
        while len(presses) < 5:
            presses.append(press())

    world = with_filter(hang)
    with pytest.raises(KeyboardInterrupt):
        world.settle()
    assert len(presses) == 1  # the second one raised
    assert world.where("p") == "error_backoff"


def test_a_single_one_breaks_through_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "LONGEST_SECONDS", 0.0)
    monkeypatch.setattr(HELD, "is_watched", False)  # the thread of an earlier signal may sleep still
    monkeypatch.setattr(interrupts, "SAME_PRESS_SECONDS", 0.0)

    def hang() -> None:
        press()
        threading.Event().wait()

    world = with_filter(hang)
    with pytest.raises(KeyboardInterrupt):
        world.settle()
    assert world.where("p") == "error_backoff"


def test_handlers_of_users_are_called_after_the_step() -> None:
    seen: list[str] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(world.node_of("p")))
    try:
        world = with_filter(lambda: signal.raise_signal(signal.SIGTERM))
        world.settle()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == ["a", "a"]


def test_a_handler_that_a_hook_sets_is_kept() -> None:
    def own(number: int, frame: Any) -> None:
        pass

    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        world = with_filter(lambda: signal.signal(signal.SIGTERM, own))
        world.settle()
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


def test_all_handlers_are_called_if_one_raises() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))

    def both() -> None:
        with Hold():
            press()
            signal.raise_signal(signal.SIGTERM)
            assert not seen

    try:
        with pytest.raises(KeyboardInterrupt):
            both()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]


def test_inside_of_another_hold_nothing_ends() -> None:
    """A simulation in a hook, for example."""
    steps: list[str] = []

    def outer() -> None:
        with Hold():
            with Hold() as hold:
                press()
                hold.check()
            steps.append("inner")
            steps.append("outer")

    with pytest.raises(KeyboardInterrupt):
        outer()
    assert steps == ["inner", "outer"]


def test_waiting_is_interrupted_at_once() -> None:
    world = World()
    world.sync()
    world.scheduler.core.inbox.put(Question(press))
    with pytest.raises(KeyboardInterrupt):
        world.scheduler.run()


def test_what_came_before_is_not_waited_with() -> None:
    def wait() -> None:
        with Hold() as hold:
            press()
            hold.wait(threading.Event(), None)

    with pytest.raises(KeyboardInterrupt):
        wait()


def test_what_may_take_minutes_is_not_held() -> None:
    with Hold():
        with pytest.raises(KeyboardInterrupt):
            letting_through(press)
        press()
        HELD.arrived.clear()  # it was held back again


def test_other_threads_hold_nothing() -> None:
    world = with_filter(lambda: None)
    thread = threading.Thread(target=world.settle)
    with Hold():
        pass
    thread.start()
    thread.join()
    assert world.node_of("q") == "a"


def test_what_an_interrupted_end_of_a_hold_left_behind_is_removed_by_the_next_one() -> None:
    before = signal.getsignal(signal.SIGINT)
    for line in range(60):
        interrupted_at(line, lambda: Hold().__enter__().__exit__())
        with Hold():
            pass
        assert signal.getsignal(signal.SIGINT) is before
        assert not HELD.is_on
