"""Strategies of the paper's evaluation that schedframe lacks, to compare FGD with."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import MAX_SCORE, Depends, Pod, Rows, hookimpl

from .args import DEVICE, FGDArgs

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@frozen
class LargestNode:
    """Scale of the shares: the largest CPU (milli-CPU) and GPU (thousandths) of a node."""

    cpu_milli: int = 128_000
    gpu_milli: int = 8 * DEVICE
    resource: str = FGDArgs(device_choice="first").resource


@define(eq=False)
class _ByRemainder:
    """Score by free CPU and GPUs of a node, as shares of the largest node."""

    args: LargestNode = field(factory=LargestNode)
    depends_on: ClassVar[Depends] = Depends.ROW

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return the requests of CPU and GPUs."""
        return self._request(pod)

    def _request(self, pod: Pod) -> tuple[int, int]:
        return pod.requests.get("cpu", 0), pod.requests.get(self.args.resource, 0)

    def _shares(self, pod: Pod, rows: Rows) -> tuple[Floats, Floats, float, float]:
        """Return free CPU and GPU per row, and requested CPU and GPU, as shares."""
        table, largest = rows.table, self.args
        cpu = (rows.take(table.allocatable("cpu")) - rows.take(table.requested("cpu"))) / largest.cpu_milli
        gpus = rows.take(table.allocatable(largest.resource)) - rows.take(table.requested(largest.resource))
        asked_cpu, asked_gpu = self._request(pod)
        return cpu, gpus / largest.gpu_milli, asked_cpu / largest.cpu_milli, asked_gpu / largest.gpu_milli


@define(eq=False)
class BestFit(_ByRemainder):
    """Prefer the node with the least left, CPU and GPUs counting equally."""

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> Ints:
        """Return 100 for a node that becomes full, 0 for the largest one if it stays empty."""
        cpu, gpus, asked_cpu, asked_gpu = self._shares(pod, rows)
        left = (cpu - asked_cpu + gpus - asked_gpu) / 2
        return (MAX_SCORE * (1 - left)).clip(0, MAX_SCORE).astype(np.int64)


@define(eq=False)
class DotProduct(_ByRemainder):
    """Prefer the node whose free resources point least in the direction of the request."""

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> Ints:
        """Return 100 minus the scaled dot product of free and requested shares."""
        cpu, gpus, asked_cpu, asked_gpu = self._shares(pod, rows)
        product = (cpu * asked_cpu + gpus * asked_gpu) / 2
        return (MAX_SCORE * (1 - product)).clip(0, MAX_SCORE).astype(np.int64)
