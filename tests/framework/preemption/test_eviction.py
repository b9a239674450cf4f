"""Making the victims go: what is asked of the cluster, in which order, and what follows from the answers."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from schedframe import ClusterError, NotFound, OutcomeUnknown, Pod, Status, hookimpl
from schedframe.api import DISRUPTION_TARGET

from ...cycle.build import World, config_with, make_pod
from ...cycle.executors import ManualExecutor
from .support import Arena, running, waiting


class Manual:
    """An arena in which nothing happens off the core before the test wants it, and a pending preemptor."""

    def __init__(self, *victims: Pod, cpu: int = 4) -> None:
        self.executor = ManualExecutor()
        self.arena = Arena(world=World(executor=self.executor))
        self.world = self.arena.world
        self.arena.create(*victims, waiting(cpu=cpu))
        self.preemptor = self.world.pod("p")

    def begin(self) -> list[str]:
        """Preempt; names of those that are evicted."""
        return [pod.name for pod in self.arena.preemption(self.preemptor).evicted]

    @property
    def in_progress(self) -> bool:
        return self.arena.evaluator.eviction.is_in_progress(self.preemptor)

    def where(self) -> str:
        """Where the preemptor is once the scheduler has heard of everything."""
        self.world.sync()
        return self.world.where("p")


@pytest.fixture
def two() -> Manual:
    return Manual(running("a", cpu=2, priority=1), running("b", cpu=2))


# ---- requests --------------------------------------------------------------------------------------------


def test_nothing_is_asked_of_the_cluster_in_the_core(two: Manual) -> None:
    assert two.begin() == ["a", "b"]
    assert two.arena.names() == {"a", "b", "p"}
    assert two.in_progress


def test_the_last_victim_goes_when_all_others_are_gone(two: Manual) -> None:
    two.begin()
    assert len(two.executor.waiting) == 1
    two.executor.run()
    assert two.arena.names() == {"b", "p"}
    two.executor.tell()
    assert not two.executor.waiting
    two.world.sync()
    assert len(two.executor.waiting) == 1
    assert two.in_progress
    two.executor.run()
    assert two.arena.names() == {"p"}


def test_the_preemptor_is_free_when_the_last_victim_is_seen_to_go(two: Manual) -> None:
    two.begin()
    two.executor.complete()
    two.world.sync()
    two.executor.run()
    # The event of its deletion is here before the answer to the request.
    two.world.sync()
    assert not two.in_progress
    two.executor.tell()
    two.world.sync()
    assert not two.in_progress


def test_a_victim_that_takes_its_time_is_on_its_way_all_the_same() -> None:
    one = Manual(running("a", cpu=4, finalizers=("test/held",)))
    one.begin()
    assert one.in_progress
    one.executor.run()
    one.world.sync()
    assert one.world.pod("a").is_terminating
    assert not one.in_progress


def test_the_victim_says_why_it_goes() -> None:
    one = Manual(running("a", cpu=4, finalizers=("test/held",)))
    one.begin()
    one.executor.finish_all()
    condition = one.world.pod("a").status.condition(DISRUPTION_TARGET)
    assert condition is not None
    assert (condition.status, condition.reason) == ("True", "PreemptionByScheduler")
    assert condition.message == "default-scheduler: preempting to accommodate a higher priority pod"
    (event,) = [event for event in one.world.cluster.events if event.reason == "Preempted"]
    assert (event.type, event.action) == ("Normal", "Preempting")
    assert event.message == f"Preempted by pod {one.preemptor.uid} on node n"


def test_victims_that_are_being_deleted_are_left_alone() -> None:
    one = Manual(running("a", cpu=2, priority=1), running("b", cpu=2, finalizers=("test/held",)))
    one.world.delete("b")
    found = one.arena.preemption(one.preemptor)
    assert found.chosen is not None
    assert [pod.name for pod in found.chosen.victims] == ["a", "b"]
    assert [pod.name for pod in found.evicted] == ["a"]


def test_if_all_are_being_deleted_nothing_is_done() -> None:
    one = Manual(running("a", cpu=4, finalizers=("test/held",)))
    one.world.delete("a")
    one.arena.create(make_pod("low", cpu=1, priority=5, gates=("held",)))
    one.world.sync()
    one.world.change_pod("low", status={"nominated_node_name": "n"})
    found = one.arena.preemption(one.preemptor)
    assert (found.evicted, found.cleared, found.stopped) == ((), (), ())
    assert not one.in_progress
    assert not one.executor.waiting


# ---- failures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ClusterError, OutcomeUnknown])
def test_if_a_victim_cannot_be_evicted_the_last_one_stays_and_the_preemptor_tries_again(
    two: Manual, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    two.world.cluster.fail_next("evict", error("no"))
    two.begin()
    with caplog.at_level(logging.WARNING, "schedframe"):
        two.executor.finish_all()
        two.world.sync()
        two.executor.finish_all()
    assert "b" in two.arena.names()
    assert "cannot evict pod default/a for default/p: no" in caplog.text
    assert not two.in_progress
    assert two.where() == "active"


def test_if_the_last_victim_cannot_be_evicted_the_preemptor_tries_again(two: Manual) -> None:
    two.begin()
    two.executor.complete()
    two.world.sync()
    two.world.cluster.fail_next("evict", ClusterError("no"))
    two.executor.finish_all()
    two.world.sync()
    assert two.arena.names() == {"b", "p"}
    assert not two.in_progress
    assert two.where() == "active"


def test_a_victim_that_is_gone_already_is_no_failure(two: Manual) -> None:
    two.begin()
    two.world.delete("a")
    two.executor.complete()
    two.world.sync()
    two.executor.complete()
    two.world.sync()
    assert two.arena.names() == {"p"}
    assert not two.in_progress


def test_an_event_that_cannot_be_recorded_is_no_failure(
    two: Manual, caplog: pytest.LogCaptureFixture
) -> None:
    two.world.cluster.fail_next("record_event", ClusterError("full"), times=2)
    two.begin()
    with caplog.at_level(logging.WARNING, "schedframe"):
        two.executor.finish_all()
        two.world.sync()
        two.executor.finish_all()
        two.world.sync()
    assert two.arena.names() == {"p"}
    assert "cannot record that pod default/a was preempted: full" in caplog.text
    assert "cannot evict" not in caplog.text
    assert not two.in_progress


def test_a_preemptor_that_is_gone_meanwhile_leaves_nothing_behind(two: Manual) -> None:
    two.begin()
    two.world.delete("p")
    two.executor.finish_all()
    two.world.sync()
    two.executor.finish_all()
    two.world.sync()
    assert not two.in_progress
    assert not two.arena.evaluator.eviction.last_victims


# ---- nominations -----------------------------------------------------------------------------------------


def test_lower_nominations_to_the_node_are_withdrawn(two: Manual) -> None:
    for name, priority, node in (("low", 5, "n"), ("same", 10, "n"), ("elsewhere", 5, "m")):
        two.arena.create(make_pod(name, cpu=0, priority=priority, gates=("held",)))
        two.world.sync()
        two.world.change_pod(name, status={"nominated_node_name": node})
    found = two.arena.preemption(two.preemptor)
    assert [pod.name for pod in found.cleared] == ["low"]
    two.world.sync()
    nominator = two.arena.handle.nominator
    assert [pod.name for pod in nominator.nominated_pods_for_node("n")] == ["same"]
    two.executor.finish_all()
    assert two.world.pod("low").status.nominated_node_name == ""
    assert two.world.pod("same").status.nominated_node_name == "n"
    assert two.world.pod("elsewhere").status.nominated_node_name == "m"


@pytest.mark.parametrize("how", [ClusterError, NotFound])
def test_a_nomination_that_cannot_be_withdrawn_is_no_obstacle(two: Manual, how: type[Exception]) -> None:
    two.arena.create(make_pod("low", cpu=0, priority=5, gates=("held",)))
    two.world.sync()
    two.world.change_pod("low", status={"nominated_node_name": "n"})
    two.world.cluster.fail_next("patch_pod_status", how("no"))
    two.begin()
    two.executor.finish_all()
    two.world.sync()
    two.executor.finish_all()
    two.world.sync()
    assert two.arena.names() == {"low", "p"}
    assert bool(two.world.faults) is (how is ClusterError)


# ---- victims that do not run yet -------------------------------------------------------------------------


class Gate:
    """Lets pods wait that say so: in permit, or in pre_bind."""

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return Status.wait(600) if "permit" in pod.labels else None

    @hookimpl
    def pre_bind_pre_flight(self, pod: Pod) -> Status | None:
        return None if "pre-bind" in pod.labels else Status.skip()

    @hookimpl
    def pre_bind(self, pod: Pod) -> Status | None:
        return Status.wait(600) if "parked" in pod.labels else None

    @hookimpl
    def events_to_register(self) -> tuple[()]:
        return ()


@pytest.fixture
def gated() -> tuple[Arena, ManualExecutor]:
    executor = ManualExecutor()
    return Arena(world=World({"Gate": Gate}, executor, config=config_with("Gate"))), executor


def settle(arena: Arena, executor: ManualExecutor) -> None:
    """Run everything that is under way, and let the scheduler process the events."""
    arena.world.sync()
    while len(executor):
        executor.finish_all()
        arena.world.sync()


def place(arena: Arena, *labels: str, name: str = "low") -> None:
    arena.create(make_pod(name, cpu=4, labels=dict.fromkeys(labels, "yes")))
    arena.world.cycle()


def expect_stopped(arena: Arena, **details: Any) -> None:
    found = arena.preemption(waiting(**details))
    assert [pod.name for pod in found.stopped] == ["low"]
    assert not found.evicted


def test_a_pod_that_waits_in_permit_is_turned_down(gated: tuple[Arena, ManualExecutor]) -> None:
    arena, executor = gated
    place(arena, "permit")
    assert arena.world.where("low") == "waiting"
    expect_stopped(arena)
    settle(arena, executor)
    assert arena.world.where("low") == "error_backoff"
    assert arena.world.condition("low") == ("Unschedulable", "preempted")
    assert arena.names() == {"low"}
    messages = [event.message for event in arena.world.cluster.events if event.reason == "Preempted"]
    assert messages == ["Preempted by pod uid-p on node n, where it did not run yet"]


def test_a_permission_that_is_on_its_way_does_not_count(gated: tuple[Arena, ManualExecutor]) -> None:
    arena, _ = gated
    place(arena, "permit")
    (waits,) = arena.world.scheduler.core.waiting
    decision, diagnosis = arena.diagnosis(waiting())
    waits.allow("Gate")
    arena.evaluator.preempt(decision.state, waiting(), diagnosis)
    arena.world.sync()
    assert arena.world.where("low") == "error_backoff"


def test_a_pod_that_is_parked_in_pre_bind_gives_up(gated: tuple[Arena, ManualExecutor]) -> None:
    arena, executor = gated
    place(arena, "pre-bind", "parked")
    settle(arena, executor)
    assert arena.world.where("low") == "parked"
    expect_stopped(arena)
    arena.world.sync()
    assert arena.world.where("low") == "error_backoff"
    assert arena.world.scheduler.core.cache.pod_count == 0


@pytest.mark.parametrize("parks", [True, False])
def test_a_pod_in_pre_bind_gives_up_before_bind(gated: tuple[Arena, ManualExecutor], parks: bool) -> None:
    arena, executor = gated
    place(arena, "pre-bind", *(["parked"] if parks else []))
    assert arena.world.where("low") == "binding"
    expect_stopped(arena)
    settle(arena, executor)
    assert arena.world.where("low") == "error_backoff"
    assert arena.world.node_of("low") == ""


def test_a_pod_whose_bind_may_have_begun_is_evicted(gated: tuple[Arena, ManualExecutor]) -> None:
    arena, executor = gated
    place(arena)
    assert arena.world.where("low") == "binding"
    found = arena.preemption(waiting())
    assert [pod.name for pod in found.evicted] == ["low"]
    assert found.stopped == ()
    # Here it is deleted before it is bound; it goes either way.
    executor.complete(1)
    settle(arena, executor)
    assert arena.names() == set()
    assert arena.world.scheduler.core.cache.pod_count == 0


def test_a_pod_whose_pre_bind_is_over_is_evicted(gated: tuple[Arena, ManualExecutor]) -> None:
    arena, executor = gated
    place(arena, "pre-bind")
    while executor.waiting:
        executor.run()
    found = arena.preemption(waiting())
    assert [pod.name for pod in found.evicted] == ["low"]
    settle(arena, executor)
    assert arena.names() == set()


def test_an_unknown_bind_is_not_stopped(gated: tuple[Arena, ManualExecutor]) -> None:
    arena, executor = gated
    arena.world.cluster.fail_next("bind", OutcomeUnknown("no answer"))
    arena.world.cluster.fail_next("get", ClusterError("down"))
    place(arena, "pre-bind")
    settle(arena, executor)
    assert arena.world.where("low") == "parked"
    assert [pod.name for pod in arena.preemption(waiting()).evicted] == ["low"]


def test_nominations_are_withdrawn_for_a_pod_that_did_not_run_too(
    gated: tuple[Arena, ManualExecutor],
) -> None:
    arena, _ = gated
    place(arena, "permit")
    arena.create(make_pod("expected", cpu=0, priority=5, gates=("held",)))
    arena.world.change_pod("expected", status={"nominated_node_name": "n"})
    assert [pod.name for pod in arena.preemption(waiting()).cleared] == ["expected"]
