"""Decisions wait while a remote cluster reports that its view is stale."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import InMemoryCluster, Scheduler, Status, VirtualClock, hookimpl
from schedframe.cluster import ViewChange
from schedframe.cycle.runtime.executors import InlineExecutor
from schedframe.metrics import SchedulerMetrics
from schedframe.testing import node, pod

from .test_remote_cluster import Remote

STALE = ViewChange({"Node": "503"}, True)
GIVEN_UP = ViewChange({"Node": "503"}, False)
CURRENT = ViewChange({}, False)


class Waits:
    @hookimpl
    def permit(self) -> Status:
        return Status.wait(100.0)


class Pauses:
    """Lets each pod wait once in pre_bind."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    @hookimpl
    def pre_bind(self, pod: Any) -> Status | None:
        if pod.name in self.seen:
            return None
        self.seen.add(pod.name)
        return Status.wait(5.0)


def scheduler_of(cluster: Remote, **options: Any) -> Scheduler:
    """Return a scheduler that binds in its own thread."""
    scheduler = Scheduler(cluster, executor=InlineExecutor(), clock=VirtualClock(), **options)
    scheduler.start()
    return scheduler


def remote(*names: str) -> Remote:
    cluster = Remote()
    for name in names:
        cluster.create(node(name).allocatable(cpu="4", pods="10"))
    return cluster


def report(cluster: Remote, change: ViewChange) -> None:
    assert cluster.on_view_change is not None
    cluster.on_view_change(change)


def test_no_pod_is_popped_and_nothing_spins() -> None:
    cluster = remote("n1")
    with scheduler_of(cluster) as scheduler:
        report(cluster, STALE)
        cluster.create(pod("p"))
        assert scheduler.schedule_one() is None
        assert scheduler.step() is None
        assert [each.attempts for each in scheduler.pending()] == [0]
        assert "pods wait for a current view (Node for 0.0 s: 503)" in str(scheduler.pending())
        report(cluster, CURRENT)
        assert scheduler.run_until_idle() == 1


def test_a_run_until_idle_waits_for_a_current_view(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = remote("n1")
    waits = Scheduler._wait

    def becomes_current(scheduler: Scheduler, *args: Any) -> None:
        report(cluster, CURRENT)
        waits(scheduler, *args)

    monkeypatch.setattr(Scheduler, "_wait", becomes_current)
    with scheduler_of(cluster) as scheduler:
        report(cluster, STALE)
        assert scheduler.run_until_idle() == 0
        cluster.create(pod("p"))
        assert scheduler.run_until_idle() == 1
        assert cluster.list("Pod")[0].node_name == "n1"


def test_the_change_counts_behind_the_events_before_it() -> None:
    """The node goes in the same batch that makes the view current."""
    cluster = remote("n1", "n2")
    with scheduler_of(cluster) as scheduler:
        report(cluster, STALE)
        cluster.create(pod("p"))
        scheduler.sync()
        cluster.delete(cluster.list("Node")[0])
        report(cluster, CURRENT)
        scheduler.run_until_idle()
        assert cluster.list("Pod")[0].node_name == "n2"


@pytest.mark.parametrize("order", ["allowed first", "node first"])
@pytest.mark.parametrize("again", [False, True], ids=["gone", "replaced"])
def test_an_attempt_for_a_node_that_goes_ends(order: str, again: bool) -> None:
    cluster = remote("n1")
    with scheduler_of(cluster, plugins={"Waits": Waits()}) as scheduler:
        cluster.create(pod("p"))
        scheduler.run_until_idle()
        (waiting,) = scheduler.core.waiting
        report(cluster, STALE)
        if order == "allowed first":
            waiting.allow("Waits")
        cluster.delete(cluster.list("Node")[0])
        if again:
            cluster.create(node("n1").allocatable(cpu="4", pods="10"))
        if order == "node first":
            waiting.allow("Waits")
        scheduler.sync()
        report(cluster, CURRENT)
        scheduler.sync()
        assert not cluster.bind_threads
        assert not scheduler.core.binding
        assert len(scheduler.pending()) == 1
        scheduler.core.paused.check_invariants()


def test_a_pause_that_ends_during_the_hold_is_held() -> None:
    cluster = remote("n1")
    clock = VirtualClock()
    with Scheduler(cluster, executor=InlineExecutor(), clock=clock, plugins={"P": Pauses()}) as scheduler:
        cluster.create(pod("p"))
        scheduler.run_until_idle()
        report(cluster, STALE)
        clock.advance(6)
        scheduler.run_until_idle()
        assert not cluster.bind_threads
        assert len(scheduler.core.paused) == 1
        assert scheduler.next_deadline() is None
        report(cluster, GIVEN_UP)
        scheduler.run_until_idle()
        assert cluster.list("Pod")[0].node_name == "n1"


def test_a_held_pod_that_is_deleted_gives_its_room_back() -> None:
    cluster = remote("n1")
    with scheduler_of(cluster, plugins={"Waits": Waits()}) as scheduler:
        cluster.create(pod("p").requests(cpu="4"))
        scheduler.run_until_idle()
        report(cluster, STALE)
        next(iter(scheduler.core.waiting)).allow("Waits")
        scheduler.sync()
        cluster.delete(cluster.list("Pod")[0])
        cluster.create(pod("q").requests(cpu="4"))
        report(cluster, CURRENT)
        scheduler.run_until_idle()
        assert [each.pod.name for each in scheduler.core.waiting] == ["q"]
        assert not cluster.bind_threads


def test_an_attempt_on_a_node_that_only_changes_goes_on() -> None:
    cluster = remote("n1")
    with scheduler_of(cluster, plugins={"Waits": Waits()}) as scheduler:
        cluster.create(pod("p"))
        scheduler.run_until_idle()
        cluster.apply(node("n1").allocatable(cpu="8", pods="10"))
        scheduler.run_until_idle()
        next(iter(scheduler.core.waiting)).allow("Waits")
        scheduler.run_until_idle()
        assert cluster.list("Pod")[0].node_name == "n1"


def test_metrics_say_what_is_stale_and_how_long_it_held() -> None:
    cluster, metrics, clock = remote("n1"), SchedulerMetrics(), VirtualClock()
    with Scheduler(cluster, executor=InlineExecutor(), clock=clock, observers=[metrics]) as scheduler:
        scheduler.start()
        for change, seconds in ((STALE, 3), (STALE, 4), (GIVEN_UP, 5)):
            report(cluster, change)
            scheduler.sync()
            clock.advance(seconds)
        text = metrics.exposition().decode()
        assert 'schedframe_stale_view{kind="Node"} 1.0' in text
        assert "schedframe_stale_view_held_seconds_total 7.0" in text
        description = scheduler.core.view.description()
        assert description == "pods are decided on a stale view (Node for 12.0 s: 503)"
        report(cluster, CURRENT)
        scheduler.sync()
        assert "schedframe_stale_view{" not in metrics.exposition().decode()
        assert scheduler.core.view.description() is None


def test_a_cluster_in_memory_is_always_current() -> None:
    with Scheduler(InMemoryCluster([node("n1"), pod("p")])) as scheduler:
        scheduler.run_until_idle()
        assert not scheduler.core.view.stale
