"""Columns of what nodes have, what their pods request, and how many pods there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record
from ..api import PodResources
from . import policy
from .sparse_resources import FIRST_RESOURCES, PODS, SparseResources

Column = npt.NDArray[np.int64]

FIRST_CAPACITY = 64
"""Rows that a table has room for at first; it doubles from there."""
_PAGE = 512
"""Numbers per page of memory."""
LARGEST_SUM = int(np.iinfo(np.int64).max)
"""The largest number of 64 bits; a larger sum of requests shows as this."""
_SCORED_CPU, _SCORED_MEMORY = "cpu with defaults", "memory with defaults"
"""Keys of sums that are no resources: what scoring counts."""
_FIRST = {name: i for i, name in enumerate(FIRST_RESOURCES)}
_AMOUNTS = 2 * len(_FIRST) + 3
"""Rows of the matrix: allocatable and requested of each; cpu and memory with defaults; room."""
_DENSE = frozenset((*FIRST_RESOURCES, PODS))


@record(frozen=True, eq=False)
class Cells:
    """Columns as memoryviews: reading or setting one element costs a third of what it does in an array."""

    allocatable: list[memoryview[int]]
    """By number of the resource."""
    requested: dict[str, memoryview[int]]
    cpu: memoryview[int]
    memory: memoryview[int]
    pod_count: memoryview[int]
    allowed_pods: memoryview[int]
    room: memoryview[int]


@record(eq=False)
class ResourceColumns:
    """The numbers of all rows; int64 of shape ``(capacity,)`` each. See :class:`.node_table.NodeTable`."""

    pod_count: Column = field(factory=lambda: np.zeros(FIRST_CAPACITY, np.int64))
    allowed_pods: Column = field(factory=lambda: np.zeros(FIRST_CAPACITY, np.int64))
    matrix: Column = field(factory=lambda: np.zeros((_AMOUNTS, FIRST_CAPACITY), np.int64))
    """The amounts that always have a column, one row each; other attributes are views of parts of it."""
    sparse: SparseResources = field(factory=lambda: SparseResources(FIRST_CAPACITY))
    first_allocatable: Column = field(init=False)
    """One row for each of the first resources."""
    first_requested: Column = field(init=False)
    non_zero: Column = field(init=False)
    """Requests of cpu and of memory, with a default for containers without one."""
    room: Column = field(init=False)
    """1 where there are fewer pods than allowed, else 0."""
    _zeros: Column = field(factory=lambda: np.zeros(FIRST_CAPACITY, np.int64))
    _cells: Cells = field(init=False)
    _huge: Counter[int] = field(factory=Counter)
    """Row → number of its pods with huge requests, where there are any."""
    _excess: dict[tuple[int, str], int] = field(factory=dict)
    """(Row, name) → how far a sum of requests exceeds what its cell can hold, where it does."""

    def __attrs_post_init__(self) -> None:
        self._part()

    def _part(self) -> None:
        """Take hold of the parts of the matrix, and make all arrays read-only.

        Plugins get these arrays. The memoryviews of ``_cells``, made before, stay writable.
        """
        # Before the arrays become read-only: a memoryview keeps the access that it was made with.
        self._cells = self._new_cells()
        for array in (self.matrix, self.pod_count, self.allowed_pods, self._zeros):
            array.flags.writeable = False
        first = len(FIRST_RESOURCES)
        self.first_allocatable, self.first_requested = self.matrix[:first], self.matrix[first : 2 * first]
        self.non_zero, self.room = self.matrix[-3:-1], self.matrix[-1]

    def copied(self) -> ResourceColumns:
        """Return an independent copy."""
        arrays = (self.pod_count.copy(), self.allowed_pods.copy(), self.matrix.copy())
        copy = ResourceColumns(*arrays, self.sparse.copied(), zeros=self._zeros.copy())
        copy._huge, copy._excess = self._huge.copy(), dict(self._excess)
        return copy

    def names(self) -> tuple[str, ...]:
        """Return all resources that any node has or any pod requests, and those that always have a column."""
        return tuple(dict.fromkeys((*FIRST_RESOURCES, PODS, *self.sparse)))

    def allocatable(self, resource: str) -> Column:
        """Return allocatable amounts; zeros for an unknown resource."""
        i = _FIRST.get(resource)
        if i is not None:
            first: Column = self.first_allocatable[i]
            return first
        if resource == PODS:
            return self.allowed_pods
        columns = self.sparse.get(resource)
        return self._zeros if columns is None else columns[0]

    def requested(self, resource: str) -> Column:
        """Return sums of requests of the pods on each row."""
        i = _FIRST.get(resource)
        if i is not None:
            first: Column = self.first_requested[i]
            return first
        columns = self.sparse.get(resource)
        return self._zeros if columns is None else columns[1]

    def row_state(self, row: int) -> tuple[Any, ...] | None:
        """Return what there is and what is used on a row, and whether there is room for a pod; ``None`` if
        there are too many resources to look at all.
        """
        amounts = self.matrix[:, row].tobytes()  # made, hashed and compared faster than a tuple of numbers
        others = len(self.sparse.resources)
        if not others:
            return (amounts,)
        return (amounts, *self.sparse.amounts_at(row)) if others <= policy.KEPT_COLUMNS else None

    def state_columns(self) -> Iterator[Column]:
        """Return the columns whose values at a row are its :meth:`row_state`; some are made for this."""
        yield from self.matrix
        for name in self.sparse:
            yield from self.sparse.columns_of(name)

    def set_allocatable(self, row: int, amounts: Mapping[str, int], before: Mapping[str, int]) -> None:
        """Set the allocatable amounts of the node of *row*; *before*: its earlier ones."""
        cells = self._cells
        for name, column in zip(FIRST_RESOURCES, cells.allocatable, strict=True):
            column[row] = amounts.get(name, 0)
        cells.allowed_pods[row] = allowed = amounts.get(PODS, 0)
        cells.room[row] = cells.pod_count[row] < allowed
        if amounts is not before and not (_DENSE.issuperset(amounts) and _DENSE.issuperset(before)):
            self.sparse.set_allocatable(row, _sparse_of(amounts), _sparse_of(before))

    def count(self, row: int, amounts: PodResources, sign: int) -> bool:
        """Add (1) or remove (-1) a pod; return whether the row allows another one. O(its resources).

        A sum that exceeds 64 bits shows as the largest number of 64 bits.
        """
        cells = self._cells
        requested = cells.requested
        # Only rows with requests near 2**63 pay for exact sums; Go would overflow there.
        if amounts.is_huge or row in self._huge:
            amounts = self._within_range(row, amounts, sign)
        for name, amount in amounts.requests.items():
            if name in requested:
                requested[name][row] += sign * amount
            else:
                self.sparse.request(row, name, sign * amount)
        cpu, memory = amounts.non_zero
        cells.cpu[row] += sign * cpu
        cells.memory[row] += sign * memory
        cells.pod_count[row] = count = cells.pod_count[row] + sign
        room = count < cells.allowed_pods[row]
        if sign < 0 or not room:
            cells.room[row] = room  # else there was room before, too
        return room

    def _within_range(self, row: int, amounts: PodResources, sign: int) -> PodResources:
        """Return the changes of the row's cells for *amounts*; keep what exceeds 64 bits apart."""
        if amounts.is_huge:
            self._huge[row] += sign
            if not self._huge[row]:
                del self._huge[row]
        cells = self._cells
        requests = {
            name: self._within((row, name), self._requested_at(row, name), amount, sign)
            for name, amount in amounts.requests.items()
        }
        cpu, memory = amounts.non_zero
        non_zero = (
            self._within((row, _SCORED_CPU), cells.cpu[row], cpu, sign),
            self._within((row, _SCORED_MEMORY), cells.memory[row], memory, sign),
        )
        return PodResources(requests, non_zero)

    def _within(self, key: tuple[int, str], before: int, amount: int, sign: int) -> int:
        """Return the change of a cell that holds *before*; keep what exceeds 64 bits as its excess."""
        # The exact sum is kept beside the cell, so that removing the pod gives the old value back.
        exact = before + self._excess.pop(key, 0) + sign * amount
        after = min(exact, LARGEST_SUM)
        if exact > after:
            self._excess[key] = exact - after
        return sign * (after - before)

    def _requested_at(self, row: int, name: str) -> int:
        column = self._cells.requested.get(name)
        if column is not None:
            return column[row]
        resource = self.sparse.resources.get(name)
        return 0 if resource is None else resource.requested.at(row)

    def grow(self, capacity: int) -> None:
        """Make room for *capacity* rows."""
        before = len(self.pod_count)
        self.pod_count = longer(self.pod_count, capacity)
        self.allowed_pods = longer(self.allowed_pods, capacity)
        self.matrix = longer(self.matrix, capacity)
        self._zeros = np.zeros(capacity, np.int64)
        # The first write to a page of memory is slow; without this the first pods would pay for it.
        self.pod_count[before::_PAGE] = 0
        self.matrix[len(FIRST_RESOURCES) :, before::_PAGE] = 0
        self._part()
        self.sparse.grow(capacity)

    def _new_cells(self) -> Cells:
        rows, first = [column.data for column in self.matrix], len(FIRST_RESOURCES)
        requested = dict(zip(FIRST_RESOURCES, rows[first : 2 * first], strict=True))
        cpu, memory, room = rows[-3:]
        return Cells(rows[:first], requested, cpu, memory, self.pod_count.data, self.allowed_pods.data, room)


def longer(old: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
    """Return a copy with room for *capacity* rows, zeros at the end."""
    new = np.zeros((*old.shape[:-1], capacity), old.dtype)
    new[..., : old.shape[-1]] = old
    return new


def _sparse_of(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if name not in _DENSE}
