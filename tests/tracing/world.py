"""A scheduler with tracing on a cluster in memory, and its spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define, field
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, Sampler, SamplingResult
from opentelemetry.trace import Tracer

from schedframe import InMemoryCluster, Pod, Scheduler, Status, VirtualClock, hookimpl
from schedframe.cycle import observing
from schedframe.testing import node
from schedframe.tracing import Tracing
from tests.by_labels import Picky

ROOT = "schedule_pod"


@define(eq=False)
class Steps(Picky):
    """Does at each extension point what the labels of the pod ask for."""

    @hookimpl
    def filter(self, pod: Pod) -> Status | None:
        return Status.unschedulable("not this one") if "unfit" in pod.labels else None

    @hookimpl
    def pre_bind(self, pod: Pod) -> Status | None:
        if "no-volume" in pod.labels:
            raise RuntimeError("no volume")
        return None


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
        self.exporter, tracer = tracer_of(sampler)
        self.faults: list[str] = []
        faults = observing(faulted=lambda status, pod: self.faults.append(status.message))
        options.setdefault("plugins", [Steps])
        self.scheduler = Scheduler(
            self.cluster,
            clock=self.clock,
            seed=0,
            **{**options, "observers": [Tracing(tracer), faults, *options.get("observers", ())]},
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


def tracer_of(sampler: Sampler = ALWAYS_ON) -> tuple[InMemorySpanExporter, Tracer]:
    """Return a tracer, and the exporter that keeps its spans."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter, provider.get_tracer("tests")


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})
