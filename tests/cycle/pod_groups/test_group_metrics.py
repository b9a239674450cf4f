"""Attempts for pod groups as metrics count them."""

from __future__ import annotations

from schedframe.cycle.metering.collect import collect
from schedframe.metrics import SchedulerMetrics
from tests.meters import counts_of

from .helpers import group, node, pod, scheduler_of

DEFAULT = "default-scheduler"


def test_attempts_for_groups_and_their_members_are_counted() -> None:
    cluster, scheduler, clock = scheduler_of(node("n", cpu=2), group("g", 3), observers=[SchedulerMetrics()])
    for name in "abc":
        cluster.create(pod(name, "g"))
    scheduler.run_until_idle()
    cluster.create(node("m", cpu=2))
    clock.advance(20)
    scheduler.run_until_idle()
    found = {each.metric.name: each.samples for each in collect(counts_of(scheduler))}
    results = {("unschedulable", DEFAULT): 1, ("scheduled", DEFAULT): 1}
    assert found["scheduler_podgroup_schedule_attempts_total"] == results
    durations = found["scheduler_podgroup_scheduling_attempt_duration_seconds"]
    assert {labels: each.count for labels, each in durations.items()} == results  # type: ignore[union-attr]  # a histogram
    assert found["scheduler_podgroup_scheduling_algorithm_duration_seconds"][()].count == 2  # type: ignore[union-attr]  # a histogram
    members = {("unschedulable", DEFAULT): 3, ("scheduled", DEFAULT): 3}
    assert found["scheduler_schedule_attempts_total"] == members
