"""Scores from 0 to 100 by how much of a node is used: better empty, better full, or by a curve.

Source of the rules: pkg/scheduler/framework/plugins/noderesources of Kubernetes v1.36. Each strategy is a
weighted mean over the resources that the node has, in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import MAX_SCORE, NodeInfo, Rows

from ..args import (
    LEAST_ALLOCATED,
    MAX_SHAPE_SCORE,
    MOST_ALLOCATED,
    ScoringStrategy,
    UtilizationShapePoint,
)
from .arithmetic import Column, percent, percents, truncated
from .scored import Scored

_FULL: Final = 100


class Strategy(Protocol):
    """How to score a node for a pod; both forms agree."""

    def score(self, scored: Sequence[Scored], info: NodeInfo) -> int:
        """Score of one node; O(resources)."""
        ...

    def score_rows(self, scored: Sequence[Scored], rows: Rows) -> Column:
        """Scores of many rows, int64 of shape ``(len(rows),)``; O(resources x rows)."""
        ...


def strategy_of(args: ScoringStrategy) -> Strategy:
    """The strategy that the arguments describe."""
    if args.type == LEAST_ALLOCATED:
        return LeastAllocated()
    if args.type == MOST_ALLOCATED:
        return MostAllocated()
    ratio = args.requested_to_capacity_ratio
    return RequestedToCapacityRatio(curve(ratio.shape if ratio is not None else ()))


@define(eq=False)
class LeastAllocated:
    """The more is left, the better; nothing is left where more is asked for than there is."""

    def score(self, scored: Sequence[Scored], info: NodeInfo) -> int:
        """Weighted mean of what is left, in percent."""
        allocatable = info.allocatable
        total = weights = 0
        for resource in scored:
            capacity = allocatable.get(resource.name, 0)
            if not capacity:
                continue
            weights += resource.weight
            left = capacity - resource.used_on(info) - resource.amount
            if left > 0:
                total += percent(left, capacity) * resource.weight
        return int(total / weights) if weights else 0

    def score_rows(self, scored: Sequence[Scored], rows: Rows) -> Column:
        """As :meth:`score`."""
        mean = _Mean(len(rows))
        for resource in scored:
            capacity = resource.capacity_rows(rows)
            left = capacity - resource.used_rows(rows)
            left -= resource.amount
            np.maximum(left, 0, out=left)
            mean.add(percents(left, capacity), resource.weight, capacity)
        return mean.truncated()


@define(eq=False)
class MostAllocated:
    """The more is used, the better, up to all there is."""

    def score(self, scored: Sequence[Scored], info: NodeInfo) -> int:
        """Weighted mean of what is used, in percent."""
        allocatable = info.allocatable
        total = weights = 0
        for resource in scored:
            capacity = allocatable.get(resource.name, 0)
            if capacity:
                used = min(resource.used_on(info) + resource.amount, capacity)
                total += percent(used, capacity) * resource.weight
                weights += resource.weight
        return int(total / weights) if weights else 0

    def score_rows(self, scored: Sequence[Scored], rows: Rows) -> Column:
        """As :meth:`score`."""
        mean = _Mean(len(rows))
        for resource in scored:
            capacity = resource.capacity_rows(rows)
            mean.add(_utilizations(resource, capacity, rows), resource.weight, capacity)
        return mean.truncated()


@define(eq=False)
class RequestedToCapacityRatio:
    """A curve from utilization to score. A resource that scores 0 is left out of the mean, which rounds."""

    curve: npt.NDArray[np.int64]
    """Score at each utilization from 0 to 100 percent."""
    _scores: list[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._scores = self.curve.tolist()

    def score(self, scored: Sequence[Scored], info: NodeInfo) -> int:
        """Weighted mean of the curve at what is used."""
        allocatable = info.allocatable
        total = weights = 0
        for resource in scored:
            capacity = allocatable.get(resource.name, 0)
            if not capacity:
                continue
            used = resource.used_on(info) + resource.amount
            utilization = _FULL if used > capacity else percent(used, capacity)
            score = self._scores[min(max(utilization, 0), _FULL)]
            if score > 0:
                total += score * resource.weight
                weights += resource.weight
        return (2 * total + weights) // (2 * weights) if weights else 0

    def score_rows(self, scored: Sequence[Scored], rows: Rows) -> Column:
        """As :meth:`score`."""
        total = np.zeros(len(rows), np.int64)
        weights = np.zeros(len(rows), np.int64)
        for resource in scored:
            capacity = resource.capacity_rows(rows)
            utilization = np.clip(_utilizations(resource, capacity, rows), 0, _FULL)
            score = self.curve.take(utilization)
            score[capacity == 0] = 0
            total += score * resource.weight
            weights += (score > 0) * resource.weight
        # Half away from zero, in integers: all terms are positive and small.
        return (2 * total + weights) // np.maximum(2 * weights, 1)


def curve(shape: Sequence[UtilizationShapePoint]) -> npt.NDArray[np.int64]:
    """Scores at 0 to 100 percent: level before the first and after the last point, straight lines between.

    Integers; a falling line drops fractions towards the point it starts from, as division does in Go.
    """
    scale = MAX_SCORE // MAX_SHAPE_SCORE
    scores = np.zeros(_FULL + 1, np.int64)
    if not shape:
        return scores
    scores[:] = shape[-1].score * scale
    scores[: shape[0].utilization + 1] = shape[0].score * scale
    for before, after in pairwise(shape):
        width = after.utilization - before.utilization
        rise = (after.score - before.score) * scale
        for utilization in range(before.utilization + 1, after.utilization + 1):
            step = int(rise * (utilization - before.utilization) / width)
            scores[utilization] = before.score * scale + step
    return scores


def _utilizations(resource: Scored, capacity: Column, rows: Rows) -> Column:
    used = resource.used_rows(rows) + resource.amount
    np.minimum(used, capacity, out=used)
    return percents(used, capacity)


class _Mean:
    """A weighted mean of columns in which a row without capacity takes no part."""

    def __init__(self, length: int) -> None:
        self.total = np.zeros(length, np.int64)
        self.weight = 0
        self.missing: Column | None = None

    def add(self, scores: Column, weight: int, capacity: Column) -> None:
        """Take *scores* in with *weight* where there is *capacity*; they are 0 where there is none."""
        self.total += scores if weight == 1 else scores * weight
        self.weight += weight
        if len(capacity) and int(capacity.min()) == 0:
            missing = (capacity == 0) * np.int64(weight)
            self.missing = missing if self.missing is None else self.missing + missing

    def truncated(self) -> Column:
        """The mean without its fraction, 0 for a row that took no part."""
        if self.missing is None:
            return truncated(self.total, max(self.weight, 1))
        return truncated(self.total, np.maximum(self.weight - self.missing, 1))
