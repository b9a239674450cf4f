"""What is every pod waiting for: one call."""

from __future__ import annotations

import pytest

from schedframe import (
    Action,
    ClusterEvent,
    EventResource,
    InMemoryCluster,
    Profile,
    Scheduler,
    Simulation,
    Status,
    VirtualClock,
)

from .build import plugin_class
from .executors import ManualExecutor

NODE = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "1", "pods": "3"}}}


def pod(name: str, cpu: str = "100m", **spec: object) -> dict[str, object]:
    requests = {"cpu": cpu}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **spec},
    }


def scheduler_with(*pods: dict[str, object]) -> tuple[Scheduler, VirtualClock]:
    clock = VirtualClock()
    cluster = InMemoryCluster([NODE], clock=clock)
    scheduler = Scheduler(cluster, clock=clock, seed=0)
    for each in pods:
        cluster.create(each)
    scheduler.run_until_idle()
    return scheduler, clock


def test_pods_are_listed_by_pool_with_reasons_and_wake_up() -> None:
    scheduler, clock = scheduler_with(
        pod("big", "4"), pod("held", schedulingGates=[{"name": "quota"}]), pod("ok")
    )
    clock.advance(10)
    pools = scheduler.pending().to_dict()
    assert set(pools) == {"unschedulable", "gated"}
    (big,) = pools["unschedulable"]
    assert big["pod"] == "ns/big"
    assert big["rejected_by"] == ["NodeResourcesFit"]
    assert big["since_s"] == 10.0
    assert big["wakes_in_s"] == 290.0
    assert "1 Insufficient cpu" in big["message"]
    (held,) = pools["gated"]
    assert held["gated_by"] == "SchedulingGates"
    assert held["wakes_in_s"] is None


def test_it_is_a_sequence_and_a_table() -> None:
    scheduler, _ = scheduler_with(pod("big", "4"))
    pending = scheduler.pending()
    assert len(pending) == 1
    assert [each.key for each in pending] == [pending[0].key] == ["ns/big"]
    head, row = str(pending).splitlines()
    assert head.split()[:3] == ["pod", "pool", "attempts"]
    assert row.split()[:4] == ["ns/big", "unschedulable", "1", "NodeResourcesFit"]


def test_nothing_waits() -> None:
    scheduler, _ = scheduler_with(pod("ok"))
    assert not scheduler.pending()
    assert scheduler.pending().to_dict() == {}


PERMIT_AND_PRE_BIND = {
    "permit": (lambda self: Status.wait(60), "waits in permit for Slow, at most 50.0 s more; its node is n1"),
    "pre_bind": (
        lambda self: Status.wait(60, events=[ClusterEvent(EventResource.NODE, Action.ADD)]),
        "waits in pre_bind of Slow, at most 50.0 s more; its node is n1",
    ),
}


@pytest.mark.parametrize("hook", PERMIT_AND_PRE_BIND)
def test_a_pod_in_permit_or_pre_bind_says_so(hook: str) -> None:
    answer, message = PERMIT_AND_PRE_BIND[hook]
    clock = VirtualClock()
    cluster = InMemoryCluster([NODE, pod("p")], clock=clock)
    scheduler = Scheduler(cluster, clock=clock, plugins=[plugin_class("Slow", **{hook: answer})])
    scheduler.run_until_idle()
    clock.advance(10)
    pending = scheduler.pending()
    (waiting,) = pending.to_dict()["in_flight"]
    assert waiting["message"] == message
    assert waiting["wakes_in_s"] == 50.0
    assert message in str(pending)


def test_a_pod_that_is_being_bound_says_so() -> None:
    cluster = InMemoryCluster([NODE, pod("p")])
    executor = ManualExecutor()
    scheduler = Scheduler(cluster, executor=executor)
    scheduler.schedule_one()
    (waiting,) = scheduler.pending().to_dict()["in_flight"]
    assert waiting["message"] == "is being bound to node n1"
    assert waiting["wakes_in_s"] is None


def test_a_placement_says_what_its_pod_waits_for() -> None:
    with Simulation(
        [NODE], plugins=[plugin_class("Slow", permit=lambda self: Status.wait(60))]
    ) as simulation:
        (placement,) = simulation.schedule([pod("p")])
    assert placement.message == "the pod waits in permit for Slow, at most 60.0 s more; its node is n1"


def test_a_bind_that_the_cluster_does_not_know_of_says_so() -> None:
    forgetful = plugin_class("Forgetful", bind=lambda self: None)
    with Simulation([NODE], Profile().disable("DefaultBinder"), plugins=[forgetful]) as simulation:
        (placement,) = simulation.schedule([pod("p")])
    assert placement.message == "the pod was bound to node n1, which the cluster has not confirmed"
