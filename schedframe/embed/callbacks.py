"""Callbacks of an embedding: their errors, and why a task is not placed in words of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._base.plugin_faults import message_of, plugin_faults
from ..api import Pod
from ..cycle import Decision
from ..cycle.core import Core
from ..cycle.rejections import KnownRejections
from ..framework import Code, Status
from .embedded_cluster import Unplaced
from .translation import failure_text, in_words_of_tasks
from .values import NotStarted, PlacementFailure


def call(core: Core, name: str, pod: Pod, callback: Callable[..., object], *arguments: Any) -> None:
    """Call *callback*, an option of that name; an error is a fault of it, reported with the key of the task.

    Raises :class:`NotStarted` as ``on_place`` does, and what is no error, such as ``KeyboardInterrupt``.
    """
    try:
        callback(*arguments)
    except BaseException as error:
        if isinstance(error, NotStarted) and name == "on_place":
            raise
        core.report(fault_of(name, pod, error), pod, "embedding")
        if not isinstance(error, plugin_faults()):
            raise


def fault_of(callback: str, pod: Pod, error: BaseException) -> Status:
    """Return the fault that *error* of *callback* is, with the key of the task."""
    text = f"{callback} of task {pod.name}: {message_of(error)}"
    return Status(Code.ERROR, (text,), callback.partition("(")[0], error)


def reasons_of(
    event: Unplaced, decision: Decision | None, rejections: KnownRejections | None
) -> PlacementFailure:
    """Return the reasons with their numbers, where they are known, else the pod's condition."""
    counts, workers = _counts_of(event, decision, rejections)
    fault = event.condition.reason != "Unschedulable"
    reasons = {in_words_of_tasks(why): count for why, count in counts.items()}
    if not reasons:
        return PlacementFailure(in_words_of_tasks(event.condition.message), fault=fault)
    more = f"room is being made on {event.nominated}" if event.nominated else ""
    return PlacementFailure(failure_text(reasons, workers, more), reasons, fault)


def _counts_of(
    event: Unplaced, decision: Decision | None, rejections: KnownRejections | None
) -> tuple[Mapping[str, int], int]:
    """Return reason → workers, and all workers: of *decision*, or of an equal task that was tried."""
    if decision is not None and decision.pod.uid == event.pod.uid:
        diagnosis = decision.diagnosis
        return ({}, 0) if diagnosis is None else (diagnosis.reasons(), diagnosis.num_nodes)
    pod_class = None if rejections is None else rejections.class_of(event.pod)
    if pod_class is None or pod_class.report != event.condition.message:
        return {}, 0
    return pod_class.reasons, pod_class.num_nodes
