"""The openb trace (Alibaba's cluster-trace-gpu-v2023) as nodes, pods and types of task.

The trace is a folder with ``openb_node_list_*.csv`` and ``openb_pod_list_*.csv``; it is not part of this
package.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from attrs import evolve, frozen

from schedframe import Container, Node, ObjectMeta, Pod, PodSpec, parse_quantity
from schedframe.api import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeStatus,
    ResourceRequirements,
)

from .args import DEVICE, FGDArgs, TaskType

NAMESPACE = "openb"
_ARGS = FGDArgs(device_choice="first")
RESOURCE, MODEL_LABEL = _ARGS.resource, _ARGS.model_label


@frozen
class Task:
    """A line of a pod list, with requests in milli-CPU, MiB and thousandths of a GPU."""

    cpu_milli: int
    memory_mib: int
    gpu_milli: int
    models: tuple[str, ...] = ()


@frozen
class Trace:
    """A cluster and the tasks submitted to it."""

    nodes: tuple[Node, ...]
    tasks: tuple[Task, ...]

    @property
    def capacity(self) -> int:
        """Capacity of all GPUs in thousandths."""
        return sum(node.allocatable.get(RESOURCE, 0) for node in self.nodes)


def read_trace(folder: Path, pods: str = "default", nodes: str = "gpu_node") -> Trace:
    """Read a node list and a pod list of the trace; ``OSError`` or ``ValueError`` if they cannot be read."""
    return Trace(
        tuple(_node(row) for row in _rows(folder / f"openb_node_list_{nodes}.csv")),
        tuple(_task(row) for row in _rows(folder / f"openb_pod_list_{pods}.csv")),
    )


def task_types(tasks: Sequence[Task], share: float = 1.0) -> tuple[TaskType, ...]:
    """Return the most common types that make up *share* of the tasks, weighted by frequency."""
    counts = Counter(TaskType(task.cpu_milli, task.gpu_milli, task.models) for task in tasks)
    types: list[TaskType] = []
    covered = 0
    for task_type, count in counts.most_common():
        if covered >= share * len(tasks):
            break
        types.append(evolve(task_type, weight=count))
        covered += count
    return tuple(types)


def inflated(trace: Trace, ratio: float, rng: Random) -> list[Task]:
    """Return the tasks in random order, some repeated, until they request *ratio* of all GPUs.

    This is the paper's evaluation: an unlimited stream of tasks with the distribution of the trace.
    """
    target = ratio * trace.capacity
    order = list(trace.tasks)
    rng.shuffle(order)
    requested = sum(task.gpu_milli for task in order)
    while requested > target:
        requested -= order.pop().gpu_milli
    while requested < target:
        task = rng.choice(trace.tasks)
        order.append(task)
        requested += task.gpu_milli
    return order


def make_pod(number: int, task: Task) -> Pod:
    """Return the pod of a task."""
    return Pod(ObjectMeta(name=f"task-{number}", namespace=NAMESPACE), spec_of(task))


def spec_of(task: Task) -> PodSpec:
    """Return the spec of the pods of a task."""
    amounts = {"cpu": f"{task.cpu_milli}m", "memory": f"{task.memory_mib}Mi"}
    if task.gpu_milli:
        amounts[RESOURCE] = str(task.gpu_milli)
    requests = {name: parse_quantity(text) for name, text in amounts.items()}
    container = Container(name="main", resources=ResourceRequirements(requests=requests))
    affinity = None
    if task.models:
        term = NodeSelectorTerm((NodeSelectorRequirement(MODEL_LABEL, "In", task.models),))
        affinity = Affinity(NodeAffinity(required=NodeSelector((term,))))
    return PodSpec(containers=(container,), affinity=affinity)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _node(row: dict[str, str]) -> Node:
    gpus = int(row["gpu"])
    amounts = {"cpu": f"{int(row['cpu_milli'])}m", "memory": f"{int(row['memory_mib'])}Mi", "pods": "1000"}
    labels = {}
    if gpus:
        amounts[RESOURCE] = str(DEVICE * gpus)
        labels[MODEL_LABEL] = row["model"]
    capacity = {name: parse_quantity(text) for name, text in amounts.items()}
    return Node(
        ObjectMeta(name=row["sn"], labels=labels), status=NodeStatus(capacity=capacity, allocatable=capacity)
    )


def _task(row: dict[str, str]) -> Task:
    gpus = int(row["num_gpu"])
    part = int(row["gpu_milli"]) if gpus == 1 else DEVICE
    models = tuple(name for name in (row.get("gpu_spec") or "").split("|") if name)
    return Task(int(row["cpu_milli"]), int(row["memory_mib"]), gpus * part, models if gpus else ())
