"""Counts of pods by the value of a node label: the sums of the node table, and the changes of a dry run.

Invariant: the sums of the table are shared and never written here; a dry run keeps its changes in ``added``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from weakref import ReferenceType, ref

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import NodeTable, Rows
from schedframe.state import DomainSums

from .._policy import MAX_COMPARED_DOMAINS
from .counters import TermCounter

Mask: TypeAlias = npt.NDArray[np.bool_]
Sums: TypeAlias = npt.NDArray[np.int64]


@define(eq=False)
class DomainCounts:
    """Count by value of one node label."""

    topology_key: str
    sums: DomainSums | None = None
    """Kept current by the table; ``None`` if only a dry run counts."""
    added: dict[str, int] = field(factory=dict)
    """Changes of a dry run, by value of the label."""

    def at(self, value: str) -> int:
        """Return the count of the nodes with that value of the label."""
        count = self.added.get(value, 0) if self.added else 0
        sums = self.sums
        if sums is not None:
            code = sums.labels.code_of(value)
            if code >= 0:
                count += sums.sums.item(code)
        return count

    def add(self, value: str, amount: int) -> None:
        """Change the count of that value by *amount*, in this copy only."""
        self.added[value] = self.added.get(value, 0) + amount

    def any(self) -> bool:
        """Return whether any count is not 0; O(changes of the dry run)."""
        nonzero = 0 if self.sums is None else self.sums.nonzero
        for value, amount in self.added.items():
            count = self.at(value)
            nonzero += bool(count) - bool(count - amount)
        return nonzero > 0

    def per_code(self) -> Sums:
        """Return the counts by code of the label's column; the last is 0, for nodes without the label."""
        assert self.sums is not None
        counts = self.sums.sums
        if self.added:
            counts = counts.copy()
            for value, amount in self.added.items():
                code = self.sums.labels.code_of(value)
                if code >= 0:
                    counts[code] += amount
        return counts

    def clone(self) -> DomainCounts:
        """Return an independent copy; the sums of the table are shared."""
        return DomainCounts(self.topology_key, self.sums, self.added.copy())

    # ---- many rows ---------------------------------------------------------------------------------------

    def positive(self, rows: Rows) -> Mask | bool:
        """Return the rows with a positive count, or one value if all rows agree.

        Only for counts that are never negative. O(rows) in few passes; the mask is a fresh array.
        """
        sums = self.sums
        if sums is None or self.added:
            return self._positive_in_dry_run(rows)
        if not sums.nonzero:
            return False
        domains = sums.domains
        everywhere = domains.total == rows.table.num_nodes
        if everywhere and sums.nonzero == domains.count:
            return True
        if domains.count == domains.total:
            # Every node is a domain of its own.
            by_node: Mask = rows.take(sums.column.positive())
            if not everywhere:
                return by_node & (rows.take(domains.codes) >= 0)
            return by_node.copy() if isinstance(rows.index, slice) else by_node
        if sums.nonzero > MAX_COMPARED_DOMAINS:
            return domains.take(sums.sums > 0, rows)
        codes = rows.take(domains.codes)
        mask = np.zeros(len(rows), np.bool_)
        for code in sums.sums.nonzero()[0].tolist():
            mask |= codes == code
        return mask

    def _positive_in_dry_run(self, rows: Rows) -> Mask:
        """As :meth:`positive`; O(values), which is enough because dry runs evaluate node by node."""
        label = rows.table.label(self.topology_key)
        return label.decide(lambda value: self.at(value) > 0, False, rows.index)

    def of_rows(self, rows: Rows) -> Sums:
        """Return the count of each row's domain, 0 without the label; a fresh array. O(rows)."""
        assert self.sums is not None
        sums, domains = self.sums, self.sums.domains
        if self.added or domains.count < domains.total:
            return domains.take(self.per_code(), rows)
        counts = rows.take(sums.column.counts)
        if domains.total < rows.table.num_nodes:
            return counts * (rows.take(domains.codes) >= 0)
        return counts.copy() if isinstance(rows.index, slice) else counts

    def grouped(self, table: NodeTable) -> tuple[npt.NDArray[Any], Callable[[int], int]] | None:
        """Return a column of group numbers, and the function from group number to count.

        The group of a row is its domain or, if every node is a domain, the count itself. ``None`` if there is
        no such column: in a dry run, or if some nodes lack the label of such domains.
        """
        sums = self.sums
        if sums is None or self.added:
            return None
        domains = sums.domains
        if domains.count < domains.total:
            return domains.codes, sums.sums.item
        return (sums.column.counts, int) if domains.total == table.num_nodes else None


def grouped(
    all_counts: Iterable[DomainCounts], table: NodeTable
) -> tuple[tuple[npt.NDArray[Any], ...], list[Callable[[int], int]]] | None:
    """Return :meth:`DomainCounts.grouped` of all counts that are not 0 everywhere, as two sequences.

    ``None`` if there are none, or one of them has no groups.
    """
    columns: list[npt.NDArray[Any]] = []
    functions: list[Callable[[int], int]] = []
    for counts in all_counts:
        if counts.any():
            group = counts.grouped(table)
            if group is None:
                return None
            columns.append(group[0])
            functions.append(group[1])
    return (tuple(columns), functions) if columns else None


@define(eq=False)
class CachedCounter:
    """A counter with the sums that it returned last."""

    counter: TermCounter
    _sums: ReferenceType[DomainSums] | None = None  # weak: the table may drop unused columns earlier

    def count(self, table: NodeTable) -> DomainCounts:
        """Return the current counts; O(1) after the first call."""
        sums = None if self._sums is None else self._sums()
        if sums is None or sums.column.dropped:
            sums = self.counter.count(table)
            self._sums = ref(sums)
        else:
            sums.sync()
        return DomainCounts(self.counter.topology_key, sums)


CountsByKey: TypeAlias = dict[str, DomainCounts]
"""Topology key → counts."""


def clone_counts(counts: CountsByKey) -> CountsByKey:
    """Return independent copies."""
    return {key: each.clone() for key, each in counts.items()}
