"""The Alibaba GPU trace of 2020 (cluster-trace-gpu-v2020): tables of jobs, tasks and machines without heads.

A task is a group of equal instances that start together. Seconds; 100 is one core or one GPU; GiB.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from .._base.checked import checked_except
from ..errors import InputError
from .building import PodPart, TraceBuilder
from .columns import NONE, Ids, Ints, Names
from .openb import GPU_MILLI, GPU_MODEL
from .reading import SECOND, OnFault, Paths, Rows, Treated, csv_rows
from .template import NodeTemplate
from .trace import Trace

JOBS: Final = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
TASKS: Final = (
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
    *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
)
MACHINES: Final = ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu")
TAGS: Final = ("inst_id", "user", "gpu_type_spec", "group", "workload")
_GIB: Final = 2**30
_MILLI: Final = 10
"""Thousandths in a hundredth."""


@checked_except("folder")
def read_alibaba_2020(folder: Paths, *, on_fault: OnFault = "error") -> Trace:
    """Read the tables in *folder*: ``pai_job_table.csv``, ``pai_task_table.csv`` and, if there,
    ``pai_machine_spec.csv`` and ``pai_group_tag_table.csv``; each may end in ``.gz``.

    The start of a job is its submission, that of a task its launch. The instances of a task are a group. GPUs
    are thousandths (``alibabacloud.com/gpu-milli``), models those that the table of tags demands. Treated and
    counted: tasks without a start or an end are left out, as are those whose job is in no table; one that
    ended before it started too. Raises :class:`InputError`.
    """
    treated = Treated()
    builder, jobs = TraceBuilder(treated), _Jobs()
    for rows in csv_rows(_needed(folder, "pai_job_table"), treated, header=JOBS, on_fault=on_fault):
        jobs.add(rows, builder.owners)
    jobs.close(_models(folder, treated, on_fault))
    for rows in csv_rows(_needed(folder, "pai_task_table"), treated, header=TASKS, on_fault=on_fault):
        _add(builder, rows, jobs)
    machines = _there(folder, "pai_machine_spec")
    if machines is not None:
        for rows in csv_rows(machines, treated, header=MACHINES, on_fault=on_fault):
            _add_machines(builder, rows)
    return builder.build()


class _Jobs:
    """Submission, owner and demanded model by job."""

    def __init__(self) -> None:
        self.names, self.instances, self.models = Names(), Names(), Names()
        self._parts: list[tuple[Ids, Ints, Ids, Ids]] = []
        self.submit: Ints
        self.owner: Ids
        self.model: Ids

    def add(self, rows: Rows, owners: Names) -> None:
        """Add a part of the table of jobs. Jobs without a start are left out."""
        start = rows.whole("start_time", SECOND, missing=NONE)
        rows.leave_out(start == NONE, "left out: jobs without a start")
        kept = ~rows.dropped
        columns = (
            rows.ids("job_name", self.names),
            start,
            rows.ids("user", owners),
            rows.ids("inst_id", self.instances),
        )
        self._parts.append(tuple(each[kept] for each in columns))  # type: ignore[arg-type]  # as many

    def close(self, demanded: dict[str, str]) -> None:
        """Make the columns by id of a job. A job that is there twice counts as its first line."""
        count = len(self.names)
        self.submit = np.full(count, NONE, np.int64)
        self.owner, self.model = np.full(count, NONE, np.int32), np.full(count, NONE, np.int32)
        model = np.array(
            [*self.models.ids(demanded.get(each, "") for each in self.instances.all()), NONE], np.int32
        )
        for part in reversed(self._parts):
            job, submit, owner, instance = (
                each[::-1] for each in part
            )  # so that the first line is written last
            self.submit[job], self.owner[job], self.model[job] = submit, owner, model[instance]
        self._parts.clear()


def _add(builder: TraceBuilder, rows: Rows, jobs: _Jobs) -> None:
    job = rows.ids("job_name", jobs.names)
    is_known = job < len(jobs.submit)
    job = np.where(is_known, job, 0)
    is_known &= jobs.submit[job] != NONE if len(jobs.submit) else False
    rows.leave_out(~is_known, "left out: tasks whose job is in no table")
    start = rows.whole("start_time", SECOND, missing=NONE)
    end = rows.whole("end_time", SECOND, missing=NONE)
    rows.leave_out((start == NONE) | (end == NONE), "left out: tasks that had not started or ended")
    rows.leave_out(end < start, "left out: tasks that end before they start")
    count = rows.whole("inst_num", missing=1)
    rows.refuse(count < 1, "inst_num", "is below 1", "write the number of instances")
    kept = np.flatnonzero(~rows.dropped)
    amounts = {
        "cpu": rows.whole("plan_cpu", _MILLI, missing=0),
        "memory": rows.whole("plan_mem", _GIB, missing=0),
        GPU_MILLI: rows.whole("plan_gpu", _MILLI, missing=0),
    }
    submit = jobs.submit[job] if len(jobs.submit) else np.zeros(rows.size, np.int64)
    rows.note(start < submit, "launched before the submission of the job: submitted at the launch")
    submit = np.minimum(submit, start)
    each = np.repeat(kept, count[kept])
    group = np.full(len(kept), NONE, np.int32)
    group[count[kept] > 1] = builder.new_groups(count[kept][count[kept] > 1])
    part = PodPart(
        submit[each],
        (end - start)[each],
        {name: amount[each] for name, amount in amounts.items()},
        owner=jobs.owner[job][each] if len(jobs.owner) else None,
        group=np.repeat(group, count[kept]),
        labels={GPU_MODEL: (jobs.model[job][each], jobs.models)} if len(jobs.model) else {},
    )
    builder.add(part)


def _add_machines(builder: TraceBuilder, rows: Rows) -> None:
    cpu, gpus = rows.whole("cap_cpu", 1_000), rows.whole("cap_gpu", 1_000, missing=0)
    memory, models = rows.whole("cap_mem", _GIB), rows.column("gpu_type")
    names = rows.column("machine")
    for index in np.flatnonzero(~rows.dropped).tolist():
        amounts, labels = {"cpu": int(cpu[index]), "memory": int(memory[index])}, {}
        if gpus[index]:
            amounts[GPU_MILLI], labels[GPU_MODEL] = int(gpus[index]), models[index]
        builder.add_nodes([names[index]], NodeTemplate(amounts, labels))


def _models(folder: Paths, treated: Treated, on_fault: OnFault) -> dict[str, str]:
    """Return instance → GPU model that it demands."""
    path = _there(folder, "pai_group_tag_table")
    if path is None:
        return {}
    parts = csv_rows(path, treated, header=TAGS, on_fault=on_fault)
    pairs = ((rows.column("inst_id"), rows.column("gpu_type_spec")) for rows in parts)
    return {
        instance: model for ids, models in pairs for instance, model in zip(ids, models, strict=True) if model
    }


def _there(folder: Paths, name: str) -> Path | None:
    """Return the path of a table, ``None`` if there is none."""
    paths = (Path(folder) / f"{name}{suffix}" for suffix in (".csv", ".csv.gz"))
    return next((path for path in paths if path.exists()), None)


def _needed(folder: Paths, name: str) -> Path:
    path = _there(folder, name)
    if path is None:
        raise InputError(
            "folder", f"has no {name}.csv", "unpack the tables of the trace", location=str(folder)
        )
    return path
