"""How many matching pods each topology domain has, and how many more it may have: what filter decides by."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import Node, Pod, Rows
from schedframe.state import DictionaryColumn

from .constraints import Constraint, Constraints

Counts: TypeAlias = npt.NDArray[np.int64]
Codes: TypeAlias = npt.NDArray[np.int8]

PASSES: Final = 0
SKEWED: Final = 1
UNLABELLED: Final = 2
"""What :meth:`Spreading.verdicts` says of a row."""

_NO_DOMAIN: Final = int(np.iinfo(np.int64).max)
_NO_MINIMUM: Final = 2**31 - 1
"""What the reference takes for the smallest count of no domains, unless min_domains makes it 0."""
_FEW: Final = 6
"""Up to so many domains are looked for one by one among the rows, which is cheaper than a look-up per row."""
_FIRST: Final = 8
_FEW_CODES: Final = 32
"""Up to so many numbers cost less in plain Python than the calls to have arrays of them worked on."""


@define(eq=False)
class Baseline:
    """Matching pods per domain when pre_filter ran, for one constraint. Not changed afterwards."""

    constraint: Constraint
    labels: DictionaryColumn[str]
    counts: Counts
    """Per code of the label; :data:`_NO_DOMAIN` for a value that no node has which counts."""
    domains: int
    labelled: bool
    """Whether every node has the label."""
    lowest: int | None
    """The smallest count, ``None`` without domains."""
    few: list[int] | None = None
    """``counts`` once more, if they are few."""
    _smallest: list[int] | None = None
    """Codes of the domains with the smallest counts, in that order; all of them if there are not more."""

    @classmethod
    def of(cls, constraint: Constraint, nodes: Rows) -> Baseline:
        """Count over *nodes*. O(domains) for all nodes of the table, O(nodes) for some of them."""
        table = nodes.table
        column = constraint.column(table)
        sums = column.by_domain(constraint.topology_key, constraint.subset)
        domains, labels = sums.domains, sums.labels
        size = len(labels.values)
        every = domains.total == table.num_nodes or (
            constraint.subset is not None
            and table.pod_groups.domains(constraint.topology_key).total == table.num_nodes
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
        few = counts.tolist() if size <= _FEW_CODES else None
        lowest = (min(few) if few is not None else int(counts.min())) if count else None
        return cls(constraint, labels, counts, count, every, lowest, few)

    def count_of(self, code: int) -> int:
        """Matching pods in the domain with that code, 0 if there is none."""
        if code < 0:
            return 0
        count = int(self.counts[code])
        return 0 if count == _NO_DOMAIN else count

    def is_domain(self, code: int) -> bool:
        """Whether some node that counts has the value with that code."""
        return code >= 0 and self.counts[code] != _NO_DOMAIN

    def lowest_except(self, codes: Collection[int]) -> int | None:
        """The smallest count of all domains but those with *codes*, ``None`` if there are no others.

        O(codes) after the first time, which is O(domains).
        """
        smallest = self._smallest
        if smallest is None or len(smallest) <= len(codes) < self.domains:
            smallest = self._smallest = self._find(max(2 * len(codes), _FIRST))
        return next((int(self.counts[code]) for code in smallest if code not in codes), None)

    def _find(self, wanted: int) -> list[int]:
        wanted = min(wanted, self.domains)
        if not wanted:
            return []
        found = np.argpartition(self.counts, wanted - 1)[:wanted]
        found_in_order: list[int] = found[np.argsort(self.counts[found])].tolist()
        return found_in_order


@define(eq=False)
class Spreading:
    """The hard constraints of a pod with the counts of pre_filter, and what a dry run changed since.

    ``clone`` is O(constraints + changed domains); so is what :meth:`verdict` does.
    """

    baselines: tuple[Baseline, ...]
    changes: tuple[dict[str, int], ...]
    """For each constraint: value of the label → pods that came (or, negative, went)."""
    _limits: list[int | None] = field(init=False)
    """For each constraint: the most matching pods that a domain may have; ``None``: to be found out."""

    def __attrs_post_init__(self) -> None:
        self._limits = [None] * len(self.baselines)

    @classmethod
    def of(cls, constraints: Constraints, nodes: Rows) -> Spreading:
        """Count over *nodes*."""
        baselines = tuple(Baseline.of(constraint, nodes) for constraint in constraints)
        return cls(baselines, tuple({} for _ in baselines))

    def clone(self) -> Spreading:
        """An independent copy, for a dry run."""
        copy = Spreading(self.baselines, tuple(map(dict, self.changes)))
        copy._limits[:] = self._limits
        return copy

    def update(self, pod: Pod, node: Node | None, by: int) -> None:
        """*pod* came to (1) or left (-1) *node*.

        As in the reference, a pod that is being deleted counts here, and a selector without requirements
        matches: both are counted as nothing by pre_filter.
        """
        if node is None:
            return
        for i, baseline in enumerate(self.baselines):
            constraint = baseline.constraint
            if pod.namespace == constraint.namespace and constraint.selector.matches(pod.labels):
                value = constraint.domain_of(node)
                if value is not None:
                    self._change(i, value, by)

    def verdict(self, node: Node) -> int:
        """What the first constraint says of *node* that does not let it pass."""
        labels = node.labels
        for i, baseline in enumerate(self.baselines):
            value = labels.get(baseline.constraint.topology_key)
            if value is None:
                return UNLABELLED
            count = baseline.count_of(baseline.labels.code_of(value)) + self.changes[i].get(value, 0)
            if count > self._limit(i):
                return SKEWED
        return PASSES

    def verdicts(self, rows: Rows) -> Codes | None:
        """As :meth:`verdict` for each row; ``None`` if all pass. O(domains + rows) for each constraint."""
        verdicts: Codes | None = None
        for i, baseline in enumerate(self.baselines):
            if baseline.labelled and not self._any_skewed(i):
                continue
            found = _verdicts(baseline, self._skewed(i), rows)
            if verdicts is None:
                verdicts = found
            elif found is not None:
                found *= verdicts == PASSES
                verdicts += found
        return verdicts

    def count_of(self, i: int, value: str) -> int:
        """Matching pods of constraint *i* in the domain of that value."""
        baseline = self.baselines[i]
        return baseline.count_of(baseline.labels.code_of(value)) + self.changes[i].get(value, 0)

    def lowest(self, i: int) -> int:
        """The smallest count of constraint *i*, or what takes its place when there are too few domains."""
        baseline, changed = self.baselines[i], self.changes[i]
        lowest, domains = baseline.lowest, baseline.domains
        if changed:
            lowest, domains = _changed_lowest(baseline, changed)
        if domains < baseline.constraint.min_domains:
            return 0
        return _NO_MINIMUM if lowest is None else lowest

    def domains(self, i: int) -> int:
        """How many domains constraint *i* has."""
        baseline, changed = self.baselines[i], self.changes[i]
        return _changed_lowest(baseline, changed)[1] if changed else baseline.domains

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
            constraint = self.baselines[i].constraint
            limit = self._limits[i] = constraint.max_skew - constraint.self_match + self.lowest(i)
        return limit

    def _any_skewed(self, i: int) -> bool:
        """Whether some domain may have more matching pods than it may; quick where there are few."""
        few = self.baselines[i].few
        if few is None or self.changes[i]:
            return True
        limit = self._limit(i)
        return limit < 0 or any([limit < count != _NO_DOMAIN for count in few])  # noqa: C419 - a third of the time

    def _skewed(self, i: int) -> npt.NDArray[np.bool_]:
        """Per code: has the domain more matching pods than it may?"""
        baseline, limit = self.baselines[i], self._limit(i)
        counts = baseline.counts
        skewed = counts > limit
        if baseline.domains < len(counts) and limit >= 0:
            # A node that does not count may have a value that is no domain: nobody matches there.
            skewed &= counts != _NO_DOMAIN
        for value in self.changes[i]:
            code = baseline.labels.code_of(value)
            if code >= 0:
                skewed[code] = self.count_of(i, value) > limit
        return skewed


def _changed_lowest(baseline: Baseline, changed: Mapping[str, int]) -> tuple[int | None, int]:
    """The smallest count after *changed*, and the number of domains."""
    codes = {value: baseline.labels.code_of(value) for value in changed}
    counts = [baseline.count_of(code) + changed[value] for value, code in codes.items()]
    others = baseline.lowest_except({code for code in codes.values() if baseline.is_domain(code)})
    if others is not None:
        counts.append(others)
    new = sum(not baseline.is_domain(code) for code in codes.values())
    return min(counts), baseline.domains + new


def _verdicts(baseline: Baseline, skewed: npt.NDArray[np.bool_], rows: Rows) -> Codes | None:
    """What one constraint says of each row, ``None`` if nothing; a fresh array."""
    hits = np.count_nonzero(skewed)
    if not hits and baseline.labelled:
        return None
    codes = rows.take(baseline.labels.codes)
    if hits <= _FEW:
        mask = np.zeros(len(codes), np.bool_)
        for code in skewed.nonzero()[0].tolist():
            mask |= codes == code
    else:
        mask = _with_last(skewed).take(codes)
    verdicts: Codes = mask.view(np.int8)
    if not baseline.labelled:
        missing = (codes < 0).view(np.int8)
        verdicts += missing
        verdicts += missing
    return verdicts


def _with_last(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """*mask* with an entry for the code -1 at the end."""
    longer = np.zeros(len(mask) + 1, np.bool_)
    longer[:-1] = mask
    return longer
