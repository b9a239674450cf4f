"""Samplers, reloads, metrics beside, embeddings, and schedulers without tracing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, SamplingResult

from schedframe import (
    InMemoryCluster,
    InputError,
    Scheduler,
)
from schedframe.embed import Embedding, Task, Worker
from schedframe.metrics import SchedulerMetrics
from schedframe.testing import node, pod
from schedframe.tracing import Tracing
from schedframe.tracing.attempts import SpanTracer
from tests.tracing.world import ROOT, ByName, World, attributes, tracer_of


def test_pods_that_are_not_sampled_leave_nothing() -> None:
    world = World(pod("a"), pod("b").labels(**{"no-volume": ""}), sampler=ALWAYS_OFF)
    world.scheduler.run_until_idle()
    assert not world.spans()
    tracer: Any = world.scheduler.core.observers.find(SpanTracer)
    assert tracer.current is None
    assert not tracer._open


def test_the_sampler_sees_the_pod_and_its_choice_is_kept_to() -> None:
    sampler = ByName("b")
    world = World(pod("a"), pod("b"), pod("c"), sampler=sampler)
    world.scheduler.run_until_idle()
    (root,) = world.roots()
    assert attributes(root)["k8s.pod.name"] == "b"
    assert len({span.context.trace_id for span in world.spans() if span.context is not None}) == 1
    asked = [each["k8s.pod.name"] for each in sampler.asked if "k8s.pod.name" in each]
    assert asked == ["a", "b", "c"]


def test_errors_of_the_sampler_are_faults_and_stop_nothing() -> None:
    class Broken(ByName):
        def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
            raise RuntimeError("no sample")

    world = World(pod("a"), sampler=Broken("a"))
    world.scheduler.run_until_idle()
    placed = world.cluster.get("Pod", "default/a")
    assert placed is not None
    assert placed.spec.node_name
    assert world.faults == ["no sample"]


def test_a_new_configuration_is_traced_too() -> None:
    world = World(pod("a"))
    world.scheduler.run_until_idle()
    world.scheduler.reload(None)
    world.cluster.create(pod("b").build())
    world.scheduler.run_until_idle()
    assert "bind" in world.children(world.roots()[1])


def test_metrics_and_tracing_go_together() -> None:
    metrics = SchedulerMetrics()
    world = World(pod("a"), observers=[metrics])
    world.scheduler.run_until_idle()
    assert list(world.children(world.roots()[0])) == ["search", "reserve", "permit", "pre_bind", "bind"]
    assert b'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1.0' in (
        metrics.exposition()
    )


def test_placements_are_the_same_with_tracing() -> None:
    def placements(**options: Any) -> list[str]:
        cluster = InMemoryCluster(
            [
                *[node(f"n{i}").allocatable(cpu="4", pods=10) for i in range(6)],
                *[pod(f"p{i}").requests(cpu="300m") for i in range(40)],
            ]
        )
        Scheduler(cluster, seed=3, **options).run_until_idle()
        return [f"{each.key} {each.spec.node_name}" for each in cluster.list("Pod")]

    _, tracer = tracer_of()
    assert placements(observers=[Tracing(tracer)]) == placements()


def test_an_embedding_takes_tracing() -> None:
    exporter, tracer = tracer_of()
    embedding: Embedding[Any, Any] = Embedding(
        [Worker("w", {"cpu": 4})],
        [Task("t", {"cpu": 1})],
        on_place=lambda task, worker: None,
        observers=[Tracing(tracer)],
    )
    embedding.run_until_idle()
    (root,) = [span for span in exporter.get_finished_spans() if span.name == ROOT]
    assert attributes(root)["schedframe.result"] == "scheduled"


def test_without_a_tracer_that_of_the_program_is_taken() -> None:
    assert Tracing().tracer is not None


def test_what_is_no_tracing_is_refused() -> None:
    wrong: Any = object()
    with pytest.raises(InputError, match="observers"):
        Scheduler(InMemoryCluster(), observers=[wrong])


def test_nothing_is_traced_or_imported_without_tracing() -> None:
    code = (
        "import sys; from schedframe import *; import schedframe.cli.main\n"
        "s = Scheduler(InMemoryCluster())\n"
        "assert not s.core.observers.follow_attempts\n"
        "assert not [m for m in sys.modules if m.startswith(('opentelemetry', 'schedframe.tracing'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ModuleNotFoundError, match=r"schedframe\[tracing\]"):
        Tracing()
