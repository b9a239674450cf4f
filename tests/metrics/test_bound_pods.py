"""Pods that were bound, by the attempts that they needed."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define

from schedframe import InMemoryCluster, Pod, Scheduler, Status, VirtualClock, hookimpl
from schedframe.bench.clock import SkippingClock
from schedframe.cycle.latency import Distribution
from schedframe.cycle.metering import catalogue
from schedframe.cycle.metering.collect import _attempts
from schedframe.cycle.metering.meter import Meter
from schedframe.cycle.outcomes import BOUND
from schedframe.metrics import MetricFamily, SchedulerMetrics
from schedframe.testing import node, pod

FLUSH = 600.0
"""Seconds after which unschedulable pods are tried again, whatever happens."""


@define(eq=False)
class Closed:
    """Rejects the pods with the label until it is opened, of which no event tells."""

    is_open: bool = False

    @hookimpl
    def events_to_register(self) -> tuple[()]:
        return ()

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | None:
        closed = "waits" in pod.labels and not self.is_open
        return Status.unschedulable("closed") if closed else None


def _samples(metrics: SchedulerMetrics, name: str) -> MetricFamily:
    (family,) = [each for each in metrics.families() if each.metric.name == f"scheduler_{name}"]
    return family


@pytest.mark.parametrize("clock", [VirtualClock(), SkippingClock()])
def test_pods_count_by_their_attempts_and_by_what_caused_the_last_one(
    clock: VirtualClock | SkippingClock,
) -> None:
    metrics, plugin = SchedulerMetrics(), Closed()
    pods = [pod(f"p{i}").labels(**({"waits": "yes"} if i < 3 else {})) for i in range(10)]
    cluster = InMemoryCluster([node("n").allocatable(cpu="4", pods=50), *pods], clock=clock)
    with Scheduler(cluster, clock=clock, seed=0, observers=[metrics], plugins=[plugin]) as scheduler:
        scheduler.run_until_idle()
        plugin.is_open = True
        (clock.advance_to if isinstance(clock, VirtualClock) else clock.skip_to)(clock() + FLUSH)
        scheduler.run_until_idle()
    assert _samples(metrics, "pod_scheduled_after_flush_total").samples == {(): 3}
    attempts = _samples(metrics, "pod_scheduling_attempts").samples[()]
    assert isinstance(attempts, Distribution)
    assert (attempts.counts[:2], attempts.total) == ((7, 3), 13)
    ages = _samples(metrics, "pod_scheduling_sli_duration_seconds").samples
    first, second = ages["1",], ages["2",]
    assert isinstance(first, Distribution)
    assert isinstance(second, Distribution)
    assert (first.count, second.count) == (7, 3)
    assert second.total == pytest.approx(3 * FLUSH, rel=0.01)
    runs = _samples(metrics, "framework_extension_point_duration_seconds").samples
    binds = runs["Bind", "Success", "default-scheduler"]
    assert isinstance(binds, Distribution)
    assert binds.count == 10


def test_metrics_are_read_while_pods_are_bound_in_more_and_more_attempts() -> None:
    meter = Meter()
    Scheduler(InMemoryCluster(), clock=VirtualClock(), observers=[meter])
    ended = threading.Event()
    counts = meter.of_profile("default-scheduler")
    profile = SimpleNamespace(profile=SimpleNamespace(scheduler_name="default-scheduler"))

    def bind() -> None:
        for attempts in range(1, 20_000):
            info: Any = SimpleNamespace(attempts=attempts, initial_attempt=0.0, flushed=False)
            attempt: Any = SimpleNamespace(info=info, framework=profile, started=0.0, searched=0.0, ended=0.0)
            meter.attempt_ended(attempt, BOUND)
        ended.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=bind)
    thread.start()
    try:
        while not ended.is_set():
            dict(_attempts({"default-scheduler": counts}))
    finally:
        thread.join()
        sys.setswitchinterval(interval)
    tries = dict(_attempts({"default-scheduler": counts}))[catalogue.POD_ATTEMPTS][()]
    assert isinstance(tries, Distribution)
    assert tries.count == 19_999
