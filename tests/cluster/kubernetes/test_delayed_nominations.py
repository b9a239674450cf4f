"""The node of a pod that is being bound: in its status once the pod has waited for a while, not before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any, ClassVar

import msgspec
import pytest
from attrs import define

from schedframe import Handle, Pod, Status, hookimpl
from schedframe.cluster.kubernetes.cluster import NOMINATION_DELAY
from schedframe.cluster.kubernetes.fence import Fence
from schedframe.cycle.binding.pod_status import write_delayed_nominations
from schedframe.testing import node, pod
from schedframe.testing.api_server import Fault

from .driven_world import EPOCH, DrivenWorld, node_of

Make = Callable[..., DrivenWorld]


@define(eq=False)
class Slow:
    """pre_bind waits until the moment in an annotation of the pod, and then fails if another one says so."""

    returns_at_once: ClassVar[bool] = True

    handle: Handle

    @hookimpl
    def pre_bind(self, pod: Pod) -> Status | None:
        until = float(pod.metadata.annotations["until"]) + EPOCH
        now = self.handle.clock()
        if now < until:
            return Status.wait(until - now)
        return Status.unschedulable("no volume") if "fails" in pod.metadata.annotations else None


@pytest.fixture
def make() -> Iterator[Make]:
    worlds: list[DrivenWorld] = []

    def made(fence: Fence | None = None) -> DrivenWorld:
        world = DrivenWorld(plugins=[Slow], fence=fence)
        worlds.append(world)
        for name in ("n1", "n2"):
            world.server.create(node(name).allocatable(cpu="2"))
        world.scheduler.start()
        world.drive(1)
        return world

    yield made
    for world in worlds:
        world.close()


@pytest.fixture
def world(make: Make) -> DrivenWorld:
    return make()


def create(world: DrivenWorld, name: str, seconds: float, *, nominated: str = "", **annotations: str) -> None:
    """Create a pod whose pre_bind takes so long."""
    until = str(world.loop.time() + seconds)
    manifest: dict[str, Any] = dict(pod(name).requests(cpu="1"))
    manifest["metadata"] = {**manifest["metadata"], "annotations": {"until": until, **annotations}}
    if nominated:
        manifest["status"] = {"nominatedNodeName": nominated}
    world.server.create(manifest)


def patches(world: DrivenWorld) -> list[Any]:
    """The status patches so far."""
    sent = [each.body for each in world.server.requests if each.resource == "pods/status"]
    return [
        msgspec.json.decode(each)["status"] if isinstance(each, bytes) else each["status"] for each in sent
    ]


def test_a_pod_that_is_bound_soon_costs_no_patch(world: DrivenWorld) -> None:
    create(world, "p", NOMINATION_DELAY - 0.1)
    world.drive(2 * NOMINATION_DELAY)
    assert node_of(world.pods()["p"])
    assert patches(world) == []
    assert not world.scheduler.core.timers.actions
    world.check_quiet()


def test_a_pod_that_waits_longer_shows_its_node(world: DrivenWorld) -> None:
    create(world, "p", 3 * NOMINATION_DELAY)
    world.drive(NOMINATION_DELAY - 0.1)
    assert patches(world) == []
    world.drive(0.2)
    (patch,) = patches(world)
    assert set(patch) == {"nominatedNodeName"}
    assert world.pods()["p"]["status"]["nominatedNodeName"] == patch["nominatedNodeName"]
    world.drive(3 * NOMINATION_DELAY)
    assert node_of(world.pods()["p"]) == patch["nominatedNodeName"]
    assert len(patches(world)) == 1
    world.check_quiet()


def test_each_pod_waits_for_itself_and_one_timer_serves_all(world: DrivenWorld) -> None:
    create(world, "early", 3 * NOMINATION_DELAY)
    world.drive(1)
    create(world, "quick", 0.5)
    create(world, "late", 3 * NOMINATION_DELAY)
    world.drive(NOMINATION_DELAY - 0.9)
    assert len(world.scheduler.core.timers.actions) == 1
    assert [name for name, each in world.pods().items() if "nominatedNodeName" in each["status"]] == ["early"]
    world.drive(1)
    assert len(patches(world)) == 2
    assert "nominatedNodeName" in world.pods()["late"]["status"]
    world.drive(3 * NOMINATION_DELAY)
    assert all(node_of(each) for each in world.pods().values())


def test_a_pod_that_fails_soon_gets_its_condition_and_no_nomination(world: DrivenWorld) -> None:
    create(world, "p", 0.4 * NOMINATION_DELAY, fails="")
    world.drive(0.4 * NOMINATION_DELAY + 0.5)
    (patch,) = patches(world)
    assert [each["type"] for each in patch["conditions"]] == ["PodScheduled"]
    assert "nominatedNodeName" not in patch


def test_a_pod_that_fails_late_loses_its_nomination_with_its_condition(world: DrivenWorld) -> None:
    create(world, "p", NOMINATION_DELAY + 2, fails="")
    world.drive(NOMINATION_DELAY + 2.5)
    nominating, failing = patches(world)
    assert nominating["nominatedNodeName"]
    assert failing["nominatedNodeName"] is None
    assert [each["type"] for each in failing["conditions"]] == ["PodScheduled"]


def test_a_nomination_that_stands_there_is_replaced_at_once(world: DrivenWorld) -> None:
    """Others count on it."""
    world.server.create(pod("full").requests(cpu="2").on_node("n1"))
    world.drive(1)
    create(world, "p", 3 * NOMINATION_DELAY, nominated="n1")
    world.drive(0.5)
    assert patches(world) == [{"nominatedNodeName": "n2"}]


def test_a_bind_under_way_puts_it_off_once(world: DrivenWorld) -> None:
    """The answer may come any moment; a bind that hangs is no short one."""
    world.server.faults.add(Fault.hang(), "create", "pods/binding", times=None)
    create(world, "p", NOMINATION_DELAY - 1)
    world.drive(2 * NOMINATION_DELAY - 0.1)
    assert patches(world) == []
    world.drive(0.2)
    assert [set(each) for each in patches(world)] == [{"nominatedNodeName"}]


def test_a_pod_that_comes_again_has_no_nomination_of_its_former_attempt(world: DrivenWorld) -> None:
    create(world, "p", 3 * NOMINATION_DELAY)
    world.drive(NOMINATION_DELAY - 1)
    world.server.delete("Pod", "default/p")
    create(world, "p", 3 * NOMINATION_DELAY)
    world.drive(NOMINATION_DELAY - 0.1)
    assert patches(world) == []
    world.drive(0.2)
    assert len(patches(world)) == 1


def test_the_end_writes_what_the_next_scheduler_must_know(world: DrivenWorld) -> None:
    create(world, "p", 1000.0)
    world.drive(1)
    assert patches(world) == []
    write_delayed_nominations(world.scheduler.core)
    world.drive(0.1)
    assert [set(each) for each in patches(world)] == [{"nominatedNodeName"}]


def test_nothing_is_written_after_the_fence(make: Make) -> None:
    fence = Fence(clock=lambda: 0.0)
    fence.extend(inf)
    world = make(fence)
    create(world, "p", 1000.0)
    world.drive(1)
    fence.close()
    world.drive(2 * NOMINATION_DELAY)
    assert patches(world) == []
    assert fence.refused
    create(world, "q", 1000.0)
    write_delayed_nominations(world.scheduler.core)
    world.drive(1)
    assert patches(world) == []


def test_without_a_delay_it_is_written_at_once(world: DrivenWorld) -> None:
    world.scheduler.core.delayed_nominations.delay = 0.0
    create(world, "p", 3 * NOMINATION_DELAY)
    world.drive(0.2)
    assert len(patches(world)) == 1
