"""DoNotSchedule constraints: matching pods per domain, and the limit that max_skew sets.

Invariant: the counts of pre_filter are never changed; a dry run records its changes besides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import Node, Pod, Rows
from schedframe.state import DictionaryColumn

from .._policy import MAX_COMPARED_DOMAINS, MAX_LIST_LENGTH
from .constraints import Constraint, Constraints

Counts: TypeAlias = npt.NDArray[np.int64]
Codes: TypeAlias = npt.NDArray[np.int8]

PASSES: Final = 0
SKEW_EXCEEDED: Final = 1
UNLABELLED: Final = 2
"""Filter codes of :meth:`FilterState.filter_codes`."""

_NO_DOMAIN: Final = int(np.iinfo(np.int64).max)
"""Count of a value that is no domain: larger than every limit."""
_NO_MINIMUM: Final = 2**31 - 1
"""Smallest count without domains, as in the reference, unless min_domains makes it 0."""
_MIN_SMALLEST: Final = 8
"""Domains with the smallest counts that are searched at once."""


@define(eq=False)
class ConstraintCounts:
    """Matching pods per domain at pre_filter, for one constraint. Immutable but for a cache."""

    constraint: Constraint
    labels: DictionaryColumn[str]
    counts: Counts
    """By code of the label; :data:`_NO_DOMAIN` for values that no counting node has."""
    domains: int
    labelled: bool
    """Whether every node has the label."""
    lowest: int | None
    """The smallest count; ``None`` without domains."""
    counts_list: list[int] | None = None
    """``counts`` as a list, if they are at most ``MAX_LIST_LENGTH``."""
    _smallest: list[int] | None = None  # codes of the domains with the smallest counts, ascending

    @classmethod
    def of(cls, constraint: Constraint, nodes: Rows) -> ConstraintCounts:
        """Count over *nodes*; O(domains) for all nodes of the table, else O(nodes)."""
        table = nodes.table
        column = constraint.column(table)
        sums = column.by_domain(constraint.topology_key, constraint.subset)
        domains, labels = sums.domains, sums.labels
        size = len(labels.values)
        labelled = domains.total == table.num_nodes or (
            constraint.subset is not None
            and table.label_groups.domains(constraint.topology_key).total == table.num_nodes
        )
        if len(nodes) == table.num_nodes:
            counts = sums.sums[:size].copy()
            existing, count = domains.nodes[:size], domains.count
        else:
            codes = nodes.take(domains.codes)
            here = codes >= 0
            existing = np.bincount(codes[here], minlength=size)
            counts = np.bincount(codes[here], nodes.take(column.counts)[here], size).astype(np.int64)
            count = int(np.count_nonzero(existing))
        if count < size:
            counts[existing == 0] = _NO_DOMAIN
        counts_list = counts.tolist() if size <= MAX_LIST_LENGTH else None
        lowest = (min(counts_list) if counts_list is not None else int(counts.min())) if count else None
        return cls(constraint, labels, counts, count, labelled, lowest, counts_list)

    def count_of(self, code: int) -> int:
        """Return the matching pods in the domain with that code; 0 if it is no domain."""
        if code < 0:
            return 0
        count = int(self.counts[code])
        return 0 if count == _NO_DOMAIN else count

    def is_domain(self, code: int) -> bool:
        """Return whether a counting node has the value with that code."""
        return code >= 0 and self.counts[code] != _NO_DOMAIN

    def lowest_except(self, codes: Collection[int]) -> int | None:
        """Return the smallest count of the domains besides *codes*; ``None`` if there are no others.

        O(domains) the first time, then O(codes).
        """
        smallest = self._smallest
        if smallest is None or len(smallest) <= len(codes) < self.domains:
            smallest = self._smallest = self._smallest_codes(max(2 * len(codes), _MIN_SMALLEST))
        return next((int(self.counts[code]) for code in smallest if code not in codes), None)

    def _smallest_codes(self, number: int) -> list[int]:
        number = min(number, self.domains)
        if not number:
            return []
        codes = np.argpartition(self.counts, number - 1)[:number]
        ascending: list[int] = codes[np.argsort(self.counts[codes])].tolist()
        return ascending


@define(eq=False)
class FilterState:
    """The DoNotSchedule constraints of a pod, with the counts of pre_filter and the changes of a dry run.

    :meth:`clone` and :meth:`filter_code` are O(constraints + changed domains).
    """

    constraint_counts: tuple[ConstraintCounts, ...]
    changes: tuple[dict[str, int], ...]
    """For each constraint: value of the label → pods added (negative: removed)."""
    _limits: list[int | None] = field(init=False)
    """For each constraint the largest count that a domain may have; ``None`` if not computed yet."""

    def __attrs_post_init__(self) -> None:
        self._limits = [None] * len(self.constraint_counts)

    @classmethod
    def of(cls, constraints: Constraints, nodes: Rows) -> FilterState:
        """Return the state of *constraints* over *nodes*."""
        constraint_counts = tuple(ConstraintCounts.of(constraint, nodes) for constraint in constraints)
        return cls(constraint_counts, tuple({} for _ in constraint_counts))

    def clone(self) -> FilterState:
        """Return an independent copy for a dry run."""
        copy = FilterState(self.constraint_counts, tuple(map(dict, self.changes)))
        copy._limits[:] = self._limits
        return copy

    def update(self, pod: Pod, node: Node, by: int) -> None:
        """Add (*by* 1) or remove (-1) *pod* on *node*.

        As in the reference, pods that are being deleted count here, and a selector without requirements
        matches here, although pre_filter counts neither.
        """
        for i, counted in enumerate(self.constraint_counts):
            constraint = counted.constraint
            if pod.namespace == constraint.namespace and constraint.selector.matches(pod.labels):
                value = constraint.domain_of(node)
                if value is not None:
                    self._change(i, value, by)

    def filter_code(self, node: Node) -> int:
        """Return the filter code of the first constraint that rejects *node*, else ``PASSES``."""
        labels = node.labels
        for i, counted in enumerate(self.constraint_counts):
            value = labels.get(counted.constraint.topology_key)
            if value is None:
                return UNLABELLED
            count = counted.count_of(counted.labels.code_of(value)) + self.changes[i].get(value, 0)
            if count > self._limit(i):
                return SKEW_EXCEEDED
        return PASSES

    def filter_codes(self, rows: Rows) -> Codes | None:
        """As :meth:`filter_code` for each row; ``None`` if all pass. O(domains + rows) per constraint."""
        result: Codes | None = None
        for i, counted in enumerate(self.constraint_counts):
            if counted.labelled and not self._any_exceeds(i):
                continue
            codes = _codes_of_constraint(counted, self._exceeds(i), rows)
            if result is None:
                result = codes
            elif codes is not None:
                codes *= result == PASSES
                result += codes
        return result

    def count_of(self, i: int, value: str) -> int:
        """Return the matching pods of constraint *i* in the domain of that value."""
        counted = self.constraint_counts[i]
        return counted.count_of(counted.labels.code_of(value)) + self.changes[i].get(value, 0)

    def lowest(self, i: int) -> int:
        """Return the smallest count of constraint *i*; 0 with fewer domains than min_domains."""
        counted, changed = self.constraint_counts[i], self.changes[i]
        lowest, domains = counted.lowest, counted.domains
        if changed:
            lowest, domains = _changed_lowest(counted, changed)
        if domains < counted.constraint.min_domains:
            return 0
        return _NO_MINIMUM if lowest is None else lowest

    def domains(self, i: int) -> int:
        """Return the number of domains of constraint *i*."""
        counted, changed = self.constraint_counts[i], self.changes[i]
        return _changed_lowest(counted, changed)[1] if changed else counted.domains

    def _change(self, i: int, value: str, by: int) -> None:
        changed = self.changes[i]
        now = changed.get(value, 0) + by
        if now:
            changed[value] = now
        else:
            del changed[value]
        self._limits[i] = None

    def _limit(self, i: int) -> int:
        limit = self._limits[i]
        if limit is None:
            constraint = self.constraint_counts[i].constraint
            limit = self._limits[i] = constraint.max_skew - constraint.self_match + self.lowest(i)
        return limit

    def _any_exceeds(self, i: int) -> bool:
        """Return whether the count of some domain may exceed the limit; exact for short lists."""
        counts = self.constraint_counts[i].counts_list
        if counts is None or self.changes[i]:
            return True
        limit = self._limit(i)
        return limit < 0 or any([limit < count != _NO_DOMAIN for count in counts])  # noqa: C419 - a third of the time

    def _exceeds(self, i: int) -> npt.NDArray[np.bool_]:
        """Return, by code, whether the count of the domain exceeds the limit."""
        counted, limit = self.constraint_counts[i], self._limit(i)
        counts = counted.counts
        exceeds = counts > limit
        if counted.domains < len(counts) and limit >= 0:
            # Nodes that do not count may have a value that is no domain; its count is 0.
            exceeds &= counts != _NO_DOMAIN
        for value in self.changes[i]:
            code = counted.labels.code_of(value)
            if code >= 0:
                exceeds[code] = self.count_of(i, value) > limit
        return exceeds


def _changed_lowest(counted: ConstraintCounts, changed: Mapping[str, int]) -> tuple[int | None, int]:
    """Return the smallest count after the changes (``None`` without domains), and the number of domains."""
    codes = {value: counted.labels.code_of(value) for value in changed}
    counts = [counted.count_of(code) + changed[value] for value, code in codes.items()]
    others = counted.lowest_except({code for code in codes.values() if counted.is_domain(code)})
    if others is not None:
        counts.append(others)
    new = sum(not counted.is_domain(code) for code in codes.values())
    return min(counts), counted.domains + new


def _codes_of_constraint(
    counted: ConstraintCounts, exceeds: npt.NDArray[np.bool_], rows: Rows
) -> Codes | None:
    """Return the filter codes of one constraint; ``None`` if all rows pass. A fresh array."""
    hits = np.count_nonzero(exceeds)
    if not hits and counted.labelled:
        return None
    codes = rows.take(counted.labels.codes)
    if hits <= MAX_COMPARED_DOMAINS:
        mask = np.zeros(len(codes), np.bool_)
        for code in exceeds.nonzero()[0].tolist():
            mask |= codes == code
    else:
        mask = _with_unlabelled(exceeds).take(codes)
    result: Codes = mask.view(np.int8)
    if not counted.labelled:
        missing = (codes < 0).view(np.int8)
        # Twice, because UNLABELLED is 2 and excludes SKEW_EXCEEDED.
        result += missing
        result += missing
    return result


def _with_unlabelled(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return *mask* with a last entry (False) for the code -1 of nodes without the label."""
    longer = np.zeros(len(mask) + 1, np.bool_)
    longer[:-1] = mask
    return longer
