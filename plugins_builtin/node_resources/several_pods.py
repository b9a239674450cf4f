"""One node judged and scored for several pods at once: what they have in common is read and worked out once.

For classes of pods that take turns: whatever one of them does to a node, each of the others wants to know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, itemgetter, sub
from typing import Any, Final, Self

from attrs import frozen

from schedframe import MAX_SCORE, NodeTable, RowVerdicts, Status

from .arithmetic import EXACT
from .balance import HALF, balance_by_row
from .many_pods import ByRow, balances_of_many, least_allocated_of_many, shortages_of_many
from .scored import Column, Scored, cells_of
from .shortage import Demand

MANY: Final = 32
"""For so many pods arrays are cheaper than lists."""
_TWO: Final = 2


def shortages_by_row(
    demands: Sequence[Demand], table: NodeTable
) -> Callable[[int], Sequence[Status | None] | RowVerdicts | None]:
    """:meth:`.Demand.by_row` for pods with these demands; ``None`` for a row that has room for each."""
    if len(demands) >= MANY:
        of_many = shortages_of_many(demands, table)
        if of_many is not None:
            return of_many
    names = sorted({name for demand in demands for name in demand.names})
    place = {name: i for i, name in enumerate(names)}
    most = [max(dict(demand.amounts).get(name, 0) for demand in demands) for name in names]
    cells = [
        (table.allocatable(name).data, table.requested(name).data, amount)
        for name, amount in zip(names, most, strict=True)
    ]
    each = [
        (demand.by_row(table), tuple([(place[name], amount) for name, amount in demand.amounts]))
        for demand in demands
    ]
    users, allowed = table.pod_count.data, table.allowed_pods.data

    def one_by_one(row: int) -> list[Status | None]:
        if users[row] >= allowed[row]:
            return [shortage(row) for shortage, _ in each]
        left = [capacity[row] - used[row] for capacity, used, _ in cells]
        statuses: list[Status | None] = []
        for shortage, amounts in each:
            for i, amount in amounts:
                if amount > left[i]:
                    statuses.append(shortage(row))
                    break
            else:
                statuses.append(None)
        return statuses

    def of_row(row: int) -> list[Status | None] | None:
        if users[row] >= allowed[row]:
            return one_by_one(row)
        for capacity, used, amount in cells:
            if amount > capacity[row] - used[row]:
                return one_by_one(row)
        return None

    return of_row


def least_allocated_by_row(
    pods: Sequence[Sequence[Scored]], table: NodeTable, by_row: ByRow
) -> Callable[[int], Sequence[int] | Column] | None:
    """What *by_row* says of each of *pods*, how much of the node they leave in percent; ``None`` unless all
    are scored by the same two resources, which count the same.
    """
    if not _are_of_the_same_pair(pods) or pods[0][0].weight != pods[0][1].weight or not pods[0][0].weight:
        return None
    if len(pods) >= MANY:
        return least_allocated_of_many(pods, table, by_row)
    each_alone = [prepared for scored in pods if (prepared := by_row(scored, table)) is not None]
    pair = _Pair.of(pods, table)
    capacities, used, other_capacities, other_used = pair.cells
    amounts, other_amounts, pick, pick_other = pair.amounts, pair.other_amounts, pair.pick, pair.pick_other
    most, other_most = max(amounts), max(other_amounts)

    def of_row(row: int) -> Sequence[int]:
        capacity, other = capacities[row], other_capacities[row]
        left, second = capacity - used[row], other - other_used[row]
        if left < most or second < other_most or not 0 < capacity < EXACT or not 0 < other < EXACT:
            return [score(row) for score in each_alone]
        scores = [(left - amount) * MAX_SCORE // capacity for amount in amounts]
        other_scores = [(second - amount) * MAX_SCORE // other for amount in other_amounts]
        return [total // _TWO for total in map(add, pick(scores), pick_other(other_scores))]

    return of_row


def balances_by_row(
    pods: Sequence[Sequence[Scored]], table: NodeTable
) -> Callable[[int], Sequence[int] | Column] | None:
    """:func:`.balance_by_row` for each of *pods*; ``None`` unless all ask for the same two resources."""
    if not _are_of_the_same_pair(pods):
        return None
    if len(pods) >= MANY:
        return balances_of_many(pods, table)
    pair = _Pair.of(pods, table)
    capacities, used, other_capacities, other_used = pair.cells
    amounts, other_amounts, pick, pick_other = pair.amounts, pair.other_amounts, pair.pick, pair.pick_other
    most, other_most = max(amounts), max(other_amounts)
    each_alone = [balance_by_row(scored, table) for scored in pods]

    def of_row(row: int) -> Sequence[int]:
        capacity, other = capacities[row], other_capacities[row]
        first, second = used[row], other_used[row]
        if (
            not 0 < capacity < EXACT
            or not 0 < other < EXACT
            or first + most > capacity
            or second + other_most > other
        ):
            return [score(row) for score in each_alone]
        less = MAX_SCORE + HALF - int((1 - abs((first / capacity - second / other) / 2)) * MAX_SCORE)
        # To halve is exact, before or after.
        halves = [(first + amount) / capacity / 2 for amount in amounts]
        other_halves = [(second + amount) / other / 2 for amount in other_amounts]
        deviations = map(abs, map(sub, pick(halves), pick_other(other_halves)))
        return [(int((1 - deviation) * MAX_SCORE) + less) // 2 for deviation in deviations]

    return of_row


@frozen
class _Pair:
    """Pods that are scored by the same two resources: each different amount once."""

    cells: tuple[Any, Any, Any, Any]
    """What there is and what is used of either resource, by row."""
    amounts: tuple[int, ...]
    other_amounts: tuple[int, ...]
    pick: Callable[[Sequence[Any]], Sequence[Any]]
    """Of something by amount what goes for each pod."""
    pick_other: Callable[[Sequence[Any]], Sequence[Any]]

    @classmethod
    def of(cls, pods: Sequence[Sequence[Scored]], table: NodeTable) -> Self:
        """Of pods that :func:`_are_of_the_same_pair`."""
        cells, other_cells = cells_of(pods[0], table)
        amounts, other_amounts = ([each.amount for each in column] for column in zip(*pods, strict=True))
        different, other_different = tuple(dict.fromkeys(amounts)), tuple(dict.fromkeys(other_amounts))
        pick = _picking([different.index(amount) for amount in amounts])
        pick_other = _picking([other_different.index(amount) for amount in other_amounts])
        return cls((*cells[:2], *other_cells[:2]), different, other_different, pick, pick_other)


def _picking(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    # One call for all places, which for a single one would give no tuple.
    return itemgetter(*places) if len(places) > 1 else lambda found: (found[places[0]],)


def _are_of_the_same_pair(pods: Sequence[Sequence[Scored]]) -> bool:
    """Whether all are scored by the same two resources, which nodes count themselves."""
    kinds = {tuple([(each.name, each.weight, each.non_zero) for each in scored]) for scored in pods}
    plain = all(type(each) is Scored for scored in pods for each in scored)
    return plain and len(kinds) == 1 and len(pods[0]) == _TWO
