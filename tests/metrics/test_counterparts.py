"""Each metric has the same figure among the statistics, as a plain number and without an extra."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from schedframe import InMemoryCluster, Scheduler, VirtualClock
from schedframe.cycle import AttemptResult, ProfileStatistics, SchedulerOptions, Statistics, Tuning
from schedframe.cycle.latency import Distribution
from schedframe.metrics import METRICS, SchedulerMetrics
from schedframe.testing import node, pod
from tests.by_labels import Holding
from tests.meters import figures_of

DEFAULT: Final = "default-scheduler"


@pytest.fixture(scope="module")
def scheduler() -> Iterator[Scheduler]:
    clock = VirtualClock()
    cluster = InMemoryCluster([node("n").allocatable(cpu="8", pods=500)], clock=clock)
    options: SchedulerOptions = {"tuning": Tuning(remember=0), "plugins": [Holding()]}
    with Scheduler(cluster, clock=clock, seed=0, observers=[SchedulerMetrics()], **options) as scheduler:
        for number in range(300):
            cluster.create(pod(f"p{number}").requests(cpu="1m").build())
        cluster.create(pod("gated").gated_by("x").build())
        cluster.create(pod("held").labels(held="1").build())
        cluster.create(pod("low").requests(cpu="7").build())
        scheduler.run_until_idle()
        cluster.create(pod("high").requests(cpu="7").priority(10).build())
        cluster.create(pod("big").requests(cpu="99").build())
        scheduler.run_until_idle()
        scheduler.reload(scheduler.config)
        yield scheduler


def _attempts(profile: ProfileStatistics) -> int:
    return sum(each.count for each in profile.attempts.values())


def _size(pools: Any, *names: str) -> int:
    return sum(pools[name] for name in names)


FIELDS: Final[dict[str, Callable[[Statistics, ProfileStatistics], float]]] = {
    "scheduler_schedule_attempts_total": lambda _, profile: _attempts(profile),
    "scheduler_scheduling_attempt_duration_seconds": lambda _, profile: _attempts(profile),
    "scheduler_scheduling_algorithm_duration_seconds": lambda _, profile: profile.search.count,  # type: ignore[union-attr]  # there were searches
    "scheduler_pod_scheduling_sli_duration_seconds": lambda _, profile: profile.pod_seconds.count,  # type: ignore[union-attr]  # pods were bound
    "scheduler_pod_scheduling_attempts": lambda _, profile: sum(profile.pod_attempts.values()),
    "scheduler_framework_extension_point_duration_seconds": lambda _, profile: sum(
        each.count for each in profile.points.values()
    ),
    "scheduler_plugin_execution_duration_seconds": lambda _, profile: sum(
        each.count for plugins in profile.plugins.values() for each in plugins.values()
    ),
    "scheduler_pending_pods": lambda statistics, _: _size(
        statistics.pools, "active", "backoff", "error_backoff", "unschedulable", "gated"
    ),
    "scheduler_cache_size": lambda statistics, _: statistics.nodes + statistics.pods,
}
"""Metric → the same figure in a field of its own; all others are in ``metrics`` alone."""


def total(value: float | Distribution) -> float:
    """How often something happened, or a gauge."""
    return value.count if isinstance(value, Distribution) else value


@pytest.mark.parametrize("name", FIELDS)
def test_the_field_of_a_metric_has_its_figure(scheduler: Scheduler, name: str) -> None:
    statistics = figures_of(scheduler)
    samples = statistics.metrics[name].samples
    if name == "scheduler_cache_size":
        samples = {labels: value for labels, value in samples.items() if labels != ("assumed_pods",)}
    figure = FIELDS[name](statistics, statistics.profiles[DEFAULT])
    assert sum(map(total, samples.values())) == figure > 0


def test_attempts_have_the_same_results(scheduler: Scheduler) -> None:
    statistics = figures_of(scheduler)
    samples = statistics.metrics["scheduler_schedule_attempts_total"].samples
    attempts = statistics.profiles[DEFAULT].attempts
    assert samples == {(str(result), DEFAULT): each.count for result, each in attempts.items()}
    assert attempts[AttemptResult.SCHEDULED].count >= 300


def test_statistics_have_all_metrics_that_are_shown(scheduler: Scheduler) -> None:
    (sink,) = scheduler.observers
    assert isinstance(sink, SchedulerMetrics)
    shown = {family.metric.name: family.samples for family in sink.families()}
    here = {name: family.samples for name, family in figures_of(scheduler).metrics.items()}
    assert here == shown
    assert here.keys() >= FIELDS.keys()
    assert here.keys() <= {metric.name for metric in METRICS}


def test_all_of_them_are_plain_numbers(scheduler: Scheduler) -> None:
    plain = json.loads(json.dumps(figures_of(scheduler).to_dict()))["metrics"]
    for name, family in figures_of(scheduler).metrics.items():
        assert len(plain[name]) == len(family.samples) > 0
        for sample, labels in zip(plain[name], family.samples, strict=True):
            assert tuple(sample["labels"].values()) == labels
            assert isinstance(sample.get("value", sample.get("count")), int | float)
