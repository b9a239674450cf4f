"""How much of the free GPUs is of no use to the tasks that are to be expected.

The measure of Weng et al.: for one type of task, the free parts of a node's GPUs are fragments

* all of them, if the task cannot run there, or asks for no GPU;
* else those on devices that have less free than it needs of one device.

The fragmentation of a node is the mean over the types, weighted by how common they are. Everything is an
integer here, so that every way of computing it gives the same: thousandths of a GPU times weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define

from .args import DEVICE, TaskType

Ints = npt.NDArray[np.int64]
IMPOSSIBLE: Final = np.iinfo(np.int64).min // 4
"""Gain of a placement that cannot be."""


@define(eq=False)
class Workload:
    """The types of task, grouped by what they need of GPUs, ready to be asked about many nodes at once."""

    parts: Ints
    """Distinct needs of a single device, ascending: shape ``(parts,)``."""
    group_part: npt.NDArray[np.intp]
    """Per group: index into ``parts``."""
    group_devices: Ints
    """Per group: number of devices needed."""
    cpus: Ints
    """Distinct CPU requests, ascending, in milli-CPU."""
    weight: Ints
    """Weight of the tasks of a group that run on a model with a free CPU of ``cpus[:i]``: shape
    ``(groups, models + 1, len(cpus) + 1)``; the last model stands for all that nobody names."""
    models: dict[str, int]
    """Number of each model that some type names."""
    total: int
    """Weight of all types, those without GPUs included."""

    def model(self, name: str | None) -> int:
        """The number of a node's model."""
        return len(self.models) if name is None else self.models.get(name, len(self.models))

    def weights(self, cpu: Ints, model: Ints) -> Ints:
        """Weight of each group on nodes with *cpu* milli-CPU free: shape ``(nodes, groups)``."""
        enough = np.searchsorted(self.cpus, cpu, "right")
        return self.weight[:, model, enough].T


def compile_workload(tasks: Sequence[TaskType]) -> Workload:
    """Group *tasks* by what they need of GPUs. O(tasks × models × distinct CPU requests)."""
    models = {name: i for i, name in enumerate(sorted({name for task in tasks for name in task.models}))}
    asking = [task for task in tasks if task.gpu_milli]
    parts = sorted({min(task.gpu_milli, DEVICE) for task in asking})
    groups = sorted({(min(task.gpu_milli, DEVICE), max(1, task.gpu_milli // DEVICE)) for task in asking})
    cpus = sorted({task.cpu_milli for task in asking})
    weight = np.zeros((len(groups), len(models) + 1, len(cpus) + 1), np.int64)
    for task in asking:
        group = groups.index((min(task.gpu_milli, DEVICE), max(1, task.gpu_milli // DEVICE)))
        allowed = [models[name] for name in task.models] or list(range(len(models) + 1))
        weight[group, allowed, cpus.index(task.cpu_milli) + 1 :] += task.weight
    return Workload(
        parts=np.array(parts, np.int64),
        group_part=np.array([parts.index(part) for part, _ in groups], np.intp),
        group_devices=np.array([devices for _, devices in groups], np.int64),
        cpus=np.array(cpus, np.int64),
        weight=weight,
        models=models,
        total=sum(task.weight for task in tasks),
    )


def fragmentation(workload: Workload, free: Ints, cpu: Ints, model: Ints) -> Ints:
    """Fragmentation of nodes, in thousandths of a GPU times ``workload.total``.

    *free*: thousandths by device, shape ``(nodes, devices)``; *cpu*: free milli-CPU; *model*: numbers of the
    models, both of shape ``(nodes,)``. O(nodes × devices × parts + nodes × groups).
    """
    return _fragmentation(workload, *_sums(workload, free), workload.weights(cpu, model))


def gains(workload: Workload, free: Ints, cpu: Ints, model: Ints, request: tuple[int, int]) -> Ints:
    """By how much a task would lower the fragmentation, for each device that it may be put on.

    *request*: its (milli-CPU, thousandths of GPUs). Shape ``(nodes, devices)`` for a part of a GPU, else
    ``(nodes, 1)``; :data:`IMPOSSIBLE` where there is no room on the device.
    """
    asked_cpu, asked = request
    before = fragmentation(workload, free, cpu, model)[:, None]
    weights = workload.weights(cpu - asked_cpu, model)
    enough, small, left = _sums(workload, free)
    if asked == 0 or asked >= DEVICE:
        # Idle devices are enough for any part, so that each one that goes counts once everywhere.
        after = _fragmentation(workload, enough - asked // DEVICE, small, left - asked, weights)
        possible = (free == DEVICE).sum(1) >= asked // DEVICE
        return np.where(possible[:, None], before - after[:, None], IMPOSSIBLE)
    room, parts = free[:, :, None], workload.parts
    rest = room - asked
    enough = enough[:, None, :] - ((room >= parts) & (rest < parts))
    small = small[:, None, :] + np.where(rest < parts, rest, 0) - np.where(room < parts, room, 0)
    after = _fragmentation(workload, enough, small, left[:, None] - asked, weights[:, None, :])
    return np.where(free >= asked, before - after, IMPOSSIBLE)


def _sums(workload: Workload, free: Ints) -> tuple[Ints, Ints, Ints]:
    """Per part: devices with enough of it, and what is free on the others; and what is free in all."""
    too_small = free[:, :, None] < workload.parts
    enough = free.shape[1] - too_small.sum(1)
    small = np.where(too_small, free[:, :, None], 0).sum(1)
    return enough, small, free.sum(1)


def _fragmentation(workload: Workload, enough: Ints, small: Ints, left: Ints, weights: Ints) -> Ints:
    """The last axis of *enough* and *small* is that of the parts, of *weights* that of the groups."""
    runs = enough[..., workload.group_part] >= workload.group_devices
    useful = np.where(runs, left[..., None] - small[..., workload.group_part], 0)
    found: Ints = workload.total * left - (useful * weights).sum(-1)
    return found
