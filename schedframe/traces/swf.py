"""The Standard Workload Format, version 2.2: jobs of parallel machines, 18 numbers a line.

https://www.cs.huji.ac.il/labs/parallel/workload/swf.html. −1 means *irrelevant* in every field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

import numpy as np

from .._base.checked import checked_except
from .._base.validators import number
from ..errors import InputError
from .building import PodPart, TraceBuilder
from .columns import NONE, Ints, texts
from .reading import CHUNK, SECOND, OnFault, Paths, Rows, Treated, opened
from .template import NodeTemplate
from .trace import Trace

FIELDS: Final = (
    *("job", "submit", "wait", "run", "allocated", "cpu_time", "used_memory", "procs", "requested_time"),
    *(
        "requested_memory",
        "status",
        "user",
        "group",
        "executable",
        "queue",
        "partition",
        "preceding",
        "think",
    ),
)
_CORE: Final = 1_000
_KIB: Final = 1_024
_PARTS: Final = ("2", "3", "4")
"""Statuses of lines that are parts of a job, which has a line of its own too."""
_CANCELLED: Final = "5"
_CPU_TIME: Final = re.compile(
    r"(request|field\s*9).*cpu\s*time|cpu\s*time.*(request|field\s*9)", re.IGNORECASE
)


@checked_except("path")
def read_swf(
    path: Paths,
    *,
    cores_per_node: int,
    memory_per_node: int = 0,
    requested_time: Literal["auto", "wall", "cpu"] = "auto",
    on_fault: OnFault = "error",
) -> Trace:
    """Read a file in the Standard Workload Format; the head says how many processors there are.

    The format has no nodes: *cores_per_node* says how large they are, *memory_per_node* is in bytes (0:
    memory is not counted). A job on more processors than a node has is a group of pods that start together,
    all but the last of the size of a node. Field 9 is a time on the wall, or CPU time for each processor: by
    *requested_time*, or in ``auto`` by the head; CPU times are not used.

    Treated and counted: jobs without a run time or without processors, and jobs cancelled before they ran,
    are left out; so are the parts of checkpointed jobs (statuses 2 to 4), whose job has a line itself. Jobs
    that ran longer than they requested keep their run time; those that follow another job (field 17) keep
    their recorded submission. A run time of 0 is legal. Raises :class:`InputError`.
    """
    number("cores_per_node", cores_per_node, "give a whole number from 1", whole=True, least=1)
    number("memory_per_node", memory_per_node, "give bytes", whole=True, least=0)
    treated = Treated()
    head: dict[str, str] = {}
    builder = TraceBuilder(treated)
    for rows in _lines(path, treated, head, on_fault):
        is_cpu = requested_time == "cpu" or (requested_time == "auto" and "cpu time" in head)
        _add(builder, rows, cores_per_node, is_cpu, bool(memory_per_node))
    count = -(-_of_head(head, "maxprocs", path) // cores_per_node) or _of_head(head, "maxnodes", path)
    amounts = {"cpu": cores_per_node * _CORE} | ({"memory": memory_per_node} if memory_per_node else {})
    builder.add_nodes([f"node-{index}" for index in range(count)], NodeTemplate(amounts))
    return builder.build(epoch=_of_head(head, "unixstarttime", path))


def _add(builder: TraceBuilder, rows: Rows, cores: int, is_cpu: bool, has_memory: bool) -> None:
    submit, run = rows.whole("submit", SECOND), rows.whole("run", SECOND, least=-SECOND)
    asked, got = rows.whole("procs", least=-1), rows.whole("allocated", least=-1)
    procs = np.where(asked > 0, asked, got)
    _leave_out(rows, run, procs)
    rows.note(asked <= 0, "without requested processors: those that were allocated")
    limit = rows.whole("requested_time", SECOND, least=-SECOND)
    limit = np.full(rows.size, NONE) if is_cpu else np.where(limit < 0, NONE, limit)
    rows.note((limit >= 0) & (run > limit), "ran longer than requested")
    rows.note(rows.whole("preceding", least=-1) > 0, "follows another job: recorded submission")
    memory = np.maximum(rows.whole("requested_memory", _KIB, least=-_KIB), 0) * has_memory
    owners = builder.owners.ids("" if user == "-1" else user for user in rows.column("user"))
    _add_pods(builder, _Jobs(rows, submit, run, limit, procs, memory, owners), cores)


def _leave_out(rows: Rows, run: Ints, procs: Ints) -> None:
    rows.leave_out(rows.is_one_of("status", _PARTS), "left out: parts of a job that was checkpointed")
    rows.leave_out(
        rows.is_one_of("status", (_CANCELLED,)) & (run <= 0), "left out: cancelled before the start"
    )
    rows.leave_out(run < 0, "left out: no run time")
    rows.leave_out(procs <= 0, "left out: no processors")


class _Jobs:
    """The jobs of a part that are kept."""

    def __init__(
        self, rows: Rows, submit: Ints, run: Ints, limit: Ints, procs: Ints, memory: Ints, owner: Any
    ) -> None:
        kept = ~rows.dropped
        self.submit, self.run, self.limit, self.procs = submit[kept], run[kept], limit[kept], procs[kept]
        self.memory, self.owner = memory[kept], owner[kept]
        self.name = np.array(rows.column("job"), np.bytes_)[kept] if kept.any() else texts([])


def _add_pods(builder: TraceBuilder, jobs: _Jobs, cores: int) -> None:
    """Add the pods of *jobs*: one for each node that a job needs."""
    pods = -(-jobs.procs // cores)
    job = np.repeat(np.arange(len(pods)), pods)
    place = np.arange(len(job)) - np.repeat(np.cumsum(pods) - pods, pods)
    size = np.minimum(cores, jobs.procs[job] - place * cores)
    group = np.full(len(pods), NONE, np.int32)
    group[pods > 1] = builder.new_groups(pods[pods > 1])
    suffix = np.where(pods[job] > 1, np.char.add(b"-", place.astype("S")), b"") if len(job) else texts([])
    part = PodPart(
        jobs.submit[job],
        jobs.run[job],
        {"cpu": size * _CORE, "memory": size * jobs.memory[job]},
        name=np.char.add(np.char.add(b"job-", jobs.name[job]), suffix) if len(job) else texts([]),
        requested=jobs.limit[job],
        owner=jobs.owner[job],
        group=group[job],
    )
    builder.add(part)


def _lines(path: Paths, treated: Treated, head: dict[str, str], on_fault: OnFault) -> Iterator[Rows]:
    """Yield the jobs in parts; what comments say is put into *head*."""
    name = str(path)
    part: list[tuple[int, list[str]]] = []
    with opened(path) as stream:
        for number_, line in enumerate(stream, start=1):
            fields = line.split()
            if line.lstrip().startswith(";"):
                _note(line, head)
                continue
            if not fields:
                continue
            if len(fields) != len(FIELDS):
                fix = "give all 18 fields, -1 where one is unknown"
                raise InputError(
                    "", f"has {len(fields)} fields in place of 18", fix, location=f"{name}:{number_}"
                )
            part.append((number_, fields))
            if len(part) == CHUNK:
                yield _rows(name, part, treated, on_fault)
                part = []
    if part:
        yield _rows(name, part, treated, on_fault)


def _rows(name: str, part: list[tuple[int, list[str]]], treated: Treated, on_fault: OnFault) -> Rows:
    lines, fields = zip(*part, strict=True)
    cells = dict(zip(FIELDS, zip(*fields, strict=True), strict=True))
    return Rows(name, lines[0], cells, len(part), treated, on_fault, lines[-1] - lines[0] == len(part) - 1)


def _note(line: str, head: dict[str, str]) -> None:
    key, colon, value = line.strip().lstrip("; ").partition(":")
    if colon:
        head.setdefault(key.strip().lower(), value.strip())
    if _CPU_TIME.search(line):
        head["cpu time"] = line


def _of_head(head: dict[str, str], key: str, path: Paths) -> int:
    found = re.match(r"-?\d+", head.get(key, "0"))
    if found is None:
        fix = "write a whole number"
        raise InputError(key, f"{head[key]!r} is not a number", fix, location=str(path))
    return max(0, int(found[0]))
