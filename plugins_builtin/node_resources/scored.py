"""Scored resources of a pod, and what nodes have and would have used of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from schedframe import NodeInfo, NodeTable, Rows
from schedframe.api import is_scalar_resource

Cells = tuple[memoryview, memoryview, int, int]
"""Of one resource: what there is and what is used by row, what the pod asks for, weight."""
Column = npt.NDArray[np.int64]

_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_NON_ZERO: Final[Mapping[str, Callable[[NodeInfo], int]]] = {
    "cpu": attrgetter("non_zero_cpu"),
    "memory": attrgetter("non_zero_memory"),
}


Amounts = Callable[[NodeInfo], tuple[int, int]]
"""What a node has of a resource, and what its pods use."""


class CountedElsewhere(Protocol):
    """Resources that nodes do not count themselves."""

    def amounts(self, resource: str) -> Amounts | None:
        """Return the amounts of *resource* by node, ``None`` if nodes count it."""
        ...


class WeightedResource(Protocol):
    """A resource of the plugin's arguments."""

    @property
    def name(self) -> str:
        """Resource name."""
        ...

    @property
    def weight(self) -> int:
        """Weight in the mean."""
        ...


@frozen
class Scored:
    """One resource that counts in the score of a pod, and where its numbers come from.

    Of a resource that nodes do not count themselves (devices) see :class:`ScoredElsewhere`.
    """

    name: str
    amount: int
    """What the pod asks for: milli-CPU, bytes, counts."""
    weight: int
    capacity_on: Callable[[NodeInfo], int]
    """What there is of it on a node."""
    used_on: Callable[[NodeInfo], int]
    """What the pods of a node use, without this one."""
    non_zero: bool
    """Whether containers without a request count as if they had one."""

    def used_rows(self, rows: Rows) -> Column:
        """``used_on`` for many rows; possibly the table's own column."""
        table = rows.table
        return rows.take(table.non_zero_requested(self.name) if self.non_zero else table.requested(self.name))

    def capacity_rows(self, rows: Rows) -> Column:
        """``capacity_on`` for many rows; possibly the table's own column."""
        return rows.take(rows.table.allocatable(self.name))


@frozen
class ScoredElsewhere(Scored):
    """A resource that nodes do not count themselves, asked node by node."""

    @override
    def used_rows(self, rows: Rows) -> Column:
        """See :class:`Scored`."""
        return np.fromiter(map(self.used_on, rows), np.int64, len(rows))

    @override
    def capacity_rows(self, rows: Rows) -> Column:
        """See :class:`Scored`."""
        return np.fromiter(map(self.capacity_on, rows), np.int64, len(rows))


def cells_of(scored: Iterable[Scored], table: NodeTable) -> tuple[Cells, ...]:
    """Return the numbers of each resource by row, good for one ``table.layout``."""

    def used(resource: Scored) -> Column:
        name = resource.name
        return table.non_zero_requested(name) if resource.non_zero else table.requested(name)

    return tuple(
        (table.allocatable(each.name).data, used(each).data, each.amount, each.weight) for each in scored
    )


def scored_resources(
    resources: Iterable[WeightedResource],
    requests: Mapping[str, int],
    *,
    non_zero: bool,
    elsewhere: CountedElsewhere | None = None,
) -> tuple[Scored, ...]:
    """Return the resources that count for a pod with these requests.

    An extended resource that the pod does not ask for says nothing about how well it fits, and is left out. A
    node that has nothing of a resource leaves it out as well.
    """
    scored: list[Scored] = []
    for resource in resources:
        name, amount = resource.name, requests.get(resource.name, 0)
        if name not in _STANDARD and not (amount and is_scalar_resource(name)):
            continue
        amounts = elsewhere.amounts(name) if elsewhere is not None else None
        if amounts is not None:
            scored.append(_elsewhere(name, amount, resource.weight, amounts))
        else:
            used_on = _NON_ZERO.get(name) if non_zero else None
            default = used_on is not None
            scored.append(
                Scored(
                    name, amount, resource.weight, _allocatable(name), used_on or _requested(name), default
                )
            )
    return tuple(scored)


def _elsewhere(name: str, amount: int, weight: int, amounts: Amounts) -> ScoredElsewhere:
    def capacity_on(info: NodeInfo) -> int:
        return amounts(info)[0]

    def used_on(info: NodeInfo) -> int:
        return amounts(info)[1]

    return ScoredElsewhere(name, amount, weight, capacity_on, used_on, non_zero=False)


@lru_cache(maxsize=256)
def _requested(name: str) -> Callable[[NodeInfo], int]:
    def requested(info: NodeInfo) -> int:
        return info.requested.get(name, 0)

    return requested


@lru_cache(maxsize=256)
def _allocatable(name: str) -> Callable[[NodeInfo], int]:
    def allocatable(info: NodeInfo) -> int:
        return info.allocatable.get(name, 0)

    return allocatable
