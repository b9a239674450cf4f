"""The ways in which bindings are known to have gone wrong, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from schedframe import (
    Action,
    BindRefused,
    ClusterError,
    ClusterEvent,
    EventRegistration,
    EventResource,
    OutcomeUnknown,
    Status,
)

from .build import World, make_node, make_pod, plugin_class
from .executors import ManualExecutor
from .flaky import assert_agrees, flaky_world


def test_assumed_pod_expired_too_early() -> None:
    # The time of an assumption begins when binding is over, however long that took.
    executor = ManualExecutor()
    world, watch = flaky_world(executor=executor, options={"assume_ttl": 5.0})
    world.create(make_node(cpu=2), make_pod(cpu=2))
    watch.deliver()
    world.cycle()
    world.clock.advance(1000)
    world.cycle()
    assert world.where() == "binding"
    executor.finish_all()
    world.sync()
    assert world.where() == "assumed"
    world.clock.advance(4.9)
    world.cycle()
    assert world.where() == "assumed"
    watch.deliver()
    world.clock.advance(1000)
    world.cycle()
    assert_agrees(world)


def test_an_assumption_that_expires_for_good_gives_the_pod_back() -> None:
    # A bind plugin that says that it bound the pod and did not.
    plugin = plugin_class(bind=lambda self: None)
    world = World({"Liar": plugin}, only={"bind": ["Liar"]}, options={"assume_ttl": 5.0})
    world.create(make_node(cpu=2), make_pod(cpu=2))
    world.settle()
    assert world.where() == "assumed"
    world.clock.advance(5)
    assert world.cycle() is not None
    assert world.where() == "assumed"


@pytest.mark.parametrize("took_effect", [True, False])
@pytest.mark.parametrize("answers_later", [True, False])
@pytest.mark.parametrize("event_comes", [True, False])
def test_bind_with_unknown_outcome(took_effect: bool, answers_later: bool, event_comes: bool) -> None:
    world, watch = flaky_world()
    world.create(make_node(cpu=2), make_pod(cpu=2))
    watch.deliver()
    world.cluster.fail_next("bind", OutcomeUnknown("no answer"), applied=took_effect)
    if not answers_later:
        world.cluster.fail_next("get", ClusterError("down"), times=2)
    world.settle()
    assert world.node_of() == ("n" if took_effect else "")
    if not answers_later:
        # The outcome is not known: the room stays taken until it is.
        assert world.where() == "parked"
        assert world.scheduler.core.cache.table.requested("cpu")[0] == 2000
        if event_comes:
            watch.deliver()
        world.pass_time(1.0)
        world.pass_time(2.0)
        assert world.where() != "parked"
    watch.deliver()
    world.settle()
    watch.deliver()
    world.pass_time(3)
    watch.deliver()
    world.settle()
    assert world.node_of() == "n"
    assert_agrees(world)
    assert world.scheduler.next_deadline() is None


def test_bind_without_a_uid_precondition_that_binds_a_namesake() -> None:
    executor = ManualExecutor()
    world = World(executor=executor)
    world.create(make_node(), make_pod())
    world.cycle()
    world.delete("p")
    world.create(make_pod(gates=("held",)))
    executor.finish_all()
    world.settle()
    assert world.node_of() == ""
    assert world.where() == "gated"
    assert world.scheduler.core.cache.pod_count == 0


def test_bind_refused() -> None:
    world = World()
    world.create(make_node(cpu=2), make_pod(cpu=2), make_pod("next", cpu=2))
    world.cluster.fail_next("bind", BindRefused("no"))
    world.settle()
    # Its room was free at once, and the next one took it.
    assert world.where() == "error_backoff"
    assert world.node_of("next") == "n"


def test_the_room_of_a_failed_binding_helps_those_that_wait_for_it() -> None:
    def nodes(self: Any) -> Sequence[EventRegistration]:
        return (EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD)),)

    answers = iter([Status.wait(10)])
    world = World({"X": plugin_class(permit=lambda self: next(answers, None), events_to_register=nodes)})
    world.create(make_node(cpu=2), make_pod(cpu=2))
    world.settle()
    world.create(make_pod("next", cpu=2))
    world.settle()
    assert world.where("next") == "unschedulable"
    world.clock.advance(10)
    world.settle()
    world.pass_time(2)
    assert world.node_of("next") == "n"


@pytest.mark.parametrize("bound", [True, False])
def test_the_room_of_a_pod_that_is_deleted_while_it_is_bound_helps_those_that_wait_for_it(
    bound: bool,
) -> None:
    # The cluster never shows the deleted pod with a node, and yet it held room on one.
    executor = ManualExecutor()
    world, watch = flaky_world(executor=executor)
    world.create(make_node(cpu=2), make_pod(cpu=2))
    watch.deliver()
    world.cycle()
    world.create(make_pod("next", cpu=2))
    watch.deliver()
    world.cycle()
    assert world.where("next") == "unschedulable"
    if bound:
        executor.finish_all()
        world.sync()
        assert world.where() == "assumed"
    world.delete("p")
    watch.relist()
    world.sync()
    executor.finish_all()
    world.clock.advance(2)
    world.cycle()
    assert world.where("next") == "binding"


def test_node_gone_between_selection_and_bind() -> None:
    executor = ManualExecutor()
    world = World(executor=executor)
    world.create(make_node(), make_pod())
    world.cycle()
    world.cluster.delete(make_node())
    world.sync()
    executor.finish_all()
    world.settle()
    # The cluster bound it to the name; the controller that removes pods of lost nodes deletes it.
    assert world.node_of() == "n"
    assert_agrees(world)
    world.delete("p")
    world.settle()
    assert world.scheduler.core.cache.table.size == 1
    assert world.scheduler.core.cache.pod_count == 0
    assert world.scheduler.core.cache.table.row_of("n") is None
