"""Counts and latencies: statistics, and observers of attempts, extension points and plugin calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import define, field

from schedframe import (
    InMemoryCluster,
    InputError,
    NodeInfo,
    Scheduler,
    Status,
    ThreadExecutor,
    VirtualClock,
    hookimpl,
)
from schedframe.cycle import AttemptOutcome, AttemptResult, Statistics
from schedframe.testing import node, pod
from tests.by_labels import Picky

DEFAULT = "default-scheduler"


def scheduler_with(*pods: Any, **options: Any) -> tuple[Scheduler, VirtualClock]:
    clock = VirtualClock()
    cluster = InMemoryCluster([node("n").allocatable(cpu="4", pods=50), *pods], clock=clock)
    options.setdefault("statistics", True)
    return Scheduler(cluster, clock=clock, seed=0, plugins=[Picky], **options), clock


def test_attempts_are_counted_by_result() -> None:
    scheduler, _ = scheduler_with(
        pod("a"),
        pod("b"),
        pod("big").requests(cpu="99"),
        pod("r").labels(refused="1"),
        pod("e").labels(broken="1"),
    )
    scheduler.run_until_idle()
    statistics = scheduler.statistics()
    profile = statistics.profiles[DEFAULT]
    assert {str(result): each.count for result, each in profile.attempts.items()} == {
        "scheduled": 2,
        "unschedulable": 2,
        "error": 1,
    }
    assert profile.rejections == {"NodeResourcesFit": 1, "Picky": 1}
    assert profile.pod_attempts == {1: 2}
    assert profile.search is not None
    assert profile.search.count == 5
    assert statistics.pools["unschedulable"] == 2
    assert statistics.pools["error_backoff"] == 1
    assert (statistics.nodes, statistics.pods) == (1, 2)


@define(eq=False)
class Later:
    """Waits for something outside of the cluster where the node has the label."""

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        return Status.pending("later") if "later" in node_info.labels else None


@pytest.mark.parametrize("counted", [True, False], ids=["with statistics", "observed only"])
def test_a_plugin_that_leaves_a_pod_pending_rejected_it(counted: bool) -> None:
    nodes = [node("later").labels(later="1"), node("small").allocatable(cpu="1", pods=5)]
    watching = Watching()
    scheduler = Scheduler(
        InMemoryCluster([*nodes, pod("big").requests(cpu="2")]),
        plugins=[Later],
        observer=watching,
        statistics=counted,
    )
    scheduler.run_until_idle()
    (outcome,) = watching.outcomes
    assert outcome.rejected_by == ("Later", "NodeResourcesFit")
    if counted:
        profile = scheduler.statistics().profiles[DEFAULT]
        assert profile.rejections == {"Later": 1, "NodeResourcesFit": 1}


def test_the_time_of_a_pod_is_that_of_the_clock_over_all_attempts() -> None:
    scheduler, clock = scheduler_with(pod("big").requests(cpu="5"))
    scheduler.run_until_idle()
    clock.advance(7)
    assert isinstance(scheduler.core.cluster, InMemoryCluster)
    scheduler.core.cluster.apply(node("large").allocatable(cpu="8", pods=5).build())
    scheduler.run_until_idle()
    profile = scheduler.statistics().profiles[DEFAULT]
    assert profile.pod_attempts == {2: 1}
    assert profile.pod_seconds is not None
    assert profile.pod_seconds.max == pytest.approx(7)
    assert scheduler.statistics().seconds == pytest.approx(7)


def test_a_pod_that_waits_in_permit_ends_when_it_is_rejected() -> None:
    scheduler, clock = scheduler_with(pod("held").labels(held="1"))
    scheduler.run_until_idle()
    assert not scheduler.statistics().profiles[DEFAULT].attempts
    assert scheduler.statistics().waiting == scheduler.statistics().binding == 1
    clock.advance(11)
    scheduler.run_until_idle()
    statistics = scheduler.statistics()
    assert statistics.profiles[DEFAULT].attempts[AttemptResult.UNSCHEDULABLE].count == 1
    assert statistics.profiles[DEFAULT].rejections == {"Picky": 1}
    assert statistics.waiting == 0


def test_a_pod_that_is_deleted_while_it_waits_ends_with_an_error() -> None:
    scheduler, _ = scheduler_with(pod("held").labels(held="1"))
    scheduler.run_until_idle()
    assert isinstance(scheduler.core.cluster, InMemoryCluster)
    scheduler.core.cluster.delete("Pod", "default/held")
    scheduler.run_until_idle()
    assert scheduler.statistics().profiles[DEFAULT].attempts[AttemptResult.ERROR].count == 1


def test_pods_bound_in_threads_are_counted() -> None:
    scheduler, _ = scheduler_with(*(pod(f"p{i}") for i in range(40)), executor=ThreadExecutor(4))
    with scheduler:
        scheduler.run_until_idle()
        profile = scheduler.statistics().profiles[DEFAULT]
        assert profile.attempts[AttemptResult.SCHEDULED].count == 40
        assert profile.plugins["bind"]["DefaultBinder"].count == 40


def test_points_and_plugins_have_latencies() -> None:
    scheduler, _ = scheduler_with(pod("a"), pod("big").requests(cpu="99"), remember=0)
    scheduler.run_until_idle()
    profile = scheduler.statistics().profiles[DEFAULT]
    assert {"preFilter", "filter", "postFilter", "reserve", "permit"} <= set(profile.points)
    assert profile.points["permit"].count == 1
    assert profile.plugins["permit"]["Picky"].count == 1
    assert all(each.p50 <= each.p90 <= each.p99 <= each.max for each in profile.points.values())


def test_everything_is_plain_and_can_be_printed() -> None:
    scheduler, _ = scheduler_with(pod("a"), pod("big").requests(cpu="99"))
    scheduler.run_until_idle()
    statistics = scheduler.statistics()
    document = json.loads(json.dumps(statistics.to_dict()))
    assert document["profiles"][DEFAULT]["attempts"]["scheduled"]["count"] == 1
    assert document["pools"]["active"] == 0
    assert "attempt: scheduled" in str(statistics)
    frame = statistics.to_dataframe()
    assert {"search", "attempt: scheduled"} <= set(frame["of"].to_list())
    assert repr(statistics).startswith("Statistics(attempts={'default-scheduler': 2}")


def test_a_new_scheduler_has_nothing_but_its_state() -> None:
    scheduler, _ = scheduler_with()
    profile = scheduler.statistics().profiles[DEFAULT]
    assert (profile.attempts, profile.search, profile.pod_seconds) == ({}, None, None)
    assert str(scheduler.statistics())


def test_a_scheduler_that_does_not_count_says_how_to() -> None:
    scheduler, _ = scheduler_with(statistics=False)
    with pytest.raises(InputError, match="statistics=True"):
        scheduler.statistics()


# ---- observers ---------------------------------------------------------------------------------------------


@define(eq=False)
class Watching:
    """A SchedulerObserver and, with ``points``, a PointObserver of each profile."""

    outcomes: list[AttemptOutcome] = field(factory=list)
    calls: list[tuple[str, str, str]] = field(factory=list)
    points: list[tuple[str, str]] = field(factory=list)

    def of_profile(self, profile: str) -> WatchingProfile:
        return WatchingProfile(profile, self)

    def attempt_ended(self, outcome: AttemptOutcome) -> None:
        self.outcomes.append(outcome)


@define(eq=False)
class WatchingProfile:
    profile: str
    all: Watching

    def plugin_called(self, point: str, plugin: str, seconds: float, result: Any) -> None:
        self.all.calls.append((self.profile, point, plugin))

    def point_ended(self, point: str, seconds: float, status: Status | None) -> None:
        self.all.points.append((self.profile, point))


@define(eq=False)
class Calls:
    """An Observer of plugin calls alone."""

    seen: list[str] = field(factory=list)

    def plugin_called(self, point: str, plugin: str, seconds: float, result: Any) -> None:
        self.seen.append(point)


def test_an_observer_gets_attempts_points_and_calls_of_each_profile() -> None:
    watching = Watching()
    scheduler, _ = scheduler_with(pod("a"), statistics=False, observer=watching)
    scheduler.run_until_idle()
    (outcome,) = watching.outcomes
    assert (outcome.pod, outcome.profile, outcome.result) == ("default/a", DEFAULT, AttemptResult.SCHEDULED)
    assert outcome.attempts == 1
    assert 0 < outcome.search_seconds <= outcome.seconds
    assert (DEFAULT, "reserve") in watching.points
    assert (DEFAULT, "bind", "DefaultBinder") in watching.calls


@pytest.mark.parametrize("observer", [Watching(), Calls()])
def test_statistics_and_an_observer_work_together(observer: Watching | Calls) -> None:
    scheduler, _ = scheduler_with(pod("a"), observer=observer)
    scheduler.run_until_idle()
    assert scheduler.statistics().profiles[DEFAULT].plugins["bind"]["DefaultBinder"].count == 1
    assert "bind" in (
        observer.seen if isinstance(observer, Calls) else [point for _, point, _ in observer.calls]
    )


def test_an_observer_that_fails_is_reported_and_changes_nothing() -> None:
    class Failing(Watching):
        def attempt_ended(self, outcome: AttemptOutcome) -> None:
            raise RuntimeError("no room on the disk")

    faults: list[str] = []
    scheduler, _ = scheduler_with(
        pod("a"), observer=Failing(), on_fault=lambda status, pod: faults.append(status.message)
    )
    scheduler.run_until_idle()
    assert faults == ["no room on the disk"]
    assert scheduler.statistics().pods == 1


def test_without_observers_nothing_is_timed() -> None:
    scheduler, _ = scheduler_with(pod("a"), statistics=False)
    assert scheduler.core.observers == ()
    assert type(scheduler.core.frameworks[DEFAULT]).__name__ == "Framework"


def test_placements_are_those_of_a_scheduler_that_does_not_count() -> None:
    def nodes_of(statistics: bool) -> list[str]:
        cluster = InMemoryCluster([*(node(f"n{i}").allocatable(cpu="4", pods=9) for i in range(9))])
        scheduler = Scheduler(cluster, seed=3, statistics=statistics)
        for i in range(60):
            cluster.create(pod(f"p{i}").requests(cpu="300m").build())
        scheduler.run_until_idle()
        return [each.spec.node_name for each in cluster.list("Pod")]

    assert nodes_of(True) == nodes_of(False)


def test_a_statistics_value_is_small_to_print() -> None:
    assert len(repr(Statistics(0.0, {}, {}, 0, 0, 0, 0))) < 100
