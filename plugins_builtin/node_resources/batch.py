"""One row filtered and scored for a batch of pods: a few passes over arrays of their requests."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import MAX_SCORE, NodeInfo, NodeTable, RowVerdicts

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
    Mask,
    numbered,
    status_of,
)
from .usage import Amounts, Usage

PerNode = Callable[[Sequence[Scored], NodeInfo], int]
ByUsage = Callable[[Sequence[Scored], "RowUsage"], Column]
"""The scores of pods by the usage of a row; the amounts of the resources are not read."""

_NOT_ASKED_FOR = int(np.iinfo(np.int64).min)
"""Less than is left anywhere."""
_LARGEST = int(np.iinfo(np.int64).max) // MAX_SCORE
"""Up to this 100 times an amount is an integer of 64 bits."""


@define(eq=False)
class ShortagesOfPods:
    """:meth:`.Demand.shortage` by row number for a batch of demands; good for one ``table.layout``."""

    names: tuple[str, ...]
    """Of the resources, in the order in which each demand names what is missing."""
    cells: Sequence[tuple[memoryview, memoryview, Column, int]]
    """Of each resource: what there is and what is used by row, what each pod asks for, the most of that."""
    pod_count: memoryview
    allowed_pods: memoryview
    pods: int
    """In the batch."""

    @classmethod
    def of(cls, demands: Sequence[Demand], table: NodeTable) -> Self | None:
        """``None`` if resources of other plugins are among them, or too many."""
        asked = {name for demand in demands for name in demand.names}
        if len(asked) >= WORD - 2 or any(demand.delegated for demand in demands):
            return None
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
        return cls(names, cells, table.pod_count.data, table.allowed_pods.data, len(demands))

    def __call__(self, row: int) -> RowVerdicts | None:
        """Return what *row* lacks for each pod; ``None`` if there is room for each."""
        full = self.pod_count[row] >= self.allowed_pods[row]
        if not full:
            for capacity, used, _, most in self.cells:
                if most > capacity[row] - used[row]:
                    break
            else:
                return None
        kind = np.uint8 if len(self.names) + OTHER_BITS <= BYTE else np.int64
        bits: npt.NDArray[Any] = np.full(self.pods, PODS if full else 0, kind)
        for i, (capacity, used, of_name, _) in enumerate(self.cells):
            short = of_name > capacity[row] - used[row]
            bits |= short * kind(FIRST_RESOURCE << i)
            # Of what is not left at all a node that has less than none has too little, too.
            bits |= ((of_name > capacity[row]) & short) * kind(UNRESOLVABLE)
        present, codes = numbered(bits)
        return RowVerdicts(codes, [status_of(self.names, one) for one in present])

    def rejects(self, row: int) -> Mask | None:
        """By pod whether *row* lacks anything; ``None`` if there is room for each."""
        if self.pod_count[row] >= self.allowed_pods[row]:
            return np.ones(self.pods, np.bool_)
        lacking: Mask | None = None
        for capacity, used, of_name, most in self.cells:
            left = capacity[row] - used[row]
            if most > left:
                short = of_name > left
                lacking = short if lacking is None else np.logical_or(lacking, short, out=lacking)
        return lacking


def scores_of_pods(
    pods: Sequence[Sequence[Scored]], table: NodeTable, kind: type[Usage], score: ByUsage, per_node: PerNode
) -> Callable[[int], Column]:
    """Return the scores of a batch of *pods* by row number, good for one ``table.layout``.

    Pods that are scored by the same resources are scored at once, by what follows from usage as in *kind*.
    *per_node* scores them on rows that lack all resources, or have amounts that are too large for that.
    """
    places: dict[Any, list[int]] = {}
    for place, scored in enumerate(pods):
        resources = tuple([(type(each), each.name, each.weight, each.non_zero) for each in scored])
        places.setdefault(resources, []).append(place)
    parts: list[tuple[Any, Sequence[Sequence[Scored]], RowUsages | None]] = []
    for group in places.values():
        part = [pods[place] for place in group]
        where = slice(None) if len(places) == 1 else np.array(group)
        parts.append((where, part, RowUsages.of(part, table, kind)))

    def of_row(row: int) -> Column:
        scores: Column = np.empty(len(pods), np.int64)
        for where, part, usages in parts:
            if usages is not None and (usage := usages.at(row)) is not None:
                scores[where] = score(usage.scored, usage)
            else:
                scores[where] = [per_node(each, table.info(row)) for each in part]
        return scores

    return of_row


@define(eq=False)
class RowUsages:
    """Use of one row, for a batch of pods that are scored by the same resources.

    A resource that the row lacks is left out: there is a :class:`RowUsage` for each set that rows have.
    """

    kind: type[Usage]
    pods: Sequence[Sequence[Scored]]
    cells: tuple[Cells, ...]
    _usages: dict[tuple[tuple[int, ...], bool], RowUsage] = field(factory=dict)
    """By the places of the resources that a row has, and whether its amounts are exact floats."""
    _all: tuple[int, ...] = field(init=False)
    _most: list[int] = field(init=False)
    """By resource what a pod asks for at most."""

    def __attrs_post_init__(self) -> None:
        self._all = tuple(range(len(self.cells)))
        self._most = [max([scored[place].amount for scored in self.pods]) for place in self._all]

    @classmethod
    def of(cls, pods: Sequence[Sequence[Scored]], table: NodeTable, kind: type[Usage]) -> Self | None:
        """``None`` if there are no such resources, or nodes do not count them themselves."""
        if not pods[0] or any(type(each) is not Scored for each in pods[0]):
            return None
        return cls(kind, pods, cells_of(pods[0], table))

    def at(self, row: int) -> RowUsage | None:
        """Return the usage of *row*; ``None`` if it has no resource, or numbers that would not be exact."""
        there = [capacity[row] for capacity, _, _, _ in self.cells]
        used = [used[row] for _, used, _, _ in self.cells]
        places = self._all
        if min(there) <= 0:
            if min(there) < 0 or not any(there):
                return None
            places = tuple([place for place in places if there[place]])
        exact = max(there) < EXACT
        if not exact and not self._divides(there, used):
            return None
        usage = self._usages.get((places, exact))
        if usage is None:
            usage = self._usages[places, exact] = RowUsage.of(self.kind, self.pods, places, exact=exact)
        if len(places) < len(there):
            there, used = [there[place] for place in places], [used[place] for place in places]
        usage.capacity, usage.used = there, used
        return usage

    def _divides(self, there: Sequence[int], used: Sequence[int]) -> bool:
        """Return whether a percentage of each amount can be taken in 64 bits."""
        amounts = max(map(operator.add, used, self._most))
        return self.kind.is_percentage and max(amounts, *there) <= _LARGEST


@define(eq=False)
class RowUsage:
    """Use of one row that has some of each resource, for a batch of pods."""

    kind: type[Usage]
    scored: Sequence[Scored]
    """The resources, as one of the pods asks for them."""
    amounts: Amounts | Column
    """``of_used`` of *kind* x what each pod asks for of each resource; shape ``(resources, pods)``.

    Floats if all amounts are exact as floats, integers if not.
    """
    capacity: Sequence[int] = ()
    used: Sequence[int] = ()
    """By resource, without the pod."""

    @classmethod
    def of(
        cls, kind: type[Usage], pods: Sequence[Sequence[Scored]], places: Sequence[int], *, exact: bool
    ) -> Self:
        """For the resources at these *places*."""
        asked = [[kind.of_used * scored[place].amount for scored in pods] for place in places]
        amounts = np.array(asked, np.float64) if exact else np.array(asked, np.int64)
        return cls(kind, [pods[0][place] for place in places], amounts)

    def with_pods(self) -> Amounts | Column:
        """As :meth:`.Usage.with_pod`, for one row and many pods; shape ``(resources, pods)``."""
        found = np.empty_like(self.amounts)
        of_capacity, of_used = self.kind.of_capacity, self.kind.of_used
        divide = np.true_divide if found.dtype == np.float64 else np.floor_divide
        for i, (capacity, used) in enumerate(zip(self.capacity, self.used, strict=True)):
            out = found[i]
            np.add(self.amounts[i], of_capacity * capacity + of_used * used, out=out)
            divide(out, capacity, out=out)
        return found
