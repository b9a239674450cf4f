"""Capacity and use of the scored resources, kept as floats from one pod to the next."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import define, field
from typing_extensions import override

from schedframe import MAX_SCORE, Rows
from schedframe.state import DerivedArrays

from .arithmetic import EXACT
from .scored import Column, Scored

Amounts = npt.NDArray[np.float64]
Index = slice | npt.NDArray[np.intp]
Resource = tuple[str, bool]
"""Its name, and whether containers without a request count as if they had one."""
U = TypeVar("U", bound="Usage")
Scalar = TypeVar("Scalar", bound=np.generic)


@define(eq=False)
class Usage(DerivedArrays):
    """Of several resources, one row of a matrix each: capacity, and something that follows from usage:
    ``of_capacity`` x capacity + ``of_used`` x used.

    Right only for nodes that have some of each resource, in amounts that floats hold exactly. While there are
    ``odd_rows``, the per-node form must be used instead. Memory: 16 bytes a resource and
    row.
    """

    of_capacity: ClassVar[int]
    of_used: ClassVar[int]
    is_percentage: ClassVar[bool] = False
    """Whether only the whole part of its quotients by ``capacity`` counts."""

    resources: tuple[Resource, ...] = ()
    capacity: Amounts = field(init=False)
    """Float64 of shape ``(resources, capacity of the table)``, never 0."""
    value: Amounts = field(init=False)
    """Of the same shape."""
    odd_rows: int = 0
    least_spare: list[int] = field(factory=list)
    """Per resource: no node has less than this left, or fewer than none; perhaps all have more."""
    _scratch: Amounts = field(init=False, repr=False)
    _odd: npt.NDArray[np.bool_] = field(factory=lambda: np.zeros(0, np.bool_))
    _columns: list[tuple[Column, Column]] = field(factory=list)
    _cells: list[tuple[Any, Any, Any, Any]] = field(factory=list)
    """Per resource: what there is, what is used, and ``capacity`` and ``value``; all by row."""

    def __attrs_post_init__(self) -> None:
        self.capacity = np.ones((len(self.resources), 0))
        self.value = np.zeros((len(self.resources), 0))
        self._scratch = np.empty((len(self.resources), 0))

    @override
    def rebind(self) -> None:
        """See :class:`DerivedArrays`."""
        table, old = self.table, self.capacity
        if len(self._odd) < table.capacity:
            self.capacity = np.empty((len(self.resources), table.capacity))
            self.capacity[:, : old.shape[1]] = old
            self.value = longer(self.value, table.capacity)
            self._odd = longer(self._odd, table.capacity)
        self._columns = [
            (table.allocatable(name), table.non_zero_requested(name) if non_zero else table.requested(name))
            for name, non_zero in self.resources
        ]
        mine = zip(self._columns, self.capacity, self.value, strict=True)
        self._cells = [(there.data, used.data, c.data, v.data) for (there, used), c, v in mine]

    @override
    def compute(self, index: Index) -> None:
        """See :class:`DerivedArrays`."""
        odd = np.zeros(len(self._odd[index]), np.bool_)
        alive = self.table.alive[index]
        spare = []
        for (there, used), capacity, value in zip(self._columns, self.capacity, self.value, strict=True):
            available, taken = there[index], used[index]
            odd |= (available <= 0) | (available >= EXACT)
            # Holes and nodes without the resource divide by 1; they are odd or dead and never read.
            capacity[index] = np.maximum(available, 1)
            if self.of_capacity:
                value[index] = available * self.of_capacity + taken * self.of_used
            else:
                value[index] = taken * self.of_used
            spare.append(int(np.subtract(available, taken)[alive].min(initial=EXACT)))
        # Part of the rows can only lower a bound: rows outside of it may hold the least.
        is_full = isinstance(index, slice) and not index.start
        self.least_spare = spare if is_full else [*map(min, self.least_spare, spare)]
        odd &= alive
        self.odd_rows += int(np.count_nonzero(odd)) - int(np.count_nonzero(self._odd[index]))
        self._odd[index] = odd

    @override
    def compute_row(self, row: int) -> None:
        """See :class:`DerivedArrays`."""
        odd, spare = False, self.least_spare
        of_capacity, of_used = self.of_capacity, self.of_used
        for i, (there, used, capacity, value) in enumerate(self._cells):
            available, taken = there[row], used[row]
            if not 0 < available < EXACT:
                odd = True
            # Never raised for one row: another one may have as little left. compute() raises it.
            elif available - taken < spare[i]:
                spare[i] = available - taken
            capacity[row] = available or 1.0
            value[row] = of_capacity * available + of_used * taken
        if odd or self._odd[row]:
            odd = odd and bool(self.table.alive[row])
            self.odd_rows += odd - bool(self._odd[row])
            self._odd[row] = odd

    def fits(self, scored: Sequence[Scored]) -> bool:
        """Return whether surely no node has less left than is asked for; O(resources)."""
        return all(map(operator.ge, self.least_spare, [resource.amount for resource in scored]))

    def with_pod(self, index: Index, amounts: Sequence[float]) -> Amounts:
        """(``value`` + the amount of each resource) / ``capacity``, shape ``(resources, rows)``.

        For the rows of one portion; good until the next call.
        """
        value, capacity = self.value, self.capacity
        rows = index.stop - index.start if isinstance(index, slice) else len(index)
        if self._scratch.shape[1] < rows:
            self._scratch = np.empty((len(self.resources), rows))
        changed = self._scratch[:, :rows]
        if isinstance(index, slice):
            for i, amount in enumerate(amounts):
                out = changed[i]
                np.add(value[i, index], amount, out=out)
                out /= capacity[i, index]
            return changed
        for i, amount in enumerate(amounts):
            out = changed[i]
            value[i].take(index, out=out, mode="clip")
            out += amount
            out /= capacity[i].take(index)
        return changed


class Used(Usage):
    """The used amount."""

    __slots__ = ()
    of_capacity, of_used = 0, 1


class Taken(Usage):
    """100 times what is used: a percentage as soon as it is divided."""

    __slots__ = ()
    of_capacity, of_used = 0, MAX_SCORE
    is_percentage = True


class Left(Usage):
    """100 times what is left, negative where more is used than there is."""

    __slots__ = ()
    of_capacity, of_used = MAX_SCORE, -MAX_SCORE
    is_percentage = True


@define(eq=False)
class Room(DerivedArrays):
    """Amounts left of several resources, and the rows where not even a pod without requests may come."""

    names: tuple[str, ...] = ()
    left: list[Column] = field(factory=list)
    """Per resource allocatable less requested, int64 of shape ``(capacity,)``."""
    least: list[int] = field(factory=list)
    """Per resource, and at the end of pods: no node has less than this left; perhaps all have more."""
    full: npt.NDArray[np.bool_] = field(factory=lambda: np.zeros(0, np.bool_))
    """Whether there are as many pods as are allowed, bool of the same shape."""
    _columns: list[tuple[Column, Column]] = field(factory=list)
    _cells: list[tuple[Any, Any, Any]] = field(factory=list)
    _pods: tuple[Any, Any, Any] = field(init=False, repr=False)

    @override
    def rebind(self) -> None:
        """See :class:`DerivedArrays`."""
        table = self.table
        if len(self.full) < table.capacity:
            left = self.left or [np.zeros(0, np.int64)] * len(self.names)
            self.left = [longer(column, table.capacity) for column in left]
            self.full = longer(self.full, table.capacity)
        self._columns = [(table.allocatable(name), table.requested(name)) for name in self.names]
        mine = zip(self._columns, self.left, strict=True)
        self._cells = [(there.data, used.data, left.data) for (there, used), left in mine]
        self._pods = table.allowed_pods.data, table.pod_count.data, self.full.data

    @override
    def compute(self, index: Index) -> None:
        """See :class:`DerivedArrays`."""
        table, least = self.table, []
        alive = table.alive[index]
        for (there, used), left in zip(self._columns, self.left, strict=True):
            part = left[index] = there[index] - used[index]
            least.append(int(part[alive].min(initial=EXACT)))
        places = table.allowed_pods[index] - table.pod_count[index]
        self.full[index] = places <= 0
        least.append(int(places[alive].min(initial=EXACT)))
        is_full = isinstance(index, slice) and not index.start
        self.least = least if is_full else [*map(min, self.least, least)]

    @override
    def compute_row(self, row: int) -> None:
        """See :class:`DerivedArrays`."""
        least = self.least
        for i, (there, used, left) in enumerate(self._cells):
            left[row] = spare = there[row] - used[row]
            if spare < least[i]:  # noqa: PLR1730 - a call of min takes longer than the rest
                least[i] = spare
        allowed, users, full = self._pods
        places = allowed[row] - users[row]
        full[row] = places <= 0
        least[-1] = min(least[-1], places)

    def fits(self, amounts: Iterable[int]) -> bool:
        """Return whether surely every node has that much left, and room for a pod; O(resources)."""
        least = self.least
        return least[-1] > 0 and all(map(operator.ge, least, amounts))


def by_portions(rows: Rows, work: Callable[[Index], npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return the results of *work* for all *rows*, which it gets in portions."""
    parts = list(rows.portions())
    if len(parts) == 1:
        return work(rows.index)
    found = np.empty(len(rows), np.int64)
    start = 0
    for part in parts:
        found[start : start + len(part)] = work(part.index)
        start += len(part)
    return found


def longer(old: npt.NDArray[Scalar], capacity: int) -> npt.NDArray[Scalar]:
    """Return a copy whose last axis has room for *capacity* rows, zeros at its end."""
    new = np.zeros((*old.shape[:-1], capacity), old.dtype)
    new[..., : old.shape[-1]] = old
    return new


def room(names: tuple[str, ...], rows: Rows) -> Room | None:
    """Return what is left of these resources, up to date; ``None`` while that is not cached."""
    return rows.table.derived_arrays_if_busy((Room, names), lambda table: Room(table, names=names), len(rows))


def left_of(names: Sequence[str], rows: Rows) -> list[Column]:
    """Return what *rows* have left of these resources, computed now."""
    table = rows.table
    return [rows.take(table.allocatable(name)) - rows.take(table.requested(name)) for name in names]


def followed(kind: type[U], scored: Sequence[Scored], rows: Rows) -> U | None:
    """Return the usage of these resources, up to date; ``None`` where it is invalid or not cached.

    One for each set of resources and table, shared by all pods. Resources that nodes do not count themselves
    have none.
    """
    resources = tuple([(each.name, each.non_zero) for each in scored])
    if not resources or any(type(each) is not Scored for each in scored):
        return None
    usage = rows.table.derived_arrays_if_busy(
        (kind, resources), lambda table: kind(table, resources=resources), len(rows)
    )
    return None if usage is None or usage.odd_rows else usage
