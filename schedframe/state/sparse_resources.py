"""Resources that few nodes have (devices, huge pages), stored sparsely until they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record
from . import policy

Column = npt.NDArray[np.int64]

FIRST_RESOURCES = ("cpu", "memory", "ephemeral-storage")
"""Resources that always have a column."""
PODS = "pods"
"""The resource that counts pods, which has a column of its own."""
_ENTRY_CELLS = 16
"""Cells of a column that take the memory of one entry: 8 bytes each against 110 to 140. A resource that more
rows have always gets columns."""


@record(eq=False)
class SparseAmounts:
    """One quantity of one resource by row: entries where it is not 0, or a column."""

    entries: dict[int, int] = field(factory=dict)
    """Row → amount, while there is no column."""
    column: Column | None = None
    cells: Any = None
    """The column as a memoryview, which stays writable; the array itself is read-only."""
    _rows: int = 0
    """Rows of the column where it is not 0."""

    def __len__(self) -> int:
        """Number of rows where it is not 0, in either form. O(1)."""
        return len(self.entries) if self.cells is None else self._rows

    def add(self, row: int, amount: int) -> None:
        """Add to the amount of a row."""
        self.set(row, self.at(row) + amount)

    def set(self, row: int, amount: int) -> None:
        """Set the amount of a row."""
        cells = self.cells
        if cells is not None:
            self._rows += bool(amount) - bool(cells[row])
            cells[row] = amount
        elif amount:
            self.entries[row] = amount
        else:
            self.entries.pop(row, None)

    def at(self, row: int) -> int:
        """Return the amount of a row."""
        return self.entries.get(row, 0) if self.cells is None else self.cells[row]

    def by_row(self) -> dict[int, int]:
        """Return row → amount where it is not 0, in either form."""
        if self.column is None:
            return dict(self.entries)
        rows = self.column.nonzero()[0]
        return dict(zip(rows.tolist(), self.column[rows].tolist(), strict=True))

    def as_column(self, capacity: int) -> Column:
        """Return the amounts of all rows as a new array."""
        old, column = self.column, np.zeros(capacity, np.int64)
        if old is not None:
            column[: len(old)] = old
        elif self.entries:
            column[list(self.entries)] = list(self.entries.values())
        return column

    def copied(self) -> SparseAmounts:
        """Return an independent copy."""
        if self.column is None:
            return SparseAmounts(dict(self.entries))
        column = self.column.copy()
        cells, column.flags.writeable = column.data, False
        return SparseAmounts({}, column, cells, self._rows)

    def densify(self, capacity: int) -> None:
        """Turn entries into a column, or lengthen the column."""
        self.column = column = self.as_column(capacity)
        self._rows = len(self)
        self.entries, self.cells = {}, column.data
        column.flags.writeable = False

    def sparsify(self) -> None:
        """Turn the column into entries."""
        self.entries = self.by_row()
        self.column = self.cells = None


@record(eq=False)
class SparseResource:
    """Allocatable and requested amounts of one resource."""

    allocatable: SparseAmounts = field(factory=SparseAmounts)
    requested: SparseAmounts = field(factory=SparseAmounts)

    @property
    def has_columns(self) -> bool:
        """Return whether both amounts have a column."""
        return self.allocatable.column is not None

    @property
    def is_unused(self) -> bool:
        """Return whether no node has it and no pod requests it."""
        return not (len(self.allocatable) or len(self.requested))

    def densify(self, capacity: int) -> None:
        """Turn both amounts into columns."""
        self.allocatable.densify(capacity)
        self.requested.densify(capacity)

    def sparsify(self) -> None:
        """Turn both amounts into entries."""
        self.allocatable.sparsify()
        self.requested.sparsify()


@record(eq=False)
class SparseResources:
    """All resources other than ``FIRST_RESOURCES``. Memory is O(amounts that are not 0).

    A read turns a resource into columns, which are maintained from then on: for the resources read last, and
    for those that many rows have.
    """

    capacity: int
    layout: int = 0
    """Changes when columns move or are dropped, and when a resource is new."""
    resources: dict[str, SparseResource] = field(factory=dict)
    _recent: dict[str, SparseResource] = field(factory=dict)
    """Resources of few rows with columns, in order of their last read."""

    def copied(self) -> SparseResources:
        """Return an independent copy; O(amounts)."""
        resources = {
            name: SparseResource(each.allocatable.copied(), each.requested.copied())
            for name, each in self.resources.items()
        }
        recent = {name: resources[name] for name in self._recent}
        return SparseResources(self.capacity, self.layout, resources, recent)

    def __iter__(self) -> Iterator[str]:
        return iter(self.resources)

    def __len__(self) -> int:
        return len(self.resources)

    def is_absent(self, name: str) -> bool:
        """Return whether no node has any of it; always false for those that have a column anyway. O(1)."""
        if name in FIRST_RESOURCES or name == PODS:
            return False
        resource = self.resources.get(name)
        return resource is None or not len(resource.allocatable)

    def amounts_at(self, row: int) -> list[tuple[str, int, int]]:
        """Return (name, allocatable, requested) of the resources in use on a row; O(resources)."""
        found = []
        for name, resource in self.resources.items():
            there, used = resource.allocatable.at(row), resource.requested.at(row)
            if there or used:
                found.append((name, there, used))
        return found

    def get(self, name: str) -> tuple[Column, Column] | None:
        """Return allocatable and requested as columns; ``None`` for an unknown resource."""
        resource = self.resources.get(name)
        if resource is None:
            return None
        if not resource.has_columns:
            resource.densify(self.capacity)
            self._recent[name] = resource
            if len(self._recent) > policy.KEPT_COLUMNS:
                self._drop_columns(next(iter(self._recent)))
        elif name in self._recent:
            self._recent[name] = self._recent.pop(name)
        there, used = resource.allocatable.column, resource.requested.column
        assert there is not None
        assert used is not None
        return there, used

    def columns_of(self, name: str) -> tuple[Column, Column]:
        """Return allocatable and requested as columns that are not maintained."""
        resource = self.resources[name]
        return resource.allocatable.as_column(self.capacity), resource.requested.as_column(self.capacity)

    def by_row(self, name: str) -> tuple[dict[int, int], dict[int, int]]:
        """Return allocatable and requested by row where they are not 0, without making columns."""
        resource = self.resources[name]
        return resource.allocatable.by_row(), resource.requested.by_row()

    def set_allocatable(self, row: int, amounts: Mapping[str, int], before: Mapping[str, int]) -> None:
        """Set the sparse allocatable amounts of the node of *row*; *before*: its earlier ones."""
        for name in before:
            if not amounts.get(name) and name in self.resources:
                self.resources[name].allocatable.set(row, 0)
                self._drop_if_unused(name)
        for name, amount in amounts.items():
            if not amount:
                continue
            resource = self.resources.get(name) or self._new(name)
            resource.allocatable.set(row, amount)
            if len(resource.allocatable.entries) * _ENTRY_CELLS > self.capacity:
                resource.densify(self.capacity)

    def request(self, row: int, name: str, amount: int) -> None:
        """Add *amount*, which may be negative, to the requests on *row*."""
        if not amount:
            return
        resource = self.resources.get(name) or self._new(name)
        resource.requested.add(row, amount)
        if amount < 0:
            self._drop_if_unused(name)
        elif len(resource.requested.entries) * _ENTRY_CELLS > self.capacity:
            resource.densify(self.capacity)

    def grow(self, capacity: int) -> None:
        """Make room for *capacity* rows."""
        self.capacity = capacity
        self.layout += 1
        for name, resource in self.resources.items():
            if resource.has_columns and (name in self._recent or self._is_common(resource)):
                resource.densify(capacity)
            elif resource.has_columns:
                resource.sparsify()

    def _new(self, name: str) -> SparseResource:
        resource = self.resources[name] = SparseResource()
        self.layout += 1
        return resource

    def _drop_columns(self, name: str) -> None:
        """Turn columns into entries, unless many rows have the resource by now."""
        resource = self._recent.pop(name)
        if not self._is_common(resource):
            resource.sparsify()
            self.layout += 1

    def _is_common(self, resource: SparseResource) -> bool:
        """Return whether many rows have the resource."""
        return max(len(resource.allocatable), len(resource.requested)) * _ENTRY_CELLS > self.capacity

    def _drop_if_unused(self, name: str) -> None:
        """Drop a resource that no node has and no pod requests any more, with its columns."""
        resource = self.resources[name]
        if resource.is_unused:
            del self.resources[name]
            if resource.has_columns:
                self._recent.pop(name, None)
                self.layout += 1
