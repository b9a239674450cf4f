"""At the end binds may take the whole grace period; status writes are given up once none is answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from schedframe.cli.run.finishing import POLL_SECONDS, STATUS_SECONDS, finish_binds
from schedframe.testing import node, pod
from schedframe.testing.api_server import Fault

from .driven_world import DrivenWorld

GRACE = 8.0


@pytest.fixture
def world() -> Iterator[DrivenWorld]:
    world = DrivenWorld()
    world.server.create(node("n").allocatable(cpu="4"))
    world.scheduler.start()
    world.drive(1)
    yield world
    world.close()


def decide(world: DrivenWorld, *, fitting: int = 0, rejected: int = 0) -> None:
    """Create pods and let the scheduler decide about them; none of its requests is sent yet."""
    for i in range(fitting):
        world.server.create(pod(f"fits-{i}").requests(cpu="1"))
    for i in range(rejected):
        world.server.create(pod(f"rejected-{i}").requests(cpu="9"))
    world.loop.pump()
    while world.scheduler.schedule_one() is not None:
        pass


def seconds_to_end(world: DrivenWorld) -> float:
    """End, and return how long that took."""
    began = world.loop.time()
    finish_binds(world.scheduler, world.cluster, GRACE, clock=world.loop.time, sleep=world.loop.advance)
    return world.loop.time() - began


def reasons(world: DrivenWorld) -> list[str]:
    conditions = (each["status"].get("conditions", []) for each in world.server.list("Pod"))
    return [condition["reason"] for each in conditions for condition in each if "reason" in condition]


def test_status_writes_that_no_server_answers_are_given_up_soon(world: DrivenWorld) -> None:
    world.server.faults.add(Fault.hang(), "*", "pods/status", times=None)
    decide(world, rejected=3)
    assert len(world.scheduler.core.writes) == 3
    assert seconds_to_end(world) == pytest.approx(STATUS_SECONDS, abs=2 * POLL_SECONDS)


def test_status_writes_are_waited_for_while_they_are_answered(world: DrivenWorld) -> None:
    delays = [0.7, 1.4, 2.1]
    for seconds in delays:
        world.server.faults.add(Fault.delay(seconds), "*", "pods/status")
    decide(world, rejected=len(delays))
    assert seconds_to_end(world) == pytest.approx(delays[-1], abs=4 * POLL_SECONDS)
    assert reasons(world) == ["Unschedulable"] * len(delays)


def test_binds_get_the_grace_period_and_status_writes_beside_them(world: DrivenWorld) -> None:
    world.server.faults.add(Fault.hang(), "create", "pods/binding", times=None)
    world.server.faults.add(Fault.delay(3.0), "*", "pods/status", times=None)
    decide(world, fitting=1, rejected=1)
    assert seconds_to_end(world) == pytest.approx(GRACE, abs=2 * POLL_SECONDS)
    assert "Unschedulable" in reasons(world)
