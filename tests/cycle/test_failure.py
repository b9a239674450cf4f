"""A failed attempt: where the pod goes, what is written to the cluster, and that it is written once."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import ClusterError, OutcomeUnknown, Pod, PostFilterResult, Status
from schedframe.cycle.binding.pod_status import LONGEST_NOTE
from schedframe.framework import NominatingInfo

from .build import World, make_node, make_pod, plugin_class
from .executors import ManualExecutor


def patches_of(world: World) -> list[tuple[str | None, str | None]]:
    """A list to which every write about a pod is added: (message of the condition, nomination)."""
    found: list[tuple[str | None, str | None]] = []
    cluster = world.cluster
    patch = cluster.patch_pod_status

    def spy(pod: Pod, *, condition: Any = None, nominated_node_name: str | None = None) -> None:
        found.append((None if condition is None else condition.message, nominated_node_name))
        patch(pod, condition=condition, nominated_node_name=nominated_node_name)

    object.__setattr__(cluster, "patch_pod_status", spy)
    return found


def notes(world: World) -> list[str]:
    """The messages of the FailedScheduling events."""
    return [event.message for event in world.cluster.events if event.reason == "FailedScheduling"]


class TestNoNodeIsFeasible:
    def test_condition_and_event_say_why(self) -> None:
        world = World(only={"postFilter": []})
        world.create(make_node(cpu=1), make_node("other", unschedulable=True), make_pod(cpu=2, generation=7))
        world.settle()
        message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
        assert world.where() == "unschedulable"
        assert world.condition() == ("Unschedulable", message)
        assert notes(world) == [message]
        condition = world.pod().status.condition("PodScheduled")
        assert condition is not None
        assert (condition.status, condition.observed_generation) == ("False", 7)

    def test_post_filter_has_its_say(self) -> None:
        plugin = plugin_class(post_filter=lambda self: Status.unschedulable("no way"))
        world = World({"X": plugin}, only={"postFilter": ["X"]})
        world.create(make_node(cpu=1), make_pod(cpu=2))
        world.settle()
        assert world.condition() == (
            "Unschedulable",
            "0/1 nodes are available: 1 Insufficient cpu. no way",
        )

    def test_a_fault_of_post_filter_is_reported_and_the_pod_stays_unschedulable(self) -> None:
        plugin = plugin_class(post_filter=lambda self: Status.from_error("broken"))
        world = World({"X": plugin}, only={"postFilter": ["X"]})
        world.create(make_node(cpu=1), make_pod(cpu=2, nominated="gone"))
        world.settle()
        assert world.fault_plugins() == ["X"]
        assert world.where() == "unschedulable"
        assert world.pod().status.nominated_node_name == "gone"

    def test_without_nodes_it_is_tried_again_and_is_no_fault(self) -> None:
        world = World()
        world.create(make_pod(nominated="n"))
        world.settle()
        assert world.where() == "error_backoff"
        assert world.condition() == ("Unschedulable", "no nodes available to schedule pods")
        assert world.pod().status.nominated_node_name == ""
        assert not world.faults
        world.create(make_node())
        assert world.pass_time(2) == 1
        assert world.node_of() == "n"

    def test_a_long_message_is_cut_in_the_event_only(self) -> None:
        reason = "x" * 3000
        world = World({"X": plugin_class(filter=lambda self: Status.unschedulable(reason))})
        world.create(make_node(), make_pod())
        world.settle()
        condition = world.condition()
        assert condition is not None
        assert reason in condition[1]
        (note,) = notes(world)
        assert len(note) == LONGEST_NOTE
        assert note.endswith(" ...")


class TestTheChosenNodeDoesNotWork:
    @pytest.mark.parametrize("point", ["reserve", "permit", "pre_bind", "bind"])
    def test_a_rejection_is_worded_as_if_it_were_the_only_node(self, point: str) -> None:
        world = World(
            {"X": plugin_class(**{point: lambda self: Status.unschedulable("two", "one")})},
            only={"bind": ["X"]} if point == "bind" else {},
        )
        world.create(make_node(), make_node("other"), make_pod())
        world.settle()
        assert world.condition() == ("Unschedulable", "0/1 nodes are available: 1 one, 1 two.")
        assert not world.faults
        during_scheduling = point in ("reserve", "permit")
        assert world.where() == ("unschedulable" if during_scheduling else "error_backoff")

    @pytest.mark.parametrize("point", ["reserve", "permit", "pre_bind", "bind"])
    def test_an_error_is_a_fault_and_backs_off(self, point: str) -> None:
        world = World(
            {"X": plugin_class(**{point: lambda self: Status.from_error("broken")})},
            only={"bind": ["X"]} if point == "bind" else {},
        )
        world.create(make_node(), make_pod())
        world.settle()
        assert world.where() == "error_backoff"
        assert world.fault_plugins() == ["X"]
        condition = world.condition()
        assert condition is not None
        assert condition[0] == "SchedulerError"
        assert "broken" in condition[1]

    def test_a_pending_pod_comes_back_without_backoff(self) -> None:
        answers = iter([Status.pending("later")])
        world = World({"X": plugin_class(permit=lambda self: next(answers, None))})
        world.create(make_node(), make_pod())
        world.settle()
        info = world.scheduler.core.queue.get("default/p")
        assert info is not None
        assert (info.unschedulable_plugins, info.pending_plugins) == (frozenset(), frozenset({"X"}))
        world.create(make_node("other"))
        assert world.settle() == 1
        assert world.where() == "placed"

    def test_unreserve_runs_in_reverse_for_all_that_reserve(self) -> None:
        calls: list[str] = []

        def plugin(name: str, answer: Status | None) -> type[Any]:
            def reserve(self: Any) -> Status | None:
                calls.append(f"reserve {name}")
                return answer

            def unreserve(self: Any) -> None:
                calls.append(f"unreserve {name}")
                if name == "B":
                    raise RuntimeError("unreserve must not fail, and does")

            return plugin_class(name, reserve=reserve, unreserve=unreserve)

        rejection = Status.unschedulable("no")
        world = World({"A": plugin("A", None), "B": plugin("B", rejection), "C": plugin("C", None)})
        world.create(make_node(), make_pod())
        world.settle()
        assert calls == ["reserve A", "reserve B", "unreserve C", "unreserve B", "unreserve A"]
        assert world.fault_plugins() == ["B"]
        assert world.scheduler.core.cache.pod_count == 0
        assert world.where() == "unschedulable"


class TestWrites:
    def test_nothing_is_written_twice(self) -> None:
        world = World({"X": plugin_class(filter=lambda self: Status.unschedulable("no"))})
        patches = patches_of(world)
        world.create(make_node(), make_pod())
        world.settle()
        assert len(patches) == 1
        for _ in range(3):
            world.scheduler.core.queue.activate([world.pod()])
            assert world.settle() == 1
        assert len(patches) == 1
        assert len(notes(world)) == 4

    def test_what_the_scheduler_writes_wakes_no_pod(self) -> None:
        # A plugin that does not say what it waits for is asked about every event, also of the pod itself.
        count = iter(range(1000))
        plugin = plugin_class(filter=lambda self: Status.unschedulable(f"attempt {next(count)}"))
        world = World({"X": plugin})
        world.create(make_node(), make_pod())
        assert world.settle() == 1
        world.change_pod("p", labels={"changed": "by another client"})
        assert world.settle() == 1

    def test_the_transition_time_is_that_of_the_first_failure(self) -> None:
        reasons = iter(["a", "b"])
        world = World({"X": plugin_class(filter=lambda self: Status.unschedulable(next(reasons)))})
        world.create(make_node(), make_pod())
        start = world.clock()
        world.settle()
        world.clock.advance(10)
        world.scheduler.core.queue.activate([world.pod()])
        world.settle()
        condition = world.pod().status.condition("PodScheduled")
        assert condition is not None
        assert "1 b." in condition.message
        assert condition.last_transition_time == start

    @pytest.mark.parametrize("error", [ClusterError, OutcomeUnknown])
    def test_a_write_that_fails_is_reported_and_made_up_for(self, error: type[Exception]) -> None:
        world = World({"X": plugin_class(filter=lambda self: Status.unschedulable("no"))})
        world.create(make_node(), make_pod())
        world.cluster.fail_next("patch_pod_status", error)
        world.settle()
        assert [status.error.__class__ for status, _ in world.faults] == [error]
        assert world.condition() is None
        world.scheduler.core.queue.activate([world.pod()])
        world.settle()
        assert world.condition() is not None

    def test_an_event_that_cannot_be_recorded_stops_nothing(self) -> None:
        world = World()
        world.create(make_node(cpu=1), make_pod(cpu=2), make_pod("small"))
        world.cluster.fail_next("record_event", ClusterError)
        world.settle()
        assert world.node_of("small") == "n"
        assert world.condition() is not None

    def permit_timed_out(self) -> tuple[World, ManualExecutor]:
        """A pod whose wait in permit is over, with its first write under way."""
        executor = ManualExecutor()
        world = World({"X": plugin_class(permit=lambda self: Status.wait(10))}, executor)
        world.create(make_node(), make_pod())
        world.cycle()
        world.clock.advance(10)
        world.cycle()
        return world, executor

    def test_what_concerns_one_pod_is_written_in_order(self) -> None:
        world, executor = self.permit_timed_out()
        # The nomination is under way, so its withdrawal waits.
        assert len(executor) == 1
        executor.finish_all()
        world.sync()
        assert world.pod().status.nominated_node_name == "n"
        executor.finish_all()
        world.sync()
        assert world.pod().status.nominated_node_name == ""
        assert world.condition() is not None
        assert not world.scheduler.core.written

    def test_a_failed_write_does_not_hold_up_those_behind_it(self) -> None:
        world, executor = self.permit_timed_out()
        world.cluster.fail_next("patch_pod_status", ClusterError)
        for _ in range(2):
            executor.finish_all()
            world.sync()
        assert world.condition() is not None
        assert not world.scheduler.core.written


class TestNominations:
    def nominate(self, *answers: str | None) -> type[Any]:
        """A plugin that nominates to one node after another."""
        remaining = iter(answers)

        def post_filter(plugin: Any) -> PostFilterResult | Status:
            name = next(remaining, None)
            return PostFilterResult(NominatingInfo(name)) if name is not None else Status.unschedulable("no")

        return plugin_class(post_filter=post_filter)

    def world(self, *answers: str | None) -> World:
        return World({"X": self.nominate(*answers)}, only={"postFilter": ["X"]})

    def test_it_counts_at_once_and_is_written(self) -> None:
        world = self.world("n")
        world.create(make_node(cpu=1), make_pod(cpu=2))
        world.cycle()
        nominator = world.scheduler.core.queue.nominator
        assert [pod.name for pod in nominator.nominated_pods_for_node("n")] == ["p"]
        assert world.pod().status.nominated_node_name == "n"

    def test_no_answer_leaves_it_alone_and_an_empty_one_clears_it(self) -> None:
        world = self.world("n", None, "")
        world.create(make_node(cpu=1), make_pod(cpu=2))
        for wanted in ("n", "n", ""):
            world.settle()
            assert world.pod().status.nominated_node_name == wanted
            assert len(world.scheduler.core.queue.nominator) == bool(wanted)
            world.scheduler.core.queue.activate([world.pod()])

    def test_without_post_filter_plugins_it_is_cleared(self) -> None:
        world = World(only={"postFilter": []})
        world.create(make_node(cpu=1), make_pod(cpu=2, nominated="n"))
        world.settle()
        assert world.pod().status.nominated_node_name == ""
        assert not world.scheduler.core.queue.nominator

    @pytest.mark.parametrize("point", ["filter", "score", "reserve", "permit", "pre_bind"])
    def test_a_failure_clears_it(self, point: str) -> None:
        def fail(plugin: Any) -> None:
            raise RuntimeError("no")

        world = World({"X": plugin_class(**{point: fail})})
        world.create(make_node(cpu=1), make_node("b"), make_node("c"), make_pod(cpu=2, nominated="n"))
        world.settle()
        assert world.pod().status.nominated_node_name == ""
        assert not world.scheduler.core.queue.nominator

    def test_a_pod_that_waits_says_where_until_it_is_turned_down(self) -> None:
        world = World({"X": plugin_class(permit=lambda self: Status.wait(10))})
        world.create(make_node(), make_pod())
        world.settle()
        assert world.pod().status.nominated_node_name == "n"
        world.pass_time(10)
        assert world.pod().status.nominated_node_name == ""
        assert not world.scheduler.core.queue.nominator


class TestThePodIsNotThereAnyMore:
    def waiting_world(self) -> World:
        world = World({"X": plugin_class(permit=lambda self: Status.wait(10))})
        world.create(make_node(), make_pod())
        world.settle()
        assert world.where() == "waiting"
        return world

    def test_a_deleted_pod_is_done(self) -> None:
        world = self.waiting_world()
        world.delete("p")
        world.clock.advance(10)
        world.settle()
        core = world.scheduler.core
        assert (len(core.queue), len(core.queue.in_flight), core.cache.pod_count) == (0, 0, 0)
        assert not core.binding
        assert not notes(world)

    def test_its_namesake_is_not_told_of_its_failure(self) -> None:
        executor = ManualExecutor()
        world = World(executor=executor)
        world.create(make_node(), make_pod())
        world.cycle()
        world.delete("p")
        world.create(make_pod(gates=("held",)))
        world.sync()
        executor.finish_all()
        world.sync()
        assert world.condition() is None
        assert world.where() == "gated"
        assert not notes(world)

    def test_a_terminating_pod_is_done(self) -> None:
        world = self.waiting_world()
        world.change_pod("p", finalizers=("test/held",))
        world.delete("p")
        world.settle()
        assert world.where() == ""
        assert len(world.scheduler.core.queue.in_flight) == 0
        assert world.scheduler.core.cache.pod_count == 0
        world.change_pod("p", finalizers=())
        world.settle()
        assert not world.scheduler.core.pending
