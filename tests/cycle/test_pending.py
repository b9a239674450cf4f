"""What is every pod waiting for: one call."""

from __future__ import annotations

from schedframe import InMemoryCluster, Scheduler, VirtualClock

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
