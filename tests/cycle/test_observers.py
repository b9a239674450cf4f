"""Observers: what they see, what it costs without them, and what their faults do, which is nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, field

from schedframe import Decision, Recorder, Scheduler, Status, ThreadExecutor
from schedframe.api import Pod
from schedframe.cycle import (
    Attempt,
    AttemptOutcome,
    AttemptResult,
    Executor,
    InlineExecutor,
    Meter,
    PassedOver,
    SchedulerObserver,
    observing,
)
from schedframe.cycle.observers import EVENTS
from schedframe.framework import Framework
from schedframe.framework.observing import ObservedFramework
from schedframe.queue import QueuedPodInfo

from .build import PROFILE, World, make_node, make_pod


@define(eq=False)
class Watching(SchedulerObserver):
    """Notes what it sees."""

    ends: dict[str, tuple[str, AttemptOutcome]] = field(factory=dict)
    seconds: list[tuple[float, float, float]] = field(factory=list)
    calls: set[tuple[str, str, str]] = field(factory=set)
    points: set[tuple[str, str]] = field(factory=set)

    def attempt_ended(self, attempt: Attempt, outcome: AttemptOutcome) -> None:
        self.ends[attempt.pod.name] = attempt.profile, outcome
        self.seconds.append((attempt.search_seconds, attempt.seconds, attempt.pod_seconds))

    def plugin_called(self, profile: str, hook: str, plugin: str, seconds: float, result: Any) -> None:
        self.calls.add((profile, hook, plugin))

    def point_ended(self, profile: str, point: str, seconds: float, status: Status | None) -> None:
        self.points.add((profile, point))


def test_an_observer_sees_attempts_points_and_calls() -> None:
    watching = Watching()
    world = World(options={"observers": [watching, Meter()]})
    world.create(make_node("a"), make_pod("p", cpu=1), make_pod("large", cpu=9))
    world.settle()
    profile, bound = watching.ends["p"]
    assert (profile, bound.result, bound.rejected_by) == (PROFILE, AttemptResult.SCHEDULED, ())
    assert (bound.message, bound.error) == ("", None)
    _, rejected = watching.ends["large"]
    assert (rejected.result, rejected.rejected_by) == (AttemptResult.UNSCHEDULABLE, ("NodeResourcesFit",))
    assert rejected.message == world.pod("large").status.conditions[0].message
    assert all(0 < search <= seconds and waited == 0 for search, seconds, waited in watching.seconds)
    assert (PROFILE, "reserve") in watching.points
    assert (PROFILE, "bind", "DefaultBinder") in watching.calls


@define(eq=False)
class Path(SchedulerObserver):
    """Notes the events of pods in order."""

    seen: list[str] = field(factory=list)

    def attempt_began(self, profile: str, info: QueuedPodInfo, started: float) -> None:
        self.seen.append(f"began {info.pod.name}")

    def decided(self, profile: str, info: QueuedPodInfo, decision: Decision) -> None:
        self.seen.append(f"decided {info.pod.name}")

    def cycle_ended(self, attempt: Attempt) -> None:
        self.seen.append(f"left {attempt.pod.name}")

    def attempt_ended(self, attempt: Attempt, outcome: AttemptOutcome) -> None:
        self.seen.append(f"{outcome.result} {attempt.pod.name}")

    def began(self) -> None:
        self.seen.append("began")

    def closed(self) -> None:
        self.seen.append("closed")


def test_events_come_in_the_order_of_a_pods_path() -> None:
    path = Path()
    world = World(options={"observers": [path]})
    world.create(make_node("a"), make_pod("p", cpu=1), make_pod("q", cpu=9))
    world.settle()
    world.scheduler.close()
    bound = ["began p", "decided p", "scheduled p", "left p"]
    assert path.seen == [
        "began",
        *bound,
        "began q",
        "decided q",
        "unschedulable q",
        "left q",
        "closed",
    ]


def test_without_observers_nothing_is_timed_or_wrapped() -> None:
    world = World(options={"observers": ()})
    observers = Scheduler(world.cluster, clock=world.clock).core.observers
    assert all(getattr(observers, event) is None for event in EVENTS)
    assert not observers.follow_attempts
    assert (observers.guards_of(PROFILE), observers.timer_of(PROFILE), observers.queue_counts) == (
        [],
        None,
        None,
    )
    handle = print
    assert observers.event_handler(handle) is handle
    (framework,) = world.scheduler.core.frameworks.values()
    assert type(framework) is Framework


@pytest.mark.parametrize(("observer", "timed"), [(Watching(), True), (Path(), False), (Meter(), True)])
def test_points_are_timed_only_for_observers_that_take_them(observer: SchedulerObserver, timed: bool) -> None:
    (framework,) = World(options={"observers": [observer]}).scheduler.core.frameworks.values()
    assert isinstance(framework, ObservedFramework) is timed


# ---- samples ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [1, 10])
def test_calls_are_sampled_by_cycles(mean: int) -> None:
    calls: list[str] = []
    observer = observing(plugin_called=lambda profile, hook, plugin, seconds, result: calls.append(hook))
    observer.cycles_per_sample = mean
    world = World(options={"observers": [observer]})
    world.create(make_node("a", cpu=4000, pods=3000), *[make_pod(f"p{i}", cpu=1) for i in range(400)])
    world.settle()
    reserves = calls.count("reserve") / max(1, len({entry.name for entry in _reserving(world)}))
    assert reserves == 400 if mean == 1 else 10 < reserves < 100


def _reserving(world: World) -> tuple[Any, ...]:
    (framework,) = world.scheduler.core.frameworks.values()
    return framework.plan.reserve


# ---- waiting together ------------------------------------------------------------------------------------


def test_pods_that_are_passed_over_are_one_event() -> None:
    passed: list[PassedOver] = []
    decided: list[str] = []
    observer = observing(
        passed_over=passed.append, decided=lambda profile, info, decision: decided.append(info.key)
    )
    world = World(options={"observers": [observer]})
    world.create(make_node("a"), *[make_pod(f"p{i:02}", cpu=9) for i in range(30)])
    world.settle()
    assert decided == ["default/p00"]
    (event,) = passed
    assert (event.profile, event.pods, event.rejected_by) == (PROFILE, 30, ("NodeResourcesFit",))
    assert event.message == world.pod("p29").status.conditions[0].message
    world.settle()
    assert len(passed) == 1, "nothing changed"
    world.create(make_node("b", cpu=9))
    world.pass_time(60)
    assert passed[-1].pods == 29
    assert passed[-1].message.startswith("0/2 nodes are available: 2 Insufficient cpu")
    assert len(decided) < 5


@pytest.mark.parametrize("observers", [[Meter()], [Recorder()], [Watching()]])
def test_an_observer_does_not_part_pods_that_wait_together(observers: list[SchedulerObserver]) -> None:
    assert World(options={"observers": observers}).scheduler.rejections is not None


def test_an_observer_may_ask_for_an_attempt_of_each_pod() -> None:
    recorder = Recorder(each_attempt=True)
    world = World(options={"observers": [recorder]})
    assert world.scheduler.rejections is None
    world.create(make_node("a"), *[make_pod(f"p{i}", cpu=9) for i in range(5)])
    world.settle()
    assert [each.pod for each in recorder] == [f"default/p{i}" for i in range(5)]


def test_a_recorder_has_one_entry_for_pods_that_wait_together() -> None:
    recorder = Recorder()
    world = World(options={"observers": [recorder]})
    world.create(make_node("a"), *[make_pod(f"p{i}", cpu=9) for i in range(5)])
    world.settle()
    assert [each.pods for each in recorder] == [1, 5]
    assert "and 4 equal pods, not tried: 0/1 nodes" in str(list(recorder)[1])


# ---- faults ----------------------------------------------------------------------------------------------


def raises(*arguments: Any) -> None:
    raise RuntimeError("the observer is wrong")


FAULTY = [
    event
    for event in EVENTS
    if event not in ("permit_ended", "group_ended", "write_ended", "closed", "reloaded")
]


@pytest.mark.parametrize("event", FAULTY)
@pytest.mark.parametrize("executor", [InlineExecutor, lambda: ThreadExecutor(2)], ids=["core", "threads"])
def test_an_observer_that_raises_changes_nothing(event: str, executor: Callable[[], Executor]) -> None:
    runs = executor()
    failing = type("Failing", (SchedulerObserver,), {event: raises})()
    faults = [make_pod("odd", cpu=1, labels={"odd": "1"})] if event == "faulted" else []
    world = World(executor=runs, options={"observers": [failing, Meter()]})
    world.create(make_node("a"), *[make_pod(f"p{number}", cpu=1) for number in range(6)], *faults)
    if event == "faulted":
        world.scheduler.core.report(Status.from_error("odd"), None, "test")
    world.settle()
    assert [bool(world.node_of(f"p{number}")) for number in range(6)] == [True] * 4 + [False] * 2
    reported = [status for status, _ in world.faults if status.plugin]
    assert [(str(each.error), each.plugin) for each in reported] == [
        ("the observer is wrong", f"Failing.{event}")
    ]
    world.scheduler.close()


@pytest.mark.parametrize("continues", [True, False])
def test_the_caller_chooses_whether_it_goes_on_being_called(continues: bool) -> None:
    seen: list[str] = []

    def decided(profile: str, info: QueuedPodInfo, decision: Decision) -> None:
        seen.append(info.pod.name)
        raise RuntimeError("no")

    observer = observing(decided=decided, cycle_ended=lambda attempt: seen.append("left"))
    observer.continues_after_fault = continues
    world = World(options={"observers": [observer]})
    world.create(make_node("a"), make_pod("p", cpu=1), make_pod("q", cpu=1))
    world.settle()
    assert seen == (["p", "left", "q", "left"] if continues else ["p"])
    assert [status.plugin for status, _ in world.faults] == ["observing.decided"]


def test_an_interruption_in_an_observer_ends_the_step_and_loses_no_pod() -> None:
    def interrupted(attempt: Attempt, outcome: AttemptOutcome) -> None:
        raise KeyboardInterrupt

    world = World(options={"observers": [observing(attempt_ended=interrupted)]})
    world.create(make_node("a"), make_pod("p", cpu=1))
    with pytest.raises(KeyboardInterrupt):
        world.scheduler.run_until_idle()
    world.settle()
    assert world.node_of("p") == "a"
    world.check()


def test_a_method_that_observers_do_not_have_is_refused_with_a_similar_one() -> None:
    with pytest.raises(TypeError, match=r"no method 'fault'; did you mean faulted\?"):
        observing(fault=print)


def test_faults_have_their_pod() -> None:
    found: list[tuple[str, Pod | None]] = []
    observer = observing(faulted=lambda status, pod: found.append((status.message, pod)))
    scheduler = World(options={"observers": [observer]}).scheduler
    pod = make_pod("p")
    scheduler.core.report(Status.from_error("x"), pod, "test")
    assert found == [("x", pod)]
