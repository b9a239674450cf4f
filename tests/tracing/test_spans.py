"""The spans of attempts, as an exporter of OpenTelemetry's SDK gets them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import define, field
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Decision, Sampler, SamplingResult
from opentelemetry.trace import StatusCode

from schedframe import (
    AsyncioExecutor,
    InMemoryCluster,
    InputError,
    Pod,
    Scheduler,
    Status,
    ThreadExecutor,
    VirtualClock,
    hookimpl,
)
from schedframe.cycle.binding.bind_task import NO_BINDER
from schedframe.embed import Embedding, Task, Worker
from schedframe.metrics import SchedulerMetrics
from schedframe.testing import node, pod
from schedframe.tracing import Tracing
from tests.cycle.pod_groups import helpers as groups

ROOT = "schedule_pod"


@define(eq=False)
class Steps:
    """Does at each extension point what the labels of the pod say."""

    @hookimpl
    def filter(self, pod: Pod) -> Status | None:
        return Status.unschedulable("not this one") if "unfit" in pod.labels else None

    @hookimpl
    def reserve(self, pod: Pod) -> Status | None:
        return Status.unschedulable("refused at reserve") if "refused" in pod.labels else None

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return Status.wait(10) if "held" in pod.labels else None

    @hookimpl
    def pre_bind(self, pod: Pod) -> Status | None:
        if "broken" in pod.labels:
            raise RuntimeError("no volume")
        return None


@define(eq=False)
class AsyncPreBind:
    """Awaits something before a pod is bound."""

    @hookimpl
    async def pre_bind(self, pod: Pod) -> None:
        await asyncio.sleep(0.006)


@define(eq=False)
class ByName(Sampler):
    """Takes the attempts for one pod, with their children."""

    name: str
    asked: list[Any] = field(factory=list)

    def should_sample(
        self, parent_context: Any, trace_id: int, name: str, *args: Any, **kwargs: Any
    ) -> SamplingResult:
        attributes = kwargs.get("attributes") or (args[1] if len(args) > 1 else None) or {}
        self.asked.append(attributes)
        taken = name != ROOT or attributes.get("k8s.pod.name") == self.name
        return SamplingResult(Decision.RECORD_AND_SAMPLE if taken else Decision.DROP, attributes)

    def get_description(self) -> str:
        return "by name"


class World:
    """A scheduler with tracing on a cluster in memory."""

    def __init__(self, *pods: Any, sampler: Sampler = ALWAYS_ON, nodes: int = 2, **options: Any) -> None:
        self.clock = VirtualClock()
        given = [node(f"n{i}").allocatable(cpu="4", pods=100) for i in range(nodes)]
        self.cluster = InMemoryCluster([*given, *pods], clock=self.clock)
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = provider.get_tracer("tests")
        self.faults: list[str] = []
        options.setdefault("plugins", [Steps])
        self.scheduler = Scheduler(
            self.cluster,
            clock=self.clock,
            seed=0,
            tracing=Tracing(self.tracer),
            on_fault=lambda status, pod: self.faults.append(status.message),
            **options,
        )

    def spans(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()

    def roots(self) -> list[ReadableSpan]:
        return [span for span in self.spans() if span.name == ROOT]

    def children(self, parent: ReadableSpan) -> dict[str, ReadableSpan]:
        """Return the children of a span by name."""
        assert parent.context is not None
        of = parent.context.span_id
        found = [each for each in self.spans() if each.parent is not None and each.parent.span_id == of]
        found.sort(key=lambda span: span.start_time or 0)
        assert len({span.name for span in found}) == len(found)
        return {span.name: span for span in found}


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_pod_is_traced_from_the_queue_to_its_node() -> None:
    world = World(pod("a").requests(cpu="1"), remember=0)
    world.scheduler.run_until_idle()
    (root,) = world.roots()
    placed = world.cluster.get("Pod", "default/a")
    assert placed is not None
    assert attributes(root) == {
        "k8s.namespace.name": "default",
        "k8s.pod.name": "a",
        "k8s.pod.uid": placed.metadata.uid,
        "k8s.node.name": placed.spec.node_name,
        "schedframe.profile": "default-scheduler",
        "schedframe.attempt": 1,
        "schedframe.result": "scheduled",
    }
    assert root.status.status_code is StatusCode.UNSET
    children = world.children(root)
    assert list(children) == ["search", "reserve", "permit", "pre_bind", "bind"]
    assert list(world.children(children["search"])) == ["pre_filter", "filter", "pre_score", "score"]
    assert children["bind"].attributes == {"schedframe.plugin": "DefaultBinder"}
    assert children["pre_bind"].attributes == {"schedframe.plugin": "Steps"}


def test_spans_lie_within_their_parents() -> None:
    world = World(*[pod(f"p{i}").requests(cpu="1") for i in range(5)])
    world.scheduler.run_until_idle()
    by_id = {span.context.span_id: span for span in world.spans() if span.context is not None}
    for span in world.spans():
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.start_time <= span.end_time
        if span.parent is not None:
            parent = by_id[span.parent.span_id]
            assert parent.start_time is not None
            assert parent.end_time is not None
            # The clock is read once more at the end of a step; a nanosecond may be rounded up.
            assert parent.start_time - 1000 <= span.start_time
            assert span.end_time <= parent.end_time + 1000


def test_pods_that_are_not_sampled_leave_nothing() -> None:
    world = World(pod("a"), pod("b").labels(broken=""), sampler=ALWAYS_OFF)
    world.scheduler.run_until_idle()
    assert not world.spans()
    tracer: Any = world.scheduler.core.tracing
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


def test_a_pod_without_a_node_has_its_reasons_and_post_filter() -> None:
    world = World(pod("a").labels(unfit=""))
    world.scheduler.run_until_idle()
    (root,) = world.roots()
    found = attributes(root)
    assert found["schedframe.result"] == "unschedulable"
    assert found["schedframe.rejected_by"] == ("Steps",)
    assert "not this one" in found["schedframe.message"]
    assert "k8s.node.name" not in found
    assert root.status.status_code is StatusCode.UNSET
    children = world.children(root)
    assert list(children) == ["search", "post_filter"]
    assert children["post_filter"].attributes is not None
    assert children["post_filter"].attributes["schedframe.status"] == "Unschedulable"


def test_filters_that_preemption_runs_are_part_of_post_filter() -> None:
    low = [pod(f"low{i}").priority(1).requests(cpu="4").on_node(f"n{i}") for i in range(2)]
    world = World(*low, pod("high").priority(100).requests(cpu="4"))
    world.scheduler.run_until_idle()
    first = world.roots()[0]
    children = world.children(first)
    assert list(children) == ["search", "post_filter"]
    searched = world.children(children["search"])
    assert "filter" in searched
    assert (searched["filter"].end_time or 0) <= (children["post_filter"].start_time or 0)


def test_attempts_are_numbered_and_have_a_trace_each() -> None:
    world = World(pod("a").labels(refused=""))
    world.scheduler.run_until_idle()
    world.clock.advance(400)
    world.scheduler.run_until_idle()
    first, second = world.roots()
    assert [attributes(each)["schedframe.attempt"] for each in (first, second)] == [1, 2]
    assert first.context is not None
    assert second.context is not None
    assert first.context.trace_id != second.context.trace_id
    assert attributes(first)["schedframe.message"].endswith("refused at reserve.")
    assert attributes(first)["k8s.node.name"] in {"n0", "n1"}
    assert attributes(world.children(first)["reserve"])["schedframe.plugin"] == "Steps"


@pytest.mark.parametrize("executor", [None, ThreadExecutor])
def test_a_failed_pre_bind_is_an_error(executor: Any) -> None:
    world = World(pod("a").labels(broken=""), executor=executor and executor(2))
    world.scheduler.run_until_idle()
    (root,) = world.roots()
    assert attributes(root)["schedframe.result"] == "error"
    assert root.status.status_code is StatusCode.ERROR
    assert "no volume" in (root.status.description or "")
    pre_bind = world.children(root)["pre_bind"]
    assert pre_bind.status.status_code is StatusCode.ERROR
    (event,) = pre_bind.events
    assert (event.attributes or {})["exception.message"] == "no volume"
    assert "bind" not in world.children(root)
    world.scheduler.close()


def test_a_bind_that_the_cluster_refuses_is_an_error() -> None:
    world = World(pod("a"))

    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionError("no answer")

    world.cluster.bind = refuse  # type: ignore[method-assign]  # a cluster that fails
    world.scheduler.run_until_idle()
    root = world.roots()[0]
    assert attributes(root)["schedframe.result"] == "error"
    assert root.status.status_code is StatusCode.ERROR
    assert "no answer" in (root.status.description or "")
    assert world.children(root)["bind"].status.status_code is StatusCode.ERROR


def test_a_bind_plugin_that_skips_is_no_error_of_its_own() -> None:
    class Skips:
        @hookimpl
        def bind(self) -> Status:
            return Status.skip()

    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"bind": {"disabled": [{"name": "DefaultBinder"}]}}}],
    }
    world = World(pod("a"), plugins=[Skips], config=config)
    world.scheduler.run_until_idle()
    root = world.roots()[0]
    assert root.status.description == NO_BINDER.message
    bind = world.children(root)["bind"]
    assert bind.status.status_code is StatusCode.UNSET
    assert attributes(bind)["schedframe.status"] == "Skip"


def test_the_wait_in_permit_is_a_span_and_the_attempt_ends_with_the_binding() -> None:
    world = World(pod("a").labels(held=""), pod("b"))
    world.scheduler.run_until_idle()
    assert [attributes(each)["k8s.pod.name"] for each in world.roots()] == ["b"]
    (waiting,) = world.scheduler.core.waiting
    waiting.allow("Steps")
    world.scheduler.run_until_idle()
    root = world.roots()[1]
    assert attributes(root)["schedframe.result"] == "scheduled"
    children = world.children(root)
    assert list(children) == ["search", "reserve", "permit", "wait_on_permit", "pre_bind", "bind"]
    assert (children["permit"].end_time or 0) <= (children["wait_on_permit"].start_time or 0)
    other = world.children(world.roots()[0])
    assert (children["wait_on_permit"].end_time or 0) >= (other["bind"].end_time or 0)


def test_a_wait_that_times_out_is_a_rejection() -> None:
    world = World(pod("a").labels(held=""))
    world.scheduler.run_until_idle()
    world.clock.advance(11)
    world.scheduler.schedule_one()
    root = world.roots()[0]
    assert attributes(root)["schedframe.result"] == "unschedulable"
    assert attributes(root)["schedframe.rejected_by"] == ("Steps",)
    waited = world.children(root)["wait_on_permit"]
    assert attributes(waited)["schedframe.status"] == "Unschedulable"


def test_attempts_that_wait_when_the_scheduler_is_closed_end() -> None:
    world = World(pod("a").labels(held=""))
    world.scheduler.run_until_idle()
    world.scheduler.close()
    (root,) = world.roots()
    assert attributes(root)["schedframe.result"] == "error"
    assert "closed" in (root.status.description or "")


def test_binding_in_other_threads_belongs_to_its_attempt() -> None:
    world = World(*[pod(f"p{i}").requests(cpu="10m") for i in range(40)], executor=ThreadExecutor(4))
    world.scheduler.run_until_idle()
    world.scheduler.close()
    assert len(world.roots()) == 40
    for root in world.roots():
        children = world.children(root)
        assert {"search", "reserve", "permit", "pre_bind", "bind"} == set(children)


def test_hooks_that_are_awaited_are_timed_to_their_end() -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        world = World(pod("a"), executor=AsyncioExecutor(loop), plugins=[AsyncPreBind])
        world.scheduler.run_until_idle()
        world.scheduler.close()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    (root,) = world.roots()
    assert attributes(root)["schedframe.result"] == "scheduled"
    children = world.children(root)
    pre_bind = children["pre_bind"]
    assert attributes(pre_bind)["schedframe.plugin"] == "AsyncPreBind"
    assert (pre_bind.end_time or 0) - (pre_bind.start_time or 0) >= 5_000_000
    assert (pre_bind.end_time or 0) <= (children["bind"].start_time or 0)


def test_points_whose_answers_the_equivalence_cache_has_are_left_out() -> None:
    world = World(*[pod(f"p{i}").requests(cpu="10m") for i in range(3)], plugins=[])
    world.scheduler.run_until_idle()
    first, *_, last = world.roots()
    assert list(world.children(last)) == ["search", "bind"]
    assert "pre_filter" in world.children(world.children(first)["search"])
    assert "pre_filter" not in world.children(world.children(last)["search"])


def test_a_new_configuration_is_traced_too() -> None:
    world = World(pod("a"))
    world.scheduler.run_until_idle()
    world.scheduler.reload(None)
    world.cluster.create(pod("b").build())
    world.scheduler.run_until_idle()
    assert "bind" in world.children(world.roots()[1])


def test_metrics_and_tracing_go_together() -> None:
    metrics = SchedulerMetrics()
    world = World(pod("a"), metrics=metrics)
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

    provider = TracerProvider(shutdown_on_exit=False)
    assert placements(tracing=Tracing(provider.get_tracer("tests"))) == placements()


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


def test_an_embedding_takes_tracing() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    embedding: Embedding[Any, Any] = Embedding(
        [Worker("w", {"cpu": 4})],
        [Task("t", {"cpu": 1})],
        on_place=lambda task, worker: None,
        tracing=Tracing(provider.get_tracer("tests")),
    )
    embedding.run_until_idle()
    (root,) = [span for span in exporter.get_finished_spans() if span.name == ROOT]
    assert attributes(root)["schedframe.result"] == "scheduled"


def test_members_of_a_group_are_traced_one_by_one() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider.get_tracer("tests"))
    cluster, scheduler, clock = groups.scheduler_of(
        groups.node("n", cpu=2), groups.group("g", 3), tracing=tracing
    )
    for name in "abc":
        cluster.create(groups.pod(name, "g"))
    scheduler.run_until_idle()
    cluster.create(groups.node("m", cpu=2))
    clock.advance(20)
    scheduler.run_until_idle()
    roots = [attributes(span) for span in exporter.get_finished_spans() if span.name == ROOT]
    found = [(each["k8s.pod.name"], each["schedframe.result"]) for each in roots]
    assert sorted(found) == [(name, result) for name in "abc" for result in ("scheduled", "unschedulable")]


def test_without_a_tracer_that_of_the_program_is_taken() -> None:
    assert Tracing().tracer is not None


def test_what_is_no_tracing_is_refused() -> None:
    wrong: Any = object()
    with pytest.raises(InputError, match="tracing"):
        Scheduler(InMemoryCluster(), tracing=wrong)


def test_nothing_is_traced_or_imported_without_tracing() -> None:
    code = (
        "import sys; from schedframe import *; import schedframe.cli.main\n"
        "s = Scheduler(InMemoryCluster())\n"
        "assert s.core.tracing is None and not s.core.times_attempts\n"
        "assert not [m for m in sys.modules if m.startswith(('opentelemetry', 'schedframe.tracing'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ModuleNotFoundError, match=r"schedframe\[tracing\]"):
        Tracing()
