"""The openb trace: Alibaba's cluster-trace-gpu-v2023, lists of pods and nodes as CSV.

Seconds from the start of the trace; thousandths of a core, MiB, GPUs, and thousandths of one GPU.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from .._base.checked import checked_except
from .building import PodPart, TraceBuilder
from .columns import NONE, Ints, Names
from .reading import SECOND, OnFault, Paths, Rows, Treated, csv_rows
from .template import NodeTemplate
from .trace import Trace

GPU: Final = "alibabacloud.com/gpu"
GPU_MILLI: Final = "alibabacloud.com/gpu-milli"
GPU_MODEL: Final = "alibabacloud.com/gpu-card-model"
MIB: Final = 2**20
_TIMES: Final = ("creation_time", "deletion_time", "scheduled_time")
_WHOLE_GPU: Final = 1000


@checked_except("pods", "nodes")
def read_openb(
    pods: Paths,
    nodes: Paths | None = None,
    *,
    gpu: Literal["shared", "whole"] = "shared",
    on_fault: OnFault = "error",
) -> Trace:
    """Read a list of pods of the openb trace, and a list of its nodes.

    *gpu*: ``shared`` counts thousandths of GPUs (``alibabacloud.com/gpu-milli``), ``whole`` counts GPUs of
    which no two pods have a part. A pod runs from ``scheduled_time`` to ``deletion_time``. Treated and
    counted: a pod that was never scheduled runs from its creation to its deletion; lists without times (those
    called multigpu) have pods that arrive a second apart and never end. Raises :class:`InputError`.
    """
    treated = Treated()
    builder, models = TraceBuilder(treated, namespace="openb"), Names()
    number = 0
    for rows in csv_rows(pods, treated, on_fault=on_fault):
        builder.add(_pods(rows, models, gpu, number), rows)
        number += rows.size
    if nodes is not None:
        for rows in csv_rows(nodes, treated, on_fault=on_fault):
            _add_nodes(builder, rows, gpu)
    return builder.build()


def _pods(rows: Rows, models: Names, gpu: str, number: int) -> PodPart:
    gpus, milli = rows.whole("num_gpu"), rows.whole("gpu_milli")
    part = np.where(gpus == 1, milli, _WHOLE_GPU)
    amount = {GPU_MILLI: gpus * part} if gpu == "shared" else {GPU: gpus}
    submit, run = _times(rows, number)
    requests = {"cpu": rows.whole("cpu_milli"), "memory": rows.whole("memory_mib", MIB), **amount}
    labels = {}
    if rows.has("gpu_spec"):
        labels[GPU_MODEL] = (np.where(gpus > 0, rows.ids("gpu_spec", models), NONE), models)
    return PodPart(submit, run, requests, name=rows.texts("name"), labels=labels)


def _times(rows: Rows, number: int) -> tuple[Ints, Ints]:
    """Return arrival and run time of each row; *number* is that of the first one."""
    if not any(map(rows.has, _TIMES)):
        rows.note(np.ones(rows.size, bool), "without times: arrive a second apart, never end")
        return (number + np.arange(rows.size)) * SECOND, np.full(rows.size, NONE)
    created, deleted = rows.whole("creation_time", SECOND), rows.whole("deletion_time", SECOND)
    scheduled = rows.whole("scheduled_time", SECOND, missing=NONE)
    rows.note(scheduled == NONE, "never scheduled: run from creation to deletion")
    start = np.where(scheduled == NONE, created, scheduled)
    fix = "correct the times: creation, scheduling, deletion"
    rows.refuse(start < created, "scheduled_time", "is before creation_time", fix)
    rows.refuse(deleted < start, "deletion_time", "is before the start", fix)
    return created, np.maximum(deleted - start, 0)


def _add_nodes(builder: TraceBuilder, rows: Rows, gpu: str) -> None:
    cpu, memory, gpus = rows.whole("cpu_milli"), rows.whole("memory_mib", MIB), rows.whole("gpu")
    names, models = rows.column("sn"), rows.column("model")
    for index in np.flatnonzero(~rows.dropped).tolist():
        amounts = {"cpu": int(cpu[index]), "memory": int(memory[index])}
        count, labels = int(gpus[index]), {}
        if count:
            amounts |= {GPU_MILLI: _WHOLE_GPU * count} if gpu == "shared" else {GPU: count}
            labels = {GPU_MODEL: models[index]}
        builder.add_nodes([names[index]], NodeTemplate(amounts, labels))
