"""One row filtered and scored for a batch of pods: a few passes over arrays of their requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import NodeInfo, NodeTable, RowVerdicts

from .arithmetic import EXACT, Column
from .scored import Cells, Scored, cells_of
from .shortage import (
    BYTE,
    FIRST_RESOURCE,
    OTHER_BITS,
    PODS,
    STANDARD,
    UNRESOLVABLE,
    WORD,
    Demand,
    numbered,
    status_of,
)
from .usage import Amounts, Usage

PerNode = Callable[[Sequence[Scored], NodeInfo], int]
ByUsage = Callable[[Sequence[Scored], "RowUsage"], Column]
"""The scores of pods by the usage of a row; the amounts of the resources are not read."""

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
    kind = np.uint8 if len(names) + OTHER_BITS <= BYTE else np.int64
    users, allowed = table.pod_count.data, table.allowed_pods.data

    def of_row(row: int) -> RowVerdicts | None:
        full = users[row] >= allowed[row]
        if not full:
            for capacity, used, _, most in cells:
                if most > capacity[row] - used[row]:
                    break
            else:
                return None
        bits: npt.NDArray[Any] = np.full(len(demands), PODS if full else 0, kind)
        for i, (capacity, used, of_name, _) in enumerate(cells):
            short = of_name > capacity[row] - used[row]
            bits |= short * kind(FIRST_RESOURCE << i)
            # Of what is not left at all a node that has less than none has too little, too.
            bits |= ((of_name > capacity[row]) & short) * kind(UNRESOLVABLE)
        present, codes = numbered(bits)
        return RowVerdicts(codes, [status_of(names, one) for one in present])

    return of_row


def scores_of_pods(
    pods: Sequence[Sequence[Scored]], table: NodeTable, kind: type[Usage], score: ByUsage, per_node: PerNode
) -> Callable[[int], Column]:
    """The scores of a batch of *pods* by row number, good for one ``table.layout``.

    Pods that are scored by the same resources are scored at once, by what follows from usage as in *kind*.
    *per_node* scores them on rows that lack a resource, or have amounts that floats do not hold exactly.
    """
    places: dict[Any, list[int]] = {}
    for place, scored in enumerate(pods):
        resources = tuple([(type(each), each.name, each.weight, each.non_zero) for each in scored])
        places.setdefault(resources, []).append(place)
    parts: list[tuple[Any, Sequence[Sequence[Scored]], RowUsage | None]] = []
    for group in places.values():
        part = [pods[place] for place in group]
        where = slice(None) if len(places) == 1 else np.array(group)
        parts.append((where, part, RowUsage.of(part, table, kind)))

    def of_row(row: int) -> Column:
        scores: Column = np.empty(len(pods), np.int64)
        for where, part, usage in parts:
            if usage is not None and usage.move_to(row):
                scores[where] = score(part[0], usage)
            else:
                scores[where] = [per_node(each, table.info(row)) for each in part]
        return scores

    return of_row


@define(eq=False)
class RowUsage:
    """How one row is used, for a batch of pods that are scored by the same resources."""

    kind: type[Usage]
    amounts: Amounts
    """``of_used`` of *kind* x what each pod asks for of each resource; shape ``(resources, pods)``."""
    cells: tuple[Cells, ...]
    capacity: list[int] = field(factory=list)
    used: list[int] = field(factory=list)
    """By resource, without the pod."""

    @classmethod
    def of(cls, pods: Sequence[Sequence[Scored]], table: NodeTable, kind: type[Usage]) -> Self | None:
        """``None`` if there are no such resources, or nodes do not count them themselves."""
        if not pods[0] or any(type(each) is not Scored for each in pods[0]):
            return None
        amounts = np.array([[each.amount for each in scored] for scored in pods], np.float64).T
        return cls(kind, np.ascontiguousarray(amounts) * kind.of_used, cells_of(pods[0], table))

    def move_to(self, row: int) -> bool:
        """Take the numbers of *row*; ``False`` if it lacks a resource, or they are no exact floats."""
        self.capacity = [capacity[row] for capacity, _, _, _ in self.cells]
        self.used = [used[row] for _, used, _, _ in self.cells]
        return min(self.capacity) > 0 and max(self.capacity) < EXACT

    def with_pods(self) -> Amounts:
        """As :meth:`.Usage.with_pod`, for one row and many pods; shape ``(resources, pods)``."""
        found = np.empty(self.amounts.shape)
        of_capacity, of_used = self.kind.of_capacity, self.kind.of_used
        for i, (capacity, used) in enumerate(zip(self.capacity, self.used, strict=True)):
            out = found[i]
            np.add(self.amounts[i], of_capacity * capacity + of_used * used, out=out)
            out /= capacity
        return found
