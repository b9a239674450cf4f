"""Operations of scheduler_perf that wait, and those that begin and end a measurement."""

from __future__ import annotations

from ..bench_run import BenchRun
from ..pod_tracker import PodSelection
from .definitions import Fields
from .step import Step


def barrier(bench: BenchRun, step: Step) -> None:
    """Wait until pods are scheduled, or until all were attempted."""
    if step.fields.text("stageRequirement") == "Attempted":
        bench.schedule_until_idle()
        return
    selection = _selection(step.fields)
    bench.schedule_pods([key for key, pod in bench.tracker.pending.items() if selection.matches(pod)])


def sleep(bench: BenchRun, step: Step) -> None:
    """Let time pass; pods are scheduled during it."""
    bench.schedule_for(step.fields.seconds("duration", step.fields.required("duration")))


def start_collecting(bench: BenchRun, step: Step) -> None:
    """Begin a measurement."""
    bench.start_measuring(_selection(step.fields))


def stop_collecting(bench: BenchRun, step: Step) -> None:
    """End the measurement."""
    bench.stop_measuring()


def _selection(fields: Fields) -> PodSelection:
    return PodSelection(frozenset(fields.texts("namespaces")), fields.mapping("labelSelector"))
