"""Balance of the resources of a node, with a pod and without it.

Source of the formula: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go, Kubernetes v1.36.
Float expressions are in its order, so that no last bit differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field
from typing_extensions import override

from schedframe import MAX_SCORE, NodeInfo, NodeTable, Rows

from .arithmetic import EXACT, Column
from .batch import RowUsage, scores_of_pods
from .scored import Scored
from .usage import Index, Used, by_portions, followed, longer

Fractions = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int16]
"""Numbers from -100 to 100, narrow because passes over them cost less."""

HALF: Final = MAX_SCORE // 2


@define(eq=False)
class BalancedUsage(Used):
    """With the balance of what is used on each row, which is the same for all pods."""

    without: Whole = field(factory=lambda: np.zeros(0, np.int16))
    """Less a half of 100, which is to be added to every difference from it."""

    @override
    def rebind(self) -> None:
        """As for any usage."""
        super().rebind()
        if len(self.without) < self.table.capacity:
            self.without = longer(self.without, self.table.capacity)

    @override
    def compute(self, index: Index) -> None:
        """As for any usage."""
        super().compute(index)
        used, capacities = self.value[:, index], self.capacity[:, index]
        fractions = np.minimum(used / capacities, 1.0)
        self.without[index] = _balances(list(fractions), fractions.shape[1]) - HALF

    @override
    def compute_row(self, row: int) -> None:
        """As for any usage."""
        super().compute_row(row)
        fractions = [min(used[row] / there[row], 1.0) for _, _, there, used in self._cells]
        self.without[row] = _balance(fractions) - HALF


def balance_score(scored: Sequence[Scored], info: NodeInfo) -> int:
    """75 if the pod leaves the balance of the node as it is, up to 100 if it improves it; O(resources)."""
    with_pod = []
    without = []
    for resource in scored:
        capacity: float = resource.capacity_on(info)
        if capacity:
            used: float = resource.used_on(info)
            total: float = used + resource.amount
            if capacity >= EXACT:
                # Rounded to floats first, as in Go: the quotient of the integers itself may differ.
                used, total, capacity = float(used), float(total), float(capacity)
            without.append(used / capacity if used < capacity else 1.0)
            with_pod.append(total / capacity if total < capacity else 1.0)
    # Fractions of 0 to 1 deviate by 1/2 at most: the change is -50 at worst, and nothing here is negative.
    return HALF + (HALF + _balance(with_pod) - _balance(without)) // 2


def balance_scores(scored: Sequence[Scored], rows: Rows) -> Column:
    """:func:`balance_score` for many rows: one group of rows for each set of resources that they have."""
    usage = followed(BalancedUsage, scored, rows)
    if usage is not None:
        amounts, fits = [resource.amount for resource in scored], usage.fits(scored)

        def of_portion(index: Index) -> Column:
            fractions = usage.with_pod(index, amounts)
            if not fits:
                np.minimum(fractions, 1.0, out=fractions)
            change = _balances(list(fractions), fractions.shape[1])
            change -= usage.without[index]
            return _scores_of(change)

        return by_portions(rows, of_portion)
    capacities = [resource.capacity_rows(rows) for resource in scored]
    if all(len(capacity) and int(capacity.min()) > 0 for capacity in capacities):
        return _scores(scored, capacities, rows)
    scores = np.empty(len(rows), np.int64)
    kinds: npt.NDArray[Any] = np.zeros(len(rows), np.int64)
    for capacity in capacities:
        kinds = np.unique(kinds * 2 + (capacity > 0), return_inverse=True)[1].reshape(len(rows))
    for kind in range(int(kinds.max(initial=-1)) + 1):
        chosen = np.flatnonzero(kinds == kind)
        present = [i for i, capacity in enumerate(capacities) if capacity[chosen[0]] > 0]
        group = [capacities[i][chosen] for i in present]
        scores[chosen] = _scores([scored[i] for i in present], group, rows.select(chosen))
    return scores


def balances_of_pods(pods: Sequence[Sequence[Scored]], table: NodeTable) -> Callable[[int], Column]:
    """:func:`balance_score` for a batch of *pods* by row number, good for one ``table.layout``."""

    def changes(_: Sequence[Scored], usage: RowUsage) -> Column:
        fractions: Fractions = usage.with_pods().astype(np.float64, copy=False)
        np.minimum(fractions, 1.0, out=fractions)
        change = _balances(list(fractions), fractions.shape[1])
        numbers = zip(usage.used, usage.capacity, strict=True)
        change -= _balance([min(used / capacity, 1.0) for used, capacity in numbers]) - HALF
        return _scores_of(change)

    return scores_of_pods(pods, table, Used, changes, balance_score)


def _scores(scored: Sequence[Scored], capacities: Sequence[Column], rows: Rows) -> Column:
    """For rows that have some of each resource."""
    with_pod = []
    without = []
    for resource, capacity in zip(scored, capacities, strict=True):
        used, available = resource.used_rows(rows), capacity.astype(np.float64)
        with_pod.append(_fractions(used + resource.amount, available))
        without.append(_fractions(used, available))
    change = _balances(with_pod, len(rows))
    change -= _balances(without, len(rows)) - HALF
    return _scores_of(change)


def _scores_of(change: Whole) -> Column:
    """By how much the balance changes, 50 added."""
    change >>= 1
    change += HALF
    return change.astype(np.int64)


def _fractions(used: Column, capacity: Fractions) -> Fractions:
    fractions = used.astype(np.float64)
    fractions /= capacity
    return np.minimum(fractions, 1.0, out=fractions)


def _balance(fractions: list[float]) -> int:
    """(1 - standard deviation) in percent; 100 for a single resource."""
    count = len(fractions)
    if count == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif count > 2:
        mean = _sum(fractions) / count
        deviation = math.sqrt(_sum([(fraction - mean) * (fraction - mean) for fraction in fractions]) / count)
    else:
        deviation = 0.0
    return int((1 - deviation) * MAX_SCORE)


def _balances(fractions: list[Fractions], length: int) -> Whole:
    count = len(fractions)
    if count == 2:
        # To halve and to double is exact: so a pass less gives the same.
        doubled = fractions[0] - fractions[1]
        np.abs(doubled, out=doubled)
        np.subtract(2, doubled, out=doubled)
        doubled *= MAX_SCORE // 2
        return doubled.astype(np.int16)
    if count > 2:
        mean = _sum(fractions) / count
        deviation = np.sqrt(_sum([(fraction - mean) * (fraction - mean) for fraction in fractions]) / count)
    else:
        return np.full(length, MAX_SCORE, np.int16)
    np.subtract(1, deviation, out=deviation)
    deviation *= MAX_SCORE
    whole: Whole = deviation.astype(np.int16)
    return whole


def _sum(terms: list[Any]) -> Any:
    """From left to right; ``sum`` and ``math.fsum`` may compensate for rounding."""
    total = 0.0
    for term in terms:
        total = total + term
    return total
