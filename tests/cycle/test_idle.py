"""The scheduler becomes idle although attempts that fail after assume set each other's pods free."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from schedframe import InMemoryCluster, Pod, Scheduler, Status, VirtualClock, hookimpl
from schedframe.queue import Pool
from tests.configurations import configuration, enabling

MOST_CYCLES = 100


class Gate:
    """Rejects every pod at one point, behind assume. Each test has a subclass, which it may open."""

    point: ClassVar[str]
    answer: ClassVar[Status] = Status.unschedulable("closed")
    open: ClassVar[bool] = False

    @hookimpl
    def permit(self) -> Status | None:
        if self.point != "permit":
            return None
        return None if self.open else Status.wait(0.0)

    @hookimpl
    def pre_bind(self) -> Status | None:
        return self._answer("pre_bind")

    @hookimpl
    def bind(self) -> Status | None:
        return self._answer("bind") or Status.skip()

    def _answer(self, point: str) -> Status | None:
        return self.answer if self.point == point and not self.open else None


def gate_at(point: str, answer: Status = Gate.answer) -> type[Gate]:
    return type("Gate", (Gate,), {"point": point, "answer": answer})


def scheduler_with(gate: type[Gate], pods: int) -> tuple[InMemoryCluster, Scheduler, VirtualClock]:
    clock = VirtualClock()
    multi_point = {"enabled": [{"name": "Gate"}]}
    bind = {"enabled": [{"name": "Gate"}, {"name": "DefaultBinder"}], "disabled": [{"name": "*"}]}
    config = configuration({"plugins": {"multiPoint": multi_point, "bind": bind}})
    cluster = InMemoryCluster(clock=clock)
    scheduler = Scheduler(cluster, config, plugins={"Gate": gate}, clock=clock)
    cluster.create(node("n"))
    for number in range(pods):
        cluster.create({"kind": "Pod", "metadata": {"name": f"p{number}"}})
    return cluster, scheduler, clock


def node(name: str) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}}


def cycles_until_idle(scheduler: Scheduler) -> int:
    for cycle in range(MOST_CYCLES):
        if scheduler.schedule_one() is None:
            return cycle
    raise AssertionError(f"not idle after {MOST_CYCLES} cycles without any time passing")


@pytest.mark.parametrize("pods", [2, 3, 7])
@pytest.mark.parametrize("point", ["permit", "pre_bind", "bind"])
def test_pods_rejected_behind_assume_do_not_wake_each_other_without_end(point: str, pods: int) -> None:
    _, scheduler, _ = scheduler_with(gate_at(point), pods)
    assert cycles_until_idle(scheduler) <= 2 * pods
    assert Pool.ACTIVE not in {pod.pool for pod in scheduler.pending()}
    scheduler.core.queue.check_invariants()


@pytest.mark.parametrize("point", ["pre_bind", "bind"])
def test_nor_do_pods_that_are_pending(point: str) -> None:
    _, scheduler, _ = scheduler_with(gate_at(point, Status.pending("later")), 3)
    assert cycles_until_idle(scheduler) <= 6


@pytest.mark.parametrize("point", ["permit", "pre_bind", "bind"])
def test_they_are_tried_again_after_their_backoff(point: str) -> None:
    cluster, scheduler, clock = scheduler_with(gate := gate_at(point), 2)
    cycles_until_idle(scheduler)
    gate.open = True
    clock.advance(60)
    cycles_until_idle(scheduler)
    bound = [pod.name for pod in cluster.list("Pod") if pod.spec.node_name]
    assert bound  # at least the pod that the other one's roll-back woke; the placement wakes the rest
    clock.advance(600)
    cycles_until_idle(scheduler)
    assert all(pod.spec.node_name for pod in cluster.list("Pod"))


def test_an_event_of_the_cluster_lets_them_leave_backoff_early() -> None:
    cluster, scheduler, _ = scheduler_with(gate := gate_at("permit"), 2)
    cycles_until_idle(scheduler)
    gate.open = True
    cluster.create(node("m"))
    cycles_until_idle(scheduler)
    assert all(pod.spec.node_name for pod in cluster.list("Pod"))


class Holds:
    """Lets pods named "holder" wait in permit for ten minutes."""

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return Status.wait(600.0) if pod.name == "holder" else None


def test_a_roll_back_frees_room_at_once_for_a_pod_that_was_tried_while_the_room_was_taken() -> None:
    clock = VirtualClock()
    cluster = InMemoryCluster(clock=clock)
    config = configuration(enabling("Holds"))
    scheduler = Scheduler(cluster, config, plugins={"Holds": Holds}, clock=clock)
    cluster.create(node("n"))
    for name in ("holder", "late"):
        container = {"name": "c", "resources": {"requests": {"cpu": "3"}}}
        cluster.create({"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}})
    cycles_until_idle(scheduler)
    (waiting,) = scheduler.core.waiting
    waiting.reject("Holds", "enough")
    cycles_until_idle(scheduler)
    late = cluster.get("Pod", "default/late")
    assert late is not None
    assert late.spec.node_name == "n"
