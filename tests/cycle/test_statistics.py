"""Counts and latencies: the statistics of a meter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import define

from schedframe import (
    ConfigError,
    InMemoryCluster,
    InputError,
    NodeInfo,
    Scheduler,
    Status,
    ThreadExecutor,
    VirtualClock,
    hookimpl,
)
from schedframe.cycle import (
    AttemptOutcome,
    AttemptResult,
    Distribution,
    Meter,
    MetricFamily,
    SchedulerObserver,
    Statistics,
    Tuning,
    observing,
)
from schedframe.testing import node, pod
from tests.by_labels import Picky
from tests.meters import figures_of

DEFAULT = "default-scheduler"


def scheduler_with(*pods: Any, **options: Any) -> tuple[Scheduler, VirtualClock]:
    clock = VirtualClock()
    cluster = InMemoryCluster([node("n").allocatable(cpu="4", pods=50), *pods], clock=clock)
    options.setdefault("observers", [Meter(cycles_per_sample=1)])
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
    statistics = figures_of(scheduler)
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


def test_a_plugin_that_leaves_a_pod_pending_rejected_it() -> None:
    nodes = [node("later").labels(later="1"), node("small").allocatable(cpu="1", pods=5)]
    outcomes: list[AttemptOutcome] = []
    scheduler = Scheduler(
        InMemoryCluster([*nodes, pod("big").requests(cpu="2")]),
        plugins=[Later],
        observers=[observing(attempt_ended=lambda attempt, outcome: outcomes.append(outcome)), Meter()],
    )
    scheduler.run_until_idle()
    (outcome,) = outcomes
    assert outcome.rejected_by == ("Later", "NodeResourcesFit")
    assert figures_of(scheduler).profiles[DEFAULT].rejections == {"Later": 1, "NodeResourcesFit": 1}


def test_the_time_of_a_pod_is_that_of_the_clock_over_all_attempts() -> None:
    scheduler, clock = scheduler_with(pod("big").requests(cpu="5"))
    scheduler.run_until_idle()
    clock.advance(7)
    assert isinstance(scheduler.core.cluster, InMemoryCluster)
    scheduler.core.cluster.apply(node("large").allocatable(cpu="8", pods=5).build())
    scheduler.run_until_idle()
    profile = figures_of(scheduler).profiles[DEFAULT]
    assert profile.pod_attempts == {2: 1}
    assert profile.pod_seconds is not None
    assert profile.pod_seconds.max == pytest.approx(7)
    assert figures_of(scheduler).seconds == pytest.approx(7)


def test_a_pod_that_waits_in_permit_ends_when_it_is_rejected() -> None:
    scheduler, clock = scheduler_with(pod("held").labels(held="1"))
    scheduler.run_until_idle()
    assert not figures_of(scheduler).profiles[DEFAULT].attempts
    assert figures_of(scheduler).waiting == figures_of(scheduler).binding == 1
    clock.advance(11)
    scheduler.run_until_idle()
    statistics = figures_of(scheduler)
    assert statistics.profiles[DEFAULT].attempts[AttemptResult.UNSCHEDULABLE].count == 1
    assert statistics.profiles[DEFAULT].rejections == {"Picky": 1}
    assert statistics.waiting == 0


def test_a_pod_that_is_deleted_while_it_waits_ends_with_an_error() -> None:
    scheduler, _ = scheduler_with(pod("held").labels(held="1"))
    scheduler.run_until_idle()
    assert isinstance(scheduler.core.cluster, InMemoryCluster)
    scheduler.core.cluster.delete("Pod", "default/held")
    scheduler.run_until_idle()
    assert figures_of(scheduler).profiles[DEFAULT].attempts[AttemptResult.ERROR].count == 1


def test_pods_bound_in_threads_are_counted() -> None:
    scheduler, _ = scheduler_with(*(pod(f"p{i}") for i in range(40)), executor=ThreadExecutor(4))
    with scheduler:
        scheduler.run_until_idle()
        profile = figures_of(scheduler).profiles[DEFAULT]
        assert profile.attempts[AttemptResult.SCHEDULED].count == 40
        assert profile.plugins["Bind"]["DefaultBinder"].count == 40


def test_points_and_plugins_have_latencies() -> None:
    scheduler, _ = scheduler_with(pod("a"), pod("big").requests(cpu="99"), tuning=Tuning(remember=0))
    scheduler.run_until_idle()
    profile = figures_of(scheduler).profiles[DEFAULT]
    assert {"preFilter", "filter", "postFilter", "reserve", "permit"} <= set(profile.points)
    assert profile.points["permit"].count == 1
    assert profile.plugins["Permit"]["Picky"].count == 1
    assert all(each.p50 <= each.p90 <= each.p99 <= each.max for each in profile.points.values())


def test_everything_is_plain_and_can_be_printed() -> None:
    scheduler, _ = scheduler_with(pod("a"), pod("big").requests(cpu="99"))
    scheduler.run_until_idle()
    statistics = figures_of(scheduler)
    document = json.loads(json.dumps(statistics.to_dict()))
    assert document["profiles"][DEFAULT]["attempts"]["scheduled"]["count"] == 1
    assert document["pools"]["active"] == 0
    assert "attempt: scheduled" in str(statistics)
    frame = statistics.to_dataframe()
    assert {"search", "attempt: scheduled"} <= set(frame["of"].to_list())
    assert repr(statistics).startswith("Statistics(attempts={'default-scheduler': 2}")


def test_a_new_scheduler_has_nothing_but_its_state() -> None:
    scheduler, _ = scheduler_with()
    profile = figures_of(scheduler).profiles[DEFAULT]
    assert (profile.attempts, profile.search, profile.pod_seconds) == ({}, None, None)
    assert str(figures_of(scheduler))


def test_a_meter_without_a_scheduler_says_how_to() -> None:
    with pytest.raises(InputError, match=r"observers=\[meter\]"):
        Meter().statistics()


def test_a_meter_counts_for_one_scheduler() -> None:
    meter = Meter()
    with pytest.raises(ConfigError):
        scheduler_with(observers=[meter], config={"kind": "Other"})
    scheduler_with(observers=[meter])
    with pytest.raises(InputError, match="another scheduler"):
        scheduler_with(observers=[meter])


def test_placements_are_those_of_a_scheduler_that_does_not_count() -> None:
    def nodes_of(*observers: SchedulerObserver) -> list[str]:
        cluster = InMemoryCluster([*(node(f"n{i}").allocatable(cpu="4", pods=9) for i in range(9))])
        scheduler = Scheduler(cluster, seed=3, observers=observers)
        for i in range(60):
            cluster.create(pod(f"p{i}").requests(cpu="300m").build())
        scheduler.run_until_idle()
        return [each.spec.node_name for each in cluster.list("Pod")]

    assert nodes_of(Meter(cycles_per_sample=1)) == nodes_of()


def test_a_statistics_value_is_small_to_print() -> None:
    assert len(repr(Statistics(0.0, {}, {}, 0, 0, 0, 0))) < 100


def test_two_meters_of_a_scheduler_count_alike() -> None:
    one, other = Meter(), Meter()
    scheduler, clock = scheduler_with(pod("a"), pod("big").requests(cpu="5"), observers=[one, other])
    scheduler.run_until_idle()
    clock.advance(7)
    assert isinstance(scheduler.core.cluster, InMemoryCluster)
    scheduler.core.cluster.apply(node("large").allocatable(cpu="8", pods=5).build())
    scheduler.run_until_idle()
    found = [{family.metric.name: _counts(family) for family in meter.families()} for meter in (one, other)]
    assert found[0] == found[1]
    assert "scheduler_queueing_hint_execution_duration_seconds" in found[0]


def _counts(family: MetricFamily) -> dict[tuple[str, ...], Any]:
    timed = family.metric.name.startswith(("scheduler_plugin_execution", "scheduler_event_handling"))
    if timed:
        return {}  # a sample
    return {
        labels: each.count if isinstance(each, Distribution) else each
        for labels, each in family.samples.items()
    }
