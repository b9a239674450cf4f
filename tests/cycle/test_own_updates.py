"""Events that show what the scheduler wrote itself cause no attempt."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from schedframe import Status
from schedframe.cycle.binding.pod_status import WRITES_KEPT

from .build import make_node, make_pod, plugin_class
from .flaky import flaky_world


def rejecting() -> Any:
    """A plugin that rejects every node, each time for another reason."""
    numbers = count(1)
    return plugin_class(filter=lambda self: Status.unschedulable(f"reason {next(numbers)}"))


@pytest.mark.parametrize("attempts", [1, 2, 3, WRITES_KEPT])
def test_writes_that_follow_one_another_before_any_event_arrives(attempts: int) -> None:
    world, watch = flaky_world(plugins={"Rejects": rejecting()})
    core = world.scheduler.core
    world.create(make_node(), make_pod())
    watch.deliver()
    world.settle()
    for _ in range(attempts - 1):
        core.queue.activate(core.pending.values())
        world.settle()
    assert len(watch.pending) == attempts
    cycles = 0
    for _ in range(attempts):
        watch.deliver(1)
        world.clock.advance(11.0)
        cycles += world.settle()
    assert cycles == 0
    assert not core.written


def test_what_others_write_in_between_is_no_own_update() -> None:
    world, watch = flaky_world(plugins={"Rejects": rejecting()})
    core = world.scheduler.core
    world.create(make_node(), make_pod())
    watch.deliver()
    world.settle()
    world.change_pod("p", labels={"a": "b"})
    core.queue.activate(core.pending.values())
    world.settle()
    cycles = []
    for _ in range(3):
        watch.deliver(1)
        world.clock.advance(11.0)
        cycles.append(world.settle())
    assert cycles == [0, 1, 0]


def test_few_statuses_are_kept_while_no_event_arrives() -> None:
    world, watch = flaky_world(plugins={"Rejects": rejecting()})
    core = world.scheduler.core
    world.create(make_node(), make_pod())
    watch.deliver()
    for _ in range(2 * WRITES_KEPT):
        world.settle()
        core.queue.activate(core.pending.values())
    (statuses,) = core.written.values()
    assert len(statuses) == WRITES_KEPT
