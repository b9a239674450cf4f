"""One row filtered and scored for a batch of pods: a few passes over arrays of their requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import frozen

from schedframe import MAX_SCORE, NodeInfo, NodeTable, RowVerdicts

from .arithmetic import EXACT, Column
from .balance import HALF, balance_score
from .scored import Scored, cells_of
from .shortage import (
    FIRST_RESOURCE,
    PODS,
    STANDARD,
    UNRESOLVABLE,
    WORD,
    Demand,
    numbered,
    status_of,
)

Score = Callable[[Sequence[Scored], NodeInfo], int]

_NOT_ASKED_FOR = int(np.iinfo(np.int64).min)
"""Less than is left anywhere."""


def shortages_of_pods(
    demands: Sequence[Demand], table: NodeTable
) -> Callable[[int], RowVerdicts | None] | None:
    """:meth:`.Demand.shortage` by row number for a batch of demands; ``None`` for a row with room for each.

    ``None`` if resources of other plugins are among them, or too many.
    """
    asked = {name for demand in demands for name in demand.names}
    if len(asked) >= WORD - 2 or any(demand.delegated for demand in demands):
        return None
    # The order in which each demand names what is missing.
    names = (*[name for name in STANDARD if name in asked], *sorted(asked.difference(STANDARD)))
    amounts = np.full((len(names), len(demands)), _NOT_ASKED_FOR, np.int64)
    place = {name: i for i, name in enumerate(names)}
    for pod, demand in enumerate(demands):
        for name, amount in demand.amounts:
            amounts[place[name], pod] = amount
    cells = [
        (table.allocatable(name).data, table.requested(name).data, of_name, int(of_name.max()))
        for name, of_name in zip(names, amounts, strict=True)
    ]
    users, allowed = table.pod_count.data, table.allowed_pods.data

    def of_row(row: int) -> RowVerdicts | None:
        full = users[row] >= allowed[row]
        if not full:
            for capacity, used, _, most in cells:
                if most > capacity[row] - used[row]:
                    break
            else:
                return None
        bits = np.full(len(demands), PODS if full else 0, np.int64)
        for i, (capacity, used, of_name, _) in enumerate(cells):
            bits |= (of_name > capacity[row] - used[row]) * np.int64(FIRST_RESOURCE << i)
            # Of what is not left at all a node that has less than none has too little, too.
            bits |= ((of_name > capacity[row]) & (of_name > capacity[row] - used[row])) * np.int64(
                UNRESOLVABLE
            )
        present, codes = numbered(bits)
        return RowVerdicts(codes, [status_of(names, one) for one in present])

    return of_row


def least_allocated_of_pods(
    pods: Sequence[Sequence[Scored]], table: NodeTable, score: Score
) -> Callable[[int], Column] | None:
    """What is left with each of *pods* in percent; ``None`` unless all are scored by the same two resources,
    which count the same.

    *score*: the per-node form, for rows that lack one of them.
    """
    if not _are_of_the_same_pair(pods) or pods[0][0].weight != pods[0][1].weight or not pods[0][0].weight:
        return None
    amounts, other_amounts = map(_Amounts.of, zip(*pods, strict=True))

    def of_row(capacity: int, used: int, other: int, other_used: int) -> Column:
        left = amounts.of_each(_percent_left(capacity - used, capacity, amounts.different))
        second = _percent_left(other - other_used, other, other_amounts.different)
        total: Column = left + other_amounts.of_each(second)
        total >>= 1
        return total

    return _of_usual_rows(pods, table, of_row, score)


def _percent_left(left: int, capacity: int, amounts: Column) -> Column:
    rest = left - amounts
    np.maximum(rest, 0, out=rest)
    rest *= MAX_SCORE
    rest //= capacity
    return rest


def balances_of_pods(pods: Sequence[Sequence[Scored]], table: NodeTable) -> Callable[[int], Column] | None:
    """:func:`.balance_score` for each of *pods*; ``None`` unless all are scored by the same two resources."""
    if not _are_of_the_same_pair(pods):
        return None
    amounts, other_amounts = map(_Amounts.of, zip(*pods, strict=True))

    def of_row(capacity: int, used: int, other: int, other_used: int) -> Column:
        without = min(used / capacity, 1.0) - min(other_used / other, 1.0)
        less = MAX_SCORE + HALF - int((1 - abs(without / 2)) * MAX_SCORE)
        doubled = amounts.of_each(_fractions(used, capacity, amounts.different))
        doubled = doubled - other_amounts.of_each(_fractions(other_used, other, other_amounts.different))
        # To halve and to double is exact: so a pass less gives the same.
        np.abs(doubled, out=doubled)
        np.subtract(2, doubled, out=doubled)
        doubled *= HALF
        change: Column = doubled.astype(np.int64)
        change += less
        change >>= 1
        return change

    return _of_usual_rows(pods, table, of_row, balance_score)


def _fractions(used: int, capacity: int, amounts: Column) -> npt.NDArray[np.float64]:
    fractions = (used + amounts) / capacity
    return np.minimum(fractions, 1.0, out=fractions)


def _of_usual_rows(
    pods: Sequence[Sequence[Scored]],
    table: NodeTable,
    score: Callable[[int, int, int, int], Column],
    alone: Score,
) -> Callable[[int], Column]:
    """*score* by what there is and what is used of either resource, for rows that have some of both, in
    amounts that floats hold exactly; for other rows by *alone*, the per-node form.
    """
    (capacities, used, *_), (other_capacities, other_used, *_) = cells_of(pods[0], table)

    def of_row(row: int) -> Column:
        capacity, other = capacities[row], other_capacities[row]
        if 0 < capacity < EXACT and 0 < other < EXACT:
            return score(capacity, used[row], other, other_used[row])
        return np.array([alone(scored, table.info(row)) for scored in pods], np.int64)

    return of_row


def _are_of_the_same_pair(pods: Sequence[Sequence[Scored]]) -> bool:
    """Whether all are scored by the same two resources, which nodes count themselves."""
    kinds = {tuple([(each.name, each.weight, each.non_zero) for each in scored]) for scored in pods}
    plain = all(type(each) is Scored for scored in pods for each in scored)
    return plain and len(kinds) == 1 and len(pods[0]) == 2


@frozen
class _Amounts:
    """What each of the pods asks for of one resource."""

    different: Column
    places: npt.NDArray[np.intp] | None
    """By pod which of them it asks for; ``None``: the pods in their order."""

    @classmethod
    def of(cls, column: Sequence[Scored]) -> Self:
        """Of the same resource of each pod; each amount once if there are much fewer than pods."""
        amounts = np.array([each.amount for each in column], np.int64)
        different, places = np.unique(amounts, return_inverse=True)
        few = 2 * len(different) < len(amounts)
        return cls(different, places.reshape(len(amounts))) if few else cls(amounts, None)

    def of_each(self, found: Any) -> Any:
        """What was *found* for different amounts, for each pod."""
        return found if self.places is None else found.take(self.places)
