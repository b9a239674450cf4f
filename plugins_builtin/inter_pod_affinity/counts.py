"""How many pods are where, by the value of a node label: the table's counts, and what a dry run changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias
from weakref import ReferenceType, ref

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import DomainSums, NodeTable, Rows

from .questions import Question

Mask: TypeAlias = npt.NDArray[np.bool_]
Sums: TypeAlias = npt.NDArray[np.int64]

_FEW: Final = 6
"""Up to so many domains are looked for one by one among the rows, which is cheaper than a look-up per row."""


@define(eq=False)
class DomainCounts:
    """Counts per value of one node label: the table's own, and what a dry run added."""

    topology_key: str
    sums: DomainSums | None = None
    added: dict[str, int] = field(factory=dict)

    def at(self, value: str) -> int:
        """The count of the nodes with that value."""
        count = self.added.get(value, 0) if self.added else 0
        sums = self.sums
        if sums is not None:
            code = sums.labels.code_of(value)
            if code >= 0:
                count += sums.sums.item(code)
        return count

    def add(self, value: str, amount: int) -> None:
        """Count more (or less) for that value, in this copy only."""
        self.added[value] = self.added.get(value, 0) + amount

    def any(self) -> bool:
        """Whether any count is not 0; O(changes)."""
        nonzero = 0 if self.sums is None else self.sums.nonzero
        for value, amount in self.added.items():
            count = self.at(value)
            nonzero += bool(count) - bool(count - amount)
        return nonzero > 0

    def per_code(self) -> Sums:
        """Counts by code of the label's column; the last is 0, for nodes without the label."""
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
        """An independent copy; the table's sums are shared."""
        return DomainCounts(self.topology_key, self.sums, self.added.copy())

    # ---- many rows ---------------------------------------------------------------------------------------

    def positive(self, rows: Rows) -> Mask | bool:
        """Where there are any, for counts that are never negative; one value if all rows agree.

        O(rows) in few passes; the mask is a fresh array.
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
            alone: Mask = rows.take(sums.column.positive())
            if not everywhere:
                return alone & (rows.take(domains.codes) >= 0)
            return alone.copy() if isinstance(rows.index, slice) else alone
        if sums.nonzero > _FEW:
            return domains.take(sums.sums > 0, rows)
        codes = rows.take(domains.codes)
        mask = np.zeros(len(rows), np.bool_)
        for code in sums.sums.nonzero()[0].tolist():
            mask |= codes == code
        return mask

    def _positive_in_dry_run(self, rows: Rows) -> Mask:
        """O(values): dry runs go node by node anyway."""
        label = rows.table.label(self.topology_key)
        return label.decide(lambda value: self.at(value) > 0, False, rows.index)

    def of_rows(self, rows: Rows) -> Sums:
        """The count of each row's domain, 0 without the label; a fresh array. O(rows)."""
        assert self.sums is not None
        sums, domains = self.sums, self.sums.domains
        if self.added or domains.count < domains.total:
            return domains.take(self.per_code(), rows)
        counts = rows.take(sums.column.counts)
        if domains.total < rows.table.num_nodes:
            return counts * (rows.take(domains.codes) >= 0)
        return counts.copy() if isinstance(rows.index, slice) else counts

    def grouped(self, table: NodeTable) -> tuple[npt.NDArray[Any], Callable[[int], int]] | None:
        """A number per row, and what count it means; ``None`` if none says it.

        The domain of the row, or, where each node is a domain, how many there are.
        """
        sums = self.sums
        if sums is None or self.added:
            return None
        domains = sums.domains
        if domains.count < domains.total:
            return domains.codes, sums.sums.item
        return (sums.column.counts, int) if domains.total == table.num_nodes else None


def grouped(
    found: Iterable[DomainCounts], table: NodeTable
) -> tuple[tuple[npt.NDArray[Any], ...], list[Callable[[int], int]]] | None:
    """:meth:`DomainCounts.grouped` of those that count anything; ``None`` if there is none, or one cannot."""
    groups = [counts.grouped(table) for counts in found if counts.any()]
    known = [group for group in groups if group is not None]
    if not groups or len(known) < len(groups):
        return None
    return tuple([column for column, _ in known]), [number for _, number in known]


@define(eq=False)
class Counter:
    """Answers one question again and again."""

    question: Question
    _sums: ReferenceType[DomainSums] | None = None
    """The last answer; weak, for questions are kept longer than columns that nobody asks about any more."""

    def count(self, table: NodeTable) -> DomainCounts:
        """The counts now; O(1) but for the first time."""
        sums = None if self._sums is None else self._sums()
        if sums is None or sums.column.dropped:
            sums = self.question.count(table)
            self._sums = ref(sums)
        else:
            sums.sync()
        return DomainCounts(self.question.topology_key, sums)


Counts: TypeAlias = dict[str, DomainCounts]
"""Topology key → counts."""


def clone_counts(counts: Counts) -> Counts:
    """Independent copies."""
    return {key: each.clone() for key, each in counts.items()}
