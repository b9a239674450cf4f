"""Scores from 0 to 100 by how much of a node is used: better empty, better full, or by a curve.

Source of the rules: pkg/scheduler/framework/plugins/noderesources of Kubernetes v1.36. Each strategy is a
weighted mean over the resources that the node has, in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import MAX_SCORE, NodeInfo, NodeTable, Rows

from ..args import (
    LEAST_ALLOCATED,
    MAX_SHAPE_SCORE,
    MOST_ALLOCATED,
    ScoringStrategy,
    UtilizationShapePoint,
)
from .arithmetic import EXACT, Column, Whole, percent, percents
from .batch import RowUsage, scores_of_pods
from .scored import Scored
from .usage import Amounts, Index, Left, Taken, by_portions, followed

_FULL: Final = 100
"""The utilization of a full node, in percent."""


class Strategy(Protocol):
    """Score of a node for a pod; both forms agree."""

    def score(self, scored: Sequence[Scored], info: NodeInfo) -> int:
        """Score of one node; O(resources)."""
        ...

    def score_pods(
        self, pods: Sequence[Sequence[Scored]], table: NodeTable
    ) -> Callable[[int], Column] | None:
        """:meth:`score` for a batch of pods as a function of a row number, good for one ``table.layout``;
        ``None``: use that.
        """
        ...

    def score_rows(self, scored: Sequence[Scored], rows: Rows) -> Column:
        """Scores of many rows, int64 of shape ``(len(rows),)``; O(resources x rows)."""
        ...


def strategy_of(args: ScoringStrategy) -> Strategy:
    """Return the strategy that the arguments describe."""
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
        total = weights = 0
        for resource in scored:
            capacity = resource.capacity_on(info)
            if not capacity:
                continue
            weights += resource.weight
            left = capacity - resource.used_on(info) - resource.amount
            if left > 0:
                # Spelled out where it is exact: a call costs as much as all the rest of the line.
                score = left * MAX_SCORE // capacity if capacity < EXACT else percent(left, capacity)
                total += score * resource.weight
        return int(total / weights) if weights else 0

    def score_pods(
        self, pods: Sequence[Sequence[Scored]], table: NodeTable
    ) -> Callable[[int], Column] | None:
        """As :meth:`score` for each of *pods*."""

        def means(scored: Sequence[Scored], usage: RowUsage) -> Column:
            remaining = usage.with_pods()
            return _mean(np.maximum(remaining, 0, out=remaining), scored)

        return scores_of_pods(pods, table, Left, means, self.score)

    def score_rows(self, scored: Sequence[Scored], rows: Rows) -> Column:
        """As :meth:`score`."""
        usage = followed(Left, scored, rows)
        if usage is not None:
            amounts, fits = [-MAX_SCORE * resource.amount for resource in scored], usage.fits(scored)

            def means(index: Index) -> Column:
                remaining = usage.with_pod(index, amounts)
                return _mean(remaining if fits else np.maximum(remaining, 0, out=remaining), scored)

            return by_portions(rows, means)
        mean = _Mean(np.zeros(len(rows)))
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
        total = weights = 0
        for resource in scored:
            capacity = resource.capacity_on(info)
            if capacity:
                used = min(resource.used_on(info) + resource.amount, capacity)
                score = used * MAX_SCORE // capacity if capacity < EXACT else percent(used, capacity)
                total += score * resource.weight
                weights += resource.weight
        return int(total / weights) if weights else 0

    def score_pods(
        self, pods: Sequence[Sequence[Scored]], table: NodeTable
    ) -> Callable[[int], Column] | None:
        """As :meth:`score` for each of *pods*."""

        def means(scored: Sequence[Scored], usage: RowUsage) -> Column:
            taken = usage.with_pods()
            return _mean(np.minimum(taken, MAX_SCORE, out=taken), scored)

        return scores_of_pods(pods, table, Taken, means, self.score)

    def score_rows(self, scored: Sequence[Scored], rows: Rows) -> Column:
        """As :meth:`score`."""
        usage = followed(Taken, scored, rows)
        if usage is not None:
            amounts, fits = [MAX_SCORE * resource.amount for resource in scored], usage.fits(scored)

            def means(index: Index) -> Column:
                taken = usage.with_pod(index, amounts)
                return _mean(taken if fits else np.minimum(taken, MAX_SCORE, out=taken), scored)

            return by_portions(rows, means)
        mean = _Mean(np.zeros(len(rows)))
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
        total = weights = 0
        for resource in scored:
            capacity = resource.capacity_on(info)
            if not capacity:
                continue
            used = min(resource.used_on(info) + resource.amount, capacity)
            utilization = used * _FULL // capacity if capacity < EXACT else percent(used, capacity)
            score = self._scores[min(max(utilization, 0), _FULL)]
            if score > 0:
                total += score * resource.weight
                weights += resource.weight
        return (2 * total + weights) // (2 * weights) if weights else 0

    def score_pods(
        self, pods: Sequence[Sequence[Scored]], table: NodeTable
    ) -> Callable[[int], Column] | None:
        """None: each pod by itself."""
        return None

    def score_rows(self, scored: Sequence[Scored], rows: Rows) -> Column:
        """As :meth:`score`."""
        total = np.zeros(len(rows))
        weights = np.zeros(len(rows))
        for resource in scored:
            capacity = resource.capacity_rows(rows)
            utilizations = _utilizations(resource, capacity, rows).astype(np.intp)
            scores = self.curve.take(utilizations, mode="clip").astype(np.float64)
            if _some_lack(capacity):
                scores[capacity == 0] = 0
            counting = scores > 0
            total += scores if resource.weight == 1 else scores * resource.weight
            weights += counting if resource.weight == 1 else counting * float(resource.weight)
        # Half away from zero: all terms are positive, whole and small.
        total *= 2
        total += weights
        weights *= 2
        np.maximum(weights, 1, out=weights)
        total /= weights
        return total.astype(np.int64)


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


def _utilizations(resource: Scored, capacity: Column, rows: Rows) -> Whole:
    used = resource.used_rows(rows) + resource.amount
    return percents(np.minimum(used, capacity, out=used), capacity)


def _mean(percents: Amounts, scored: Sequence[Scored]) -> Column:
    """Return the mean by weight of one row of percentages a resource, fractions dropped before and after."""
    whole: npt.NDArray[np.int32] = percents.astype(np.int32)
    weights = [resource.weight for resource in scored]
    if min(weights) == max(weights):
        weights = [1] * len(weights)
    total = whole[0] if weights[0] == 1 else whole[0] * weights[0]
    for row, weight in zip(whole[1:], weights[1:], strict=True):
        total = np.add(total, row if weight == 1 else row * weight, out=total)
    weight = sum(weights)
    if weight == 2:
        total >>= 1  # a third of what division costs
    else:
        total //= weight
    mean: Column = total.astype(np.int64)
    return mean


def _some_lack(capacity: Column) -> bool:
    return bool(len(capacity)) and int(capacity.min()) == 0


@define(eq=False)
class _Mean:
    """A weighted mean of columns in which a row without capacity takes no part."""

    total: Whole
    weight: int = 0
    missing: Whole | None = None

    def add(self, scores: Whole, weight: int, capacity: Column) -> None:
        """Take *scores* in with *weight* where there is *capacity*; they are 0 where there is none."""
        self.total += scores if weight == 1 else scores * weight
        self.weight += weight
        if _some_lack(capacity):
            missing = (capacity == 0) * float(weight)
            self.missing = missing if self.missing is None else self.missing + missing

    def truncated(self) -> Column:
        """Return the mean without its fraction, 0 for a row that took no part."""
        weight = self.weight if self.missing is None else self.weight - self.missing
        self.total /= np.maximum(weight, 1)
        return self.total.astype(np.int64)
