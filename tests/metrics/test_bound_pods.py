"""Pods that were bound: kept as figures, counted together, by the attempts that they needed."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from attrs import define

from schedframe import InMemoryCluster, Pod, Scheduler, Status, VirtualClock, hookimpl
from schedframe.bench.clock import SkippingClock
from schedframe.cycle.latency import Distribution
from schedframe.cycle.metering import bound_pods, catalogue, gaps
from schedframe.cycle.metering.collect import _attempts
from schedframe.cycle.metering.gaps import MeasuredCycles
from schedframe.cycle.metering.profile_meter import ProfileMeter
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
    # With the machine's clock the first attempts are counted where their bind ends, the others by the core.
    metrics, plugin = SchedulerMetrics(), Closed()
    pods = [pod(f"p{i}").labels(**({"waits": "yes"} if i < 3 else {})) for i in range(10)]
    cluster = InMemoryCluster([node("n").allocatable(cpu="4", pods=50), *pods], clock=clock)
    with Scheduler(cluster, clock=clock, seed=0, metrics=metrics, plugins=[plugin]) as scheduler:
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


def test_figures_do_not_pile_up_until_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    size = bound_pods._MOMENTS.size
    monkeypatch.setattr(bound_pods, "_KEPT", 20 * size)
    monkeypatch.setattr(bound_pods, "_TOGETHER", 7 * size)
    monkeypatch.setattr(gaps, "TOGETHER", 20)
    metrics = SchedulerMetrics()
    pods = [pod(f"p{i}").requests(cpu="1m") for i in range(1000)]
    cluster = InMemoryCluster([node("n").allocatable(cpu="4", pods=2000), *pods])
    with Scheduler(cluster, seed=0, metrics=metrics) as scheduler:
        scheduler.run_until_idle()
        counts = scheduler.core.meter
        assert counts is not None
        (bound,) = counts._bound.values()
        assert len(bound.figures) <= 400 * size, "records are counted each 380 cycles at least"
    (attempts,) = _samples(metrics, "scheduling_attempt_duration_seconds").samples.values()
    assert isinstance(attempts, Distribution)
    assert attempts.count == 1000


@pytest.mark.parametrize("together", [1, 2, 3, 4])
def test_each_time_of_a_record_is_counted_where_it_belongs(
    monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(bound_pods, "_TOGETHER", together * bound_pods._MOMENTS.size)
    counts = ProfileMeter(MeasuredCycles(), offset=100.0)
    binds = counts.calls.counts.of("DefaultBinder", "Bind").runs_with("Success")
    records = [bound_pods.packed(108.0 + i, 106.0, 103.0, 102.0, 1.0) for i in range(3)]
    bound = bound_pods.BoundPods(counts, binds, bytearray(b"".join(records)))
    bound.fold()
    bound.fold()
    age = counts.pod_seconds["1"]
    totals = [each.distribution().total for each in (counts.scheduled, counts.search, binds, age)]
    assert totals == [6.0 + 7 + 8, 3.0, 2.0 + 3 + 4, 7.0 + 8 + 9]
    assert (counts.attempts, bound.figures) == ({1: 3}, b"")


def test_metrics_are_read_while_pods_are_bound_in_more_and_more_attempts() -> None:
    counts, ended = ProfileMeter(MeasuredCycles()), threading.Event()

    def bind() -> None:
        for attempts in range(1, 20_000):
            counts.pod_bound(0.0, attempts, flushed=False)
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


def test_the_first_pods_that_are_counted_import_no_module() -> None:
    # np.unique imported numpy.ma at its first call: 10 ms within a scheduling cycle.
    code = """if True:
        import sys
        import numpy as np
        from schedframe.cycle.metering.bound_pods import BoundPods, packed
        from schedframe.cycle.metering.gaps import MeasuredCycles
        from schedframe.cycle.metering.profile_meter import ProfileMeter
        counts = ProfileMeter(MeasuredCycles())
        figures = bytearray(packed(4.0, 3.0, 2.0, 1.0, 0.5) * 3)
        series = counts.calls.counts.of("DefaultBinder", "Bind")
        bound = BoundPods(counts, series.runs_with("Success"), figures)
        before = set(sys.modules)
        bound.fold()
        print(*(set(sys.modules) - before), counts.attempts[1])
    """
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["3"]
