"""What the metrics of a scheduler say, as plain values and in the text format."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import define
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.parser import text_string_to_metric_families

from schedframe import (
    InMemoryCluster,
    Pod,
    Scheduler,
    Status,
    ThreadExecutor,
    VirtualClock,
    hookimpl,
)
from schedframe.cycle import AttemptResult, Tuning, sampled_calls
from schedframe.cycle.latency import Distribution
from schedframe.cycle.metering.calls import SAMPLED
from schedframe.cycle.metering.counts import Counts
from schedframe.embed import Embedding, Task, Worker
from schedframe.metrics import SchedulerMetrics
from schedframe.testing import node, pod
from tests.by_labels import Picky
from tests.cycle.pod_groups.helpers import group, scheduler_of
from tests.cycle.pod_groups.helpers import node as group_node
from tests.cycle.pod_groups.helpers import pod as group_pod
from tests.meters import figures_of

DEFAULT = "default-scheduler"


class World:
    """A scheduler with metrics on a cluster in memory."""

    def __init__(self, *pods: Any, cpu: str = "4", **options: Any) -> None:
        self.clock = VirtualClock()
        self.cluster = InMemoryCluster([node("n").allocatable(cpu=cpu, pods=500), *pods], clock=self.clock)
        self.metrics = SchedulerMetrics()
        self.scheduler = Scheduler(
            self.cluster, clock=self.clock, seed=0, observers=[self.metrics], plugins=[Picky], **options
        )

    def value(self, name: str, *labels: str) -> Any:
        """The sample of a metric, ``None`` if there is none."""
        families = {family.metric.name: family for family in self.metrics.families()}
        family = families.get(f"scheduler_{name}")
        return None if family is None else family.samples.get(labels)

    def scraped(self) -> dict[str, Any]:
        """Names of samples with labels, as a reader of the text format gets them."""
        text = self.metrics.exposition().decode()
        return {
            f"{sample.name}{sorted(sample.labels.items())}": sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


@pytest.fixture
def world() -> Iterator[World]:
    world = World(pod("a"), pod("b"), pod("big").requests(cpu="99"), pod("e").labels(broken="1"))
    world.scheduler.run_until_idle()
    yield world
    world.scheduler.close()


def test_attempts_are_counted_by_result_and_profile(world: World) -> None:
    assert world.value("schedule_attempts_total", "scheduled", DEFAULT) == 2
    assert world.value("schedule_attempts_total", "unschedulable", DEFAULT) == 1
    assert world.value("schedule_attempts_total", "error", DEFAULT) == 1
    assert world.value("scheduling_attempt_duration_seconds", "scheduled", DEFAULT).count == 2
    assert world.value("scheduling_algorithm_duration_seconds").count == 4
    assert world.value("pod_scheduling_attempts").count == 2


def test_the_text_format_has_the_same_figures(world: World) -> None:
    scraped = world.scraped()
    labels = [("profile", DEFAULT), ("result", "scheduled")]
    assert scraped[f"scheduler_schedule_attempts_total{labels}"] == 2
    assert scraped[f"scheduler_scheduling_attempt_duration_seconds_count{labels}"] == 2
    assert scraped["scheduler_pod_scheduling_attempts_bucket[('le', '1')]"] == 2
    assert scraped["scheduler_pod_scheduling_attempts_bucket[('le', '+Inf')]"] == 2
    assert scraped["scheduler_cache_size[('type', 'nodes')]"] == 1


def test_gauges_say_what_is_there_now(world: World) -> None:
    assert world.value("pending_pods", "unschedulable") == 1
    assert world.value("pending_pods", "backoff") == 1
    assert world.value("pending_pods", "active") == 0
    assert world.value("unschedulable_pods", "NodeResourcesFit", DEFAULT) == 1
    assert world.value("cache_size", "pods") == 2
    assert world.value("cache_size", "assumed_pods") == 0
    world.cluster.delete(world.cluster.get("Pod", "default/big"))
    world.scheduler.run_until_idle()
    assert world.value("pending_pods", "unschedulable") == 0
    assert world.value("unschedulable_pods", "NodeResourcesFit", DEFAULT) is None


def test_pods_that_wait_together_count_one_by_one() -> None:
    world = World(*[pod(f"p{i}").requests(cpu="3") for i in range(50)])
    world.scheduler.run_until_idle()
    assert world.value("pending_pods", "unschedulable") == 49
    assert world.value("unschedulable_pods", "NodeResourcesFit", DEFAULT) == 49
    assert world.value("queue_incoming_pods_total", "active", "UnschedulablePodAdd") == 50
    assert world.value("queue_incoming_pods_total", "unschedulable", "ScheduleAttemptFailure") == 49
    attempts = world.value("schedule_attempts_total", "unschedulable", DEFAULT)
    assert attempts < 49, "attempts that are not made are not counted, and metrics do not cause them"


@pytest.mark.parametrize("together", [True, False])
def test_pods_that_are_rejected_together_again_count_one_by_one(together: bool) -> None:
    world = World(*[pod(f"p{i}").requests(cpu="3") for i in range(50)], tuning=Tuning(wait_together=together))
    world.scheduler.run_until_idle()
    (running,) = [each for each in world.cluster.list("Pod") if each.spec.node_name]
    world.cluster.delete(running)
    world.clock.advance(60)
    world.scheduler.run_until_idle()
    assert world.value("schedule_attempts_total", "scheduled", DEFAULT) == 2
    assert world.value("queue_incoming_pods_total", "unschedulable", "ScheduleAttemptFailure") == 49 + 48


def test_pods_are_counted_when_they_move() -> None:
    world = World(pod("a").requests(cpu="3"), pod("b").requests(cpu="3"), pod("g").gated_by("x"))
    world.scheduler.run_until_idle()
    assert world.value("pending_pods", "gated") == 1
    assert world.value("queue_incoming_pods_total", "unschedulable", "UnschedulablePodAdd") == 1
    running = next(p for p in world.cluster.list("Pod") if p.spec.node_name)
    world.cluster.delete(running)
    world.scheduler.run_until_idle()
    moved = world.value("queue_incoming_pods_total", "backoff", "AssignedPodDelete")
    assert moved == 1
    assert world.value("queue_incoming_pods_total", "active", "PopFromBackoffQ") == 1
    hint = world.value(
        "queueing_hint_execution_duration_seconds", "NodeResourcesFit", "AssignedPodDelete", "Queue"
    )
    assert hint.count == 1
    assert world.value("pod_scheduling_sli_duration_seconds", "2").count == 1


def test_waits_in_permit_are_timed_by_the_clock() -> None:
    world = World(pod("a").labels(held="1"), pod("b").labels(held="1"))
    world.scheduler.run_until_idle()
    world.clock.advance(4)
    waiting = next(iter(world.scheduler.core.waiting))
    waiting.allow("Picky")
    world.scheduler.run_until_idle()
    world.clock.advance(7)
    world.scheduler.run_until_idle()
    assert world.value("permit_wait_duration_seconds", "Success").total == 4
    assert world.value("permit_wait_duration_seconds", "Unschedulable").total == 11


def test_preemptions_count_their_victims() -> None:
    world = World(*[pod(f"low{i}").requests(cpu="2") for i in range(2)])
    world.scheduler.run_until_idle()
    world.cluster.create(pod("high").requests(cpu="4").priority(10).build())
    world.scheduler.run_until_idle()
    assert world.value("preemption_attempts_total") >= 1
    victims = world.value("preemption_victims")
    assert (victims.count, victims.total) == (1, 2)


def test_calls_for_members_of_a_pod_group_are_sampled() -> None:
    members = [group_pod(f"m{i}", "g", cpu=0.01) for i in range(3 * SAMPLED)]
    metrics = SchedulerMetrics()
    cluster, scheduler, _ = scheduler_of(
        group_node("n"), group("g", len(members)), *members, observers=[metrics], tuning=Tuning(remember=0)
    )
    scheduler.run_until_idle()
    assert all(each.spec.node_name for each in cluster.list("Pod"))
    families = {family.metric.name: family for family in metrics.families()}
    calls = families["scheduler_plugin_execution_duration_seconds"].samples
    measured = calls["NodeResourcesFit", "PreFilter", "Success"]
    assert isinstance(measured, Distribution)
    assert 0 < measured.count < len(members)


def test_calls_of_plugins_are_sampled_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_calls, "random_gap", lambda mean: mean)
    world = World(*[pod(f"p{i}").labels(i=str(i)) for i in range(400)], tuning=Tuning(remember=0))
    world.scheduler.run_until_idle()
    assert world.value("plugin_evaluation_total", "NodeResourcesFit", "PreFilter", DEFAULT) == 400
    measured = world.value("plugin_execution_duration_seconds", "NodeResourcesFit", "PreFilter", "Success")
    assert measured.count == 40
    points = "framework_extension_point_duration_seconds"
    assert world.value(points, "Filter", "Success", DEFAULT).count == 400
    assert world.value(points, "Bind", "Success", DEFAULT).count == 400
    measured = world.value("plugin_execution_duration_seconds", "DefaultBinder", "Bind", "Success")
    assert measured.count == 40


@define(eq=False)
class Preparing:
    """Has something to do before pods with the label ``slow`` are bound, and fails for ``lost`` ones."""

    @hookimpl
    def pre_bind_pre_flight(self, pod: Pod) -> Status | None:
        return None if "slow" in pod.labels else Status.skip()

    @hookimpl
    def pre_bind(self, pod: Pod) -> Status | None:
        return Status.unschedulable("lost") if pod.labels["slow"] == "lost" else None


@pytest.mark.parametrize("threads", [0, 2])
def test_all_runs_of_pre_bind_and_bind_are_timed(threads: int) -> None:
    options: dict[str, Any] = {"executor": ThreadExecutor(threads)} if threads else {}
    labels: list[dict[str, str]] = [{}, {"slow": "yes"}, {"slow": "lost"}]
    pods = [pod(f"p{i}").labels(**labels[i % 3]) for i in range(60)]
    metrics = SchedulerMetrics()
    cluster = InMemoryCluster([node("n").allocatable(cpu="4", pods=500), *pods])
    with Scheduler(cluster, seed=0, observers=[metrics], plugins=[Preparing], **options) as scheduler:
        scheduler.run_until_idle()
    families = {family.metric.name: family.samples for family in metrics.families()}
    points = families["scheduler_framework_extension_point_duration_seconds"]
    runs = {
        labels[:2]: durations.count
        for labels, durations in points.items()
        if isinstance(durations, Distribution)
    }
    assert runs["Bind", "Success"] == 40
    assert runs["PreBind", "Success"] == 20
    assert runs["PreBind", "Unschedulable"] >= 20
    attempts = families["scheduler_scheduling_attempt_duration_seconds"]["scheduled", DEFAULT]
    binds = points["Bind", "Success", DEFAULT]
    assert isinstance(attempts, Distribution)
    assert isinstance(binds, Distribution)
    assert (attempts.count, binds.total < attempts.total) == (40, True)


def test_the_end_of_an_attempt_is_that_of_its_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after it, such as post_bind, is no part of it, as in kube-scheduler."""
    now = 100.0
    for name, module in list(sys.modules.items()):
        if name.startswith("schedframe.") and hasattr(module, "perf_counter"):
            monkeypatch.setattr(module, "perf_counter", lambda: now)

    @define(eq=False)
    class Slow:
        @hookimpl
        def pre_bind(self, pod: Pod) -> None:
            nonlocal now
            now += 3

        @hookimpl
        def post_bind(self, pod: Pod) -> None:
            nonlocal now
            now += 50

    cluster = InMemoryCluster([node("n"), pod("a")])
    with Scheduler(cluster, seed=0, observers=[SchedulerMetrics()], plugins=[Slow]) as scheduler:
        scheduler.run_until_idle()
        attempts = figures_of(scheduler).profiles[DEFAULT].attempts[AttemptResult.SCHEDULED]
        assert attempts.max == pytest.approx(3)


def test_events_have_the_labels_of_the_reference() -> None:
    world = World(*[pod(f"p{i}").requests(cpu="1m") for i in range(2000)], cpu="1")
    world.scheduler.run_until_idle()
    (events,) = [f for f in world.metrics.families() if "event_handling" in f.metric.name]
    names = list(events.samples)
    assert {("UnschedulablePodAdd",), ("AssignedPodAdd",)} <= set(names)
    handled = sum(world.value("event_handling_duration_seconds", *labels).count for labels in names)
    assert 25 <= handled <= 70, "about one of a hundred, the first included"


def test_statistics_have_the_same_figures_as_plain_numbers(world: World) -> None:
    statistics = figures_of(world.scheduler)
    assert statistics.metrics.keys() == {family.metric.name for family in world.metrics.families()}
    plain = statistics.to_dict()["metrics"]["scheduler_schedule_attempts_total"]
    assert {"labels": {"result": "scheduled", "profile": DEFAULT}, "value": 2} in plain
    assert sum(each.count for each in statistics.profiles[DEFAULT].attempts.values()) == 4


def test_without_metrics_nothing_is_counted() -> None:
    scheduler = Scheduler(InMemoryCluster([node("n")]))
    assert scheduler.core.observers.find(Counts) is None
    assert scheduler.core.observers.queue_counts is None
    assert not scheduler.core.observers.follow_attempts


def test_placements_are_the_same_with_and_without_metrics() -> None:
    def placed(**options: Any) -> list[str]:
        clock = VirtualClock()
        nodes = [node(f"n{i}").allocatable(cpu="8", pods=50) for i in range(7)]
        pods = [pod(f"p{i}").requests(cpu=f"{100 + i % 3}m") for i in range(120)]
        cluster = InMemoryCluster([*nodes, *pods], clock=clock)
        with Scheduler(cluster, clock=clock, seed=4, **options) as scheduler:
            scheduler.run_until_idle()
        return [each.spec.node_name for each in cluster.list("Pod")]

    assert placed() == placed(observers=[SchedulerMetrics()])


def test_figures_of_several_schedulers_are_added_up() -> None:
    metrics = SchedulerMetrics()
    for _ in range(2):
        scheduler = Scheduler(InMemoryCluster([node("n"), pod("a"), pod("b")]), observers=[metrics])
        scheduler.run_until_idle()
    (attempts,) = [f for f in metrics.families() if f.metric.name == "scheduler_schedule_attempts_total"]
    assert attempts.samples == {("scheduled", DEFAULT): 4}


def test_other_collectors_may_share_the_registry() -> None:
    registry = CollectorRegistry()
    Gauge("leader", "Whether this replica leads.", registry=registry).set(1)
    metrics = SchedulerMetrics(registry)
    assert b"leader 1.0" in metrics.exposition()
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        Gauge("scheduler_pending_pods", "The name is taken.", registry=registry)


def test_an_embedding_takes_metrics() -> None:
    metrics = SchedulerMetrics()
    with Embedding([Worker("w", {"cpu": 2})], observers=[metrics]) as embedding:
        embedding.submit(Task("t", {"cpu": 1}))
        embedding.step()
    assert b'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1.0' in (
        metrics.exposition()
    )


def test_any_thread_reads_while_pods_are_scheduled() -> None:
    world = World(*[pod(f"p{i}").requests(cpu="1m") for i in range(400)], executor=ThreadExecutor(2))
    failures: list[Exception] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            try:
                world.metrics.exposition()
            except Exception as error:  # noqa: BLE001 - asserted below
                failures.append(error)
                return

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(400, 800):
        world.cluster.create(pod(f"p{i}").requests(cpu="20m").build())
        if not i % 20:
            world.scheduler.run_until_idle()
    world.scheduler.run_until_idle()
    ended.set()
    reader.join()
    world.scheduler.close()
    assert not failures
