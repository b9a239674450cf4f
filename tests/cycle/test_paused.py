"""Paused bindings: deadlines, events, events that came a moment too early, and whole attempts."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Action, ClusterEvent, CycleState, InvariantError, Pod, Status
from schedframe.cycle.binding.attempt import Attempt
from schedframe.cycle.binding.paused import (
    FIRST_VERIFICATION_SECONDS,
    LONGEST_VERIFICATION_SECONDS,
    PausedBindings,
)
from schedframe.queue import QueuedPodInfo

from .build import World, make_node, make_pod, plugin_class
from .executors import ManualExecutor

NODE_ADD = ClusterEvent("Node", Action.ADD)
NODE_ANY = ClusterEvent("Node", Action.ALL)
POD_DELETE = ClusterEvent("AssignedPod", Action.DELETE)


def attempt(name: str = "p") -> Attempt:
    """An attempt that no other thread asks about."""
    pod = make_pod(name, uid=name)
    framework: Any = None
    return Attempt(QueuedPodInfo(pod, 0.0), pod, framework, CycleState())


@pytest.fixture
def parked() -> PausedBindings:
    return PausedBindings()


class TestPausedBindings:
    def test_they_fall_due_in_order_of_their_deadlines(self, parked: PausedBindings) -> None:
        for name, deadline in (("b", 20.0), ("a", 10.0), ("c", 30.0)):
            assert parked.pause(attempt(name), name, deadline)
        parked.check_invariants()
        assert parked.next_deadline() == 10.0
        assert [one.uid for one in parked.due(20.0)] == ["a", "b"]
        assert parked.next_deadline() == 30.0
        assert len(parked) == 1
        assert list(parked.due(29.9)) == []

    def test_an_event_takes_out_those_that_wait_for_it(self, parked: PausedBindings) -> None:
        parked.pause(attempt("a"), "a", 10.0, [NODE_ADD])
        parked.pause(attempt("b"), "b", 10.0, [POD_DELETE, NODE_ANY])
        parked.pause(attempt("c"), "c", 10.0)
        assert [one.uid for one in parked.concerned(NODE_ADD)] == ["a", "b"]
        assert parked.concerned(NODE_ADD) == []
        assert [one.uid for one in parked.due(10.0)] == ["c"]
        assert parked.next_deadline() is None
        parked.check_invariants()

    def test_an_event_that_came_since_the_hand_off_is_not_waited_for(self, parked: PausedBindings) -> None:
        early, late = attempt("a"), attempt("b")
        early.submitted_at = parked.moment
        parked.concerned(NODE_ADD)
        late.submitted_at = parked.moment
        assert not parked.pause(early, "a", 10.0, [NODE_ANY])
        assert parked.get("a") is None
        assert parked.pause(late, "b", 10.0, [NODE_ANY])
        parked.concerned(POD_DELETE)
        assert parked.pause(early, "a", 10.0)
        parked.check_invariants()

    def test_memory_does_not_grow_with_events(self, parked: PausedBindings) -> None:
        for _ in range(1000):
            parked.concerned(NODE_ADD)
            parked.concerned(POD_DELETE)
        assert len(parked._last) == 2

    def test_verifications_become_rare(self, parked: PausedBindings) -> None:
        one, now, delays = attempt(), 0.0, []
        for _ in range(2000):
            parked.verify_later(one, "p", now)
            deadline = parked.next_deadline()
            assert deadline is not None
            delays.append(deadline - now)
            now = deadline
            (due,) = parked.due(now)
            assert due.verify
        assert delays[0] == FIRST_VERIFICATION_SECONDS
        assert delays[1] == 2 * FIRST_VERIFICATION_SECONDS
        assert delays == sorted(delays)
        assert delays[-1] == LONGEST_VERIFICATION_SECONDS

    def test_a_pod_is_parked_once(self, parked: PausedBindings) -> None:
        parked.pause(attempt(), "p", 10.0)
        with pytest.raises(InvariantError, match="paused already"):
            parked.pause(attempt(), "p", 20.0)
        assert parked.leave("p") is not None
        assert parked.leave("p") is None
        assert parked.get("p") is None
        parked.check_invariants()

    def test_it_notices_that_it_is_inconsistent(self, parked: PausedBindings) -> None:
        parked.pause(attempt(), "p", 10.0)
        parked._deadlines.clear()
        with pytest.raises(InvariantError):
            parked.check_invariants()


# ---- a plugin that waits in pre_bind ---------------------------------------------------------------------


class Provision:
    """What a plugin of a volume does: asks for it, waits until it is there."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.ready = False
        self.answer: Status | None = None
        self.seconds = 30.0

    def plugin(self, point: str = "pre_bind") -> type[Any]:
        """A plugin class of which every instance is this one."""

        def wait(plugin: Any, pod: Pod) -> Status | None:
            self.calls.append(pod.name)
            if self.answer is not None:
                return self.answer
            return None if self.ready else Status.wait(self.seconds, events=[NODE_ANY])

        def unreserve(plugin: Any, pod: Pod) -> None:
            self.calls.append(f"unreserve {pod.name}")

        return plugin_class("Provision", **{point: wait, "unreserve": unreserve})


@pytest.fixture(params=["inline", "manual"])
def executor(request: pytest.FixtureRequest) -> ManualExecutor | None:
    return ManualExecutor() if request.param == "manual" else None


def go(world: World) -> None:
    """Until nothing is left but waiting."""
    while True:
        busy = world.cycle() is not None
        executor = world.scheduler.core.executor
        if isinstance(executor, ManualExecutor) and len(executor):
            executor.finish_all()
            busy = True
        if not busy and not world.scheduler.core.inbox:
            return


@pytest.fixture
def provision() -> Provision:
    return Provision()


@pytest.fixture
def world(provision: Provision, executor: ManualExecutor | None) -> World:
    world = World({"Provision": provision.plugin()}, executor)
    world.create(make_node(), make_pod(cpu=1))
    go(world)
    assert world.where() == "parked"
    return world


class TestWaitingInPreBind:
    def test_it_goes_on_after_the_event(self, world: World, provision: Provision) -> None:
        provision.ready = True
        go(world)
        assert world.where() == "parked"
        world.create(make_node("other"))
        go(world)
        assert world.node_of() == "n"
        assert provision.calls == ["p", "p"]

    def test_it_goes_on_at_the_deadline(self, world: World, provision: Provision) -> None:
        assert world.scheduler.next_deadline() == world.clock() + 30
        provision.ready = True
        world.clock.advance(29.9)
        go(world)
        assert world.where() == "parked"
        world.clock.advance(0.1)
        go(world)
        assert world.node_of() == "n"

    def test_it_may_wait_again_and_again(self, world: World, provision: Provision) -> None:
        for _ in range(5):
            world.clock.advance(30)
            go(world)
            assert world.where() == "parked"
        assert provision.calls == ["p"] * 6
        assert world.scheduler.next_deadline() == world.clock() + 30

    def test_meanwhile_the_room_is_taken_and_where_it_goes_is_told(self, world: World) -> None:
        assert world.pod().status.nominated_node_name == "n"
        world.create(make_pod("large", cpu=4))
        go(world)
        assert world.where("large") == "unschedulable"

    def test_it_fails_in_the_end(self, world: World, provision: Provision) -> None:
        provision.answer = Status.unschedulable("no volume")
        world.clock.advance(30)
        go(world)
        # No event since binding began was kept, so it is time that brings the pod back.
        assert world.where() == "error_backoff"
        assert world.condition() == ("Unschedulable", "0/1 nodes are available: 1 no volume.")
        assert provision.calls[-1] == "unreserve p"
        assert world.pod().status.nominated_node_name == ""

    def test_the_pod_is_deleted(self, world: World, provision: Provision) -> None:
        world.delete("p")
        go(world)
        assert provision.calls == ["p", "unreserve p"]
        core = world.scheduler.core
        assert not core.binding
        assert not core.pending
        assert core.cache.pod_count == 0
        assert world.scheduler.next_deadline() is None

    @pytest.mark.parametrize("node", ["n", "elsewhere"])
    def test_somebody_else_places_the_pod(self, world: World, provision: Provision, node: str) -> None:
        world.cluster.update(world.pod().with_node_name(node))
        go(world)
        assert world.where() == "placed"
        assert provision.calls == ["p", "unreserve p"]
        assert not world.scheduler.core.binding
        assert [state.node_name for state in world.scheduler.core.cache.pods()] == [node]

    def test_the_pod_begins_to_terminate(self, world: World, provision: Provision) -> None:
        world.change_pod("p", finalizers=("test/held",))
        world.delete("p")
        go(world)
        assert world.where() == ""
        assert provision.calls == ["p", "unreserve p"]
        assert world.scheduler.core.cache.pod_count == 0


def test_bind_may_wait_too(provision: Provision) -> None:
    world = World({"Provision": provision.plugin("bind")}, only={"bind": ["Provision"]})
    world.create(make_node(), make_pod())
    world.settle()
    assert world.where() == "parked"
    provision.ready = True
    world.create(make_node("other"))
    world.settle()
    assert provision.calls == ["p", "p"]
    # The plugin says that it bound the pod, and nothing more was heard.
    assert world.where() == "assumed"


def test_an_event_between_the_look_and_the_wait_is_not_missed(provision: Provision) -> None:
    executor = ManualExecutor()
    world = World({"Provision": provision.plugin()}, executor)
    world.create(make_node(), make_pod())
    world.cycle()
    while executor.waiting:
        executor.run()
    world.create(make_node("other"))
    world.sync()
    provision.ready = True
    executor.finish_all()
    world.sync()
    assert world.where() == "binding"
    executor.finish_all()
    go(world)
    assert world.node_of() == "n"


def test_a_plugin_that_waits_for_no_time_at_all_does_not_stop_the_others(provision: Provision) -> None:
    provision.seconds = 0.0
    world = World({"Provision": provision.plugin()})
    world.create(make_node(), make_pod("a"), make_pod("b"))
    for _ in range(10):
        assert world.scheduler.step() == world.clock()
    assert {world.where("a"), world.where("b")} == {"parked"}
    provision.ready = True
    world.settle()
    assert world.node_of("a") == world.node_of("b") == "n"
