"""The messages that reach the core: a closed set of values."""

from __future__ import annotations

from typing import get_args

from schedframe import InMemoryCluster, Scheduler
from schedframe.cycle.messages import Message
from schedframe.fork.dry_run import dry_run

from .build import World, make_node, make_pod
from .executors import ManualExecutor


def test_each_type_of_message_has_a_handler_and_there_are_no_others() -> None:
    with Scheduler(InMemoryCluster(), feature_gates={"GenericWorkload": True}) as scheduler:
        assert set(scheduler.core.inbox.handlers) == set(get_args(Message))


def test_an_outcome_that_comes_during_a_dry_run_is_not_lost() -> None:
    executor = ManualExecutor()
    world = World(executor=executor)
    world.create(make_node("a"), make_pod("p"))
    assert world.scheduler.schedule_one() is not None
    assert world.scheduler.binds_under_way() == 1
    with dry_run(world.scheduler.core):
        executor.finish_all()
    world.scheduler.sync()
    assert world.scheduler.binds_under_way() == 0
