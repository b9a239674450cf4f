"""Resources that few nodes know (devices, huge pages), without a column of all nodes for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

Column = npt.NDArray[np.int64]

FIRST_RESOURCES = ("cpu", "memory", "ephemeral-storage")
"""Those that have a column from the start."""
MOST_ASKED = 32
"""So many resources that few nodes have keep their columns after somebody asked for them."""
_FEW = 16
"""A resource that one in so many rows has, or more, gets columns anyway."""


@define(eq=False)
class SparseAmounts:
    """One quantity of one resource by row: entries where it is not 0, or a column."""

    entries: dict[int, int] = field(factory=dict)
    """Row → amount, as long as there is no column."""
    column: Column | None = None
    cells: Any = None
    """The column as a memoryview, which stays writable; the array itself is read-only."""

    def add(self, row: int, amount: int) -> None:
        """Add to the amount of a row."""
        if self.cells is not None:
            self.cells[row] += amount
            return
        left = self.entries.get(row, 0) + amount
        if left:
            self.entries[row] = left
        else:
            self.entries.pop(row, None)

    def set(self, row: int, amount: int) -> None:
        """Set the amount of a row."""
        if self.cells is not None:
            self.cells[row] = amount
        elif amount:
            self.entries[row] = amount
        else:
            self.entries.pop(row, None)

    def at(self, row: int) -> int:
        """The amount of a row."""
        return self.entries.get(row, 0) if self.cells is None else self.cells[row]

    def by_row(self) -> dict[int, int]:
        """Row → amount where it is not 0, whatever form this has."""
        if self.column is None:
            return dict(self.entries)
        rows = self.column.nonzero()[0]
        return dict(zip(rows.tolist(), self.column[rows].tolist(), strict=True))

    def as_column(self, capacity: int) -> Column:
        """The amounts of all rows; a fresh array."""
        old, column = self.column, np.zeros(capacity, np.int64)
        if old is not None:
            column[: len(old)] = old
        elif self.entries:
            column[list(self.entries)] = list(self.entries.values())
        return column

    def densify(self, capacity: int) -> None:
        """Turn entries into a column, or lengthen the column."""
        self.column = column = self.as_column(capacity)
        self.entries, self.cells = {}, column.data
        column.flags.writeable = False

    def sparsify(self) -> None:
        """Turn the column into entries."""
        self.entries = self.by_row()
        self.column = self.cells = None


@define(eq=False)
class SparseResource:
    """A resource that is not among the first."""

    allocatable: SparseAmounts = field(factory=SparseAmounts)
    requested: SparseAmounts = field(factory=SparseAmounts)

    @property
    def has_columns(self) -> bool:
        """Whether there is a number for every row."""
        return self.allocatable.column is not None

    @property
    def is_unused(self) -> bool:
        """Whether no node has it and no pod asks for it, as far as that is known without looking."""
        return not (self.has_columns or self.allocatable.entries or self.requested.entries)

    def densify(self, capacity: int) -> None:
        """Have columns."""
        self.allocatable.densify(capacity)
        self.requested.densify(capacity)

    def sparsify(self) -> None:
        """Have none."""
        self.allocatable.sparsify()
        self.requested.sparsify()


@define(eq=False)
class SparseResources:
    """All resources but the first ones. Thousands of names, each known to a few nodes, cost what these cost.

    Columns are made when somebody asks, and kept in step from then on: of the resources asked for last, and
    of those that many rows have.
    """

    capacity: int
    layout: int = 0
    """Changes when columns are laid anew, given up, or when a resource appears that had none."""
    _resources: dict[str, SparseResource] = field(factory=dict)
    _recent: dict[str, SparseResource] = field(factory=dict)
    """Those that few rows have but somebody asked for, the last one at the end."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._resources)

    def __len__(self) -> int:
        return len(self._resources)

    def amounts_at(self, row: int) -> list[tuple[str, int, int]]:
        """Of each resource what a row has and what is requested there, if that is not 0; O(resources)."""
        found = []
        for name, resource in self._resources.items():
            there, used = resource.allocatable.at(row), resource.requested.at(row)
            if there or used:
                found.append((name, there, used))
        return found

    def get(self, name: str) -> tuple[Column, Column] | None:
        """What nodes have of it and what is requested, as columns; ``None`` if nobody knows it."""
        resource = self._resources.get(name)
        if resource is None:
            return None
        if not resource.has_columns:
            resource.densify(self.capacity)
            self._recent[name] = resource
            if len(self._recent) > MOST_ASKED:
                self._drop_columns(next(iter(self._recent)))
        elif name in self._recent:
            self._recent[name] = self._recent.pop(name)
        there, used = resource.allocatable.column, resource.requested.column
        assert there is not None
        assert used is not None
        return there, used

    def columns_of(self, name: str) -> tuple[Column, Column]:
        """What nodes have of it and what is requested, for somebody who does not keep these columns."""
        resource = self._resources[name]
        return resource.allocatable.as_column(self.capacity), resource.requested.as_column(self.capacity)

    def by_row(self, name: str) -> tuple[dict[int, int], dict[int, int]]:
        """What nodes have of it and what is requested, where that is not 0; makes no columns."""
        resource = self._resources[name]
        return resource.allocatable.by_row(), resource.requested.by_row()

    def set_allocatable(self, row: int, amounts: Mapping[str, int], before: Mapping[str, int]) -> None:
        """The node of *row* has *amounts*, and had those of *before*; only scarce resources are given."""
        for name in before:
            if not amounts.get(name) and name in self._resources:
                self._resources[name].allocatable.set(row, 0)
                self._drop_if_unused(name)
        for name, amount in amounts.items():
            if not amount:
                continue
            resource = self._resources.get(name) or self._new(name)
            resource.allocatable.set(row, amount)
            if len(resource.allocatable.entries) * _FEW > self.capacity:
                resource.densify(self.capacity)

    def request(self, row: int, name: str, amount: int) -> None:
        """So much more (or less) of it is requested by the pods of *row*."""
        if not amount:
            return
        resource = self._resources.get(name) or self._new(name)
        resource.requested.add(row, amount)
        if amount < 0:
            self._drop_if_unused(name)
        elif len(resource.requested.entries) * _FEW > self.capacity:
            resource.densify(self.capacity)

    def grow(self, capacity: int) -> None:
        """The table has more rows now."""
        self.capacity = capacity
        self.layout += 1
        for name, resource in self._resources.items():
            if resource.has_columns and (name in self._recent or self._is_common(resource)):
                resource.densify(capacity)
            elif resource.has_columns:
                resource.sparsify()

    def _new(self, name: str) -> SparseResource:
        resource = self._resources[name] = SparseResource()
        self.layout += 1
        return resource

    def _drop_columns(self, name: str) -> None:
        """Its columns, unless many rows have it by now."""
        resource = self._recent.pop(name)
        if not self._is_common(resource):
            resource.sparsify()
            self.layout += 1
            self._drop_if_unused(name)

    def _is_common(self, resource: SparseResource) -> bool:
        """Whether many rows have it, columns given."""
        there, used = resource.allocatable.column, resource.requested.column
        assert there is not None
        assert used is not None
        return bool(max(np.count_nonzero(there), np.count_nonzero(used)) * _FEW > self.capacity)

    def _drop_if_unused(self, name: str) -> None:
        """Forget a resource that nobody knows any more."""
        if self._resources[name].is_unused:
            del self._resources[name]
