"""Fragmentation: how much of the free GPU capacity the expected tasks cannot use.

The measure of Weng et al. For one type of task, the fragments of a node are

* all free parts of its GPUs, if the task cannot run on the node, or requests no GPU;
* else the free parts on devices that have less free than the task needs of one device.

The fragmentation of a node is the mean over the types, weighted by their frequency. All values are integers
(thousandths of a GPU times weight), so that every order of computation gives the same result.
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
"""Gain of an impossible placement."""


@define(eq=False)
class Workload:
    """The types of task, grouped by their GPU requests, as arrays."""

    parts: Ints
    """Distinct needs of a single device, ascending: shape ``(parts,)``."""
    group_part: npt.NDArray[np.intp]
    """Per group: index into ``parts``."""
    group_devices: Ints
    """Per group: number of devices needed."""
    cpus: Ints
    """Distinct CPU requests, ascending, in milli-CPU."""
    weight: Ints
    """Weight of the tasks of a group that run on a model with free CPU for ``cpus[:i]``.

    Shape ``(groups, models + 1, len(cpus) + 1)``; the last model stands for all that no type names.
    """
    models: dict[str, int]
    """Model → number, of the models that types name."""
    total: int
    """Sum of the weights of all types, those without GPUs included."""

    def model(self, name: str | None) -> int:
        """Return the number of a node's model."""
        return len(self.models) if name is None else self.models.get(name, len(self.models))

    def weights(self, cpu: Ints, model: Ints) -> Ints:
        """Return the weight of each group on nodes with *cpu* free milli-CPU; shape ``(nodes, groups)``."""
        enough = np.searchsorted(self.cpus, cpu, "right")
        return self.weight[:, model, enough].T


def compile_workload(tasks: Sequence[TaskType]) -> Workload:
    """Group *tasks* by their GPU requests; O(tasks × models × distinct CPU requests)."""
    models = {name: i for i, name in enumerate(sorted({name for task in tasks for name in task.models}))}
    with_gpu = [task for task in tasks if task.gpu_milli]
    parts = sorted({min(task.gpu_milli, DEVICE) for task in with_gpu})
    groups = sorted({(min(task.gpu_milli, DEVICE), max(1, task.gpu_milli // DEVICE)) for task in with_gpu})
    cpus = sorted({task.cpu_milli for task in with_gpu})
    weight = np.zeros((len(groups), len(models) + 1, len(cpus) + 1), np.int64)
    for task in with_gpu:
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
    """Return the fragmentation of nodes, in thousandths of a GPU times ``workload.total``.

    *free*: thousandths by device, shape ``(nodes, devices)``. *cpu*: free milli-CPU; *model*: numbers of the
    models; both of shape ``(nodes,)``. O(nodes × devices × parts + nodes × groups).
    """
    return _fragmentation(workload, *_sums(workload, free), workload.weights(cpu, model))


def gains(workload: Workload, free: Ints, cpu: Ints, model: Ints, request: tuple[int, int]) -> Ints:
    """Return by how much a task would lower the fragmentation, for each possible device.

    *request*: (milli-CPU, thousandths of GPUs). Shape ``(nodes, devices)`` for a part of a GPU, else
    ``(nodes, 1)``; :data:`IMPOSSIBLE` if the task does not fit.
    """
    asked_cpu, asked = request
    before = fragmentation(workload, free, cpu, model)[:, None]
    weights = workload.weights(cpu - asked_cpu, model)
    enough, small, left = _sums(workload, free)
    if asked == 0 or asked >= DEVICE:
        # An idle device suffices for any part, so each allocated one lowers every count by one.
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
    """Return, by part, devices with enough free, and what is free on the others; and the total free."""
    too_small = free[:, :, None] < workload.parts
    enough = free.shape[1] - too_small.sum(1)
    small = np.where(too_small, free[:, :, None], 0).sum(1)
    return enough, small, free.sum(1)


def _fragmentation(workload: Workload, enough: Ints, small: Ints, left: Ints, weights: Ints) -> Ints:
    """Return the fragmentation; *enough* and *small* have a last axis of parts, *weights* of groups."""
    runs = enough[..., workload.group_part] >= workload.group_devices
    useful = np.where(runs, left[..., None] - small[..., workload.group_part], 0)
    result: Ints = workload.total * left - (useful * weights).sum(-1)
    return result
