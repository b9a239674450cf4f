"""Required terms: affinity and anti-affinity of the incoming pod, and anti-affinity of existing pods.

A node can break several rules; the one that the reference evaluates first is reported. The three forms (per
node, by rows, by group) agree.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import Node, NodeTable, Pod, Rows, RowVerdicts, StateKey, Status
from schedframe.framework import GroupVerdicts

from .counters import ResolvedTerm
from .domain_counts import CountsByKey, DomainCounts, Mask, clone_counts, grouped
from .existing_terms import ExistingTerms
from .terms import labels_of_namespace, terms_of_pod

Codes: TypeAlias = npt.NDArray[np.int8]

ERR_AFFINITY: Final = "node(s) didn't match pod affinity rules"
ERR_ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
ERR_EXISTING_ANTI_AFFINITY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
STATUSES: Final = (
    Status.unschedulable(ERR_EXISTING_ANTI_AFFINITY),
    Status.unschedulable(ERR_ANTI_AFFINITY),
    Status.unresolvable(ERR_AFFINITY),
)
EXISTING_ANTI_AFFINITY, ANTI_AFFINITY, AFFINITY = 1, 2, 3
"""Filter codes: 1-based indexes into ``STATUSES``. If several rules are broken, the highest is reported."""


@define(eq=False)
class FilterState:
    """Required terms of one pod with their counts, made by pre_filter."""

    required: tuple[ResolvedTerm, ...]
    required_anti: tuple[ResolvedTerm, ...]
    matches_itself: bool
    """Whether all required affinity terms select the pod itself."""
    affinity: CountsByKey
    anti_affinity: CountsByKey
    existing_anti_affinity: CountsByKey

    def clone(self) -> FilterState:
        """Return an independent copy for a dry run."""
        return FilterState(
            self.required,
            self.required_anti,
            self.matches_itself,
            clone_counts(self.affinity),
            clone_counts(self.anti_affinity),
            clone_counts(self.existing_anti_affinity),
        )

    def bootstraps_itself(self) -> bool:
        """Return whether no pod satisfies the required affinity yet, and the incoming pod itself would.

        Such a pod may run on any node with the labels: else the first pod of a group could never start.
        """
        return self.matches_itself and not any(counts.any() for counts in self.affinity.values())


FILTER_STATE: StateKey[FilterState] = StateKey("PreFilterInterPodAffinity")


def count_for_filter(existing: ExistingTerms, pod: Pod) -> FilterState | None:
    """Return the counts for *pod*; ``None`` if no term can reject it."""
    terms, table = terms_of_pod(pod), existing.table
    own = terms.required or terms.required_anti
    if not own and not table.pods_with_affinity:
        return None
    counters = existing.counters(pod, terms)
    conflicts = {
        key: counts
        for key, counter in counters.existing_anti_affinity.items()
        if (counts := counter.count(table)).any()
    }
    if not own and not conflicts:
        return None
    required = counters.required
    return FilterState(
        required,
        counters.required_anti,
        bool(required) and all(term.matches(pod.namespace, pod.labels) for term in required),
        {key: each.count(table) for key, each in counters.affinity.items()},
        {key: each.count(table) for key, each in counters.anti_affinity.items()},
        conflicts,
    )


def update_counts(
    state: FilterState, existing: ExistingTerms, pod: Pod, other: Pod, node: Node, sign: int
) -> None:
    """Add (*sign* 1) or remove (-1) *other* on *node* in a dry run for *pod*."""
    namespace_labels = labels_of_namespace(existing.objects, pod.namespace)
    for theirs in terms_of_pod(other).required_anti:
        if theirs.matches(pod.namespace, pod.labels, namespace_labels):
            key = theirs.topology_key
            _add(state.existing_anti_affinity.setdefault(key, DomainCounts(key)), node, sign)
    if state.required and all(term.matches(other.namespace, other.labels) for term in state.required):
        for term in state.required:
            _add(state.affinity[term.topology_key], node, sign)
    for term in state.required_anti:
        if term.matches(other.namespace, other.labels):
            _add(state.anti_affinity[term.topology_key], node, sign)


def _add(counts: DomainCounts, node: Node, sign: int) -> None:
    value = node.labels.get(counts.topology_key)
    if value is not None:
        counts.add(value, sign)


# ---- per node ----------------------------------------------------------------------------------------------


def violates_affinity(state: FilterState, node: Node) -> bool:
    """Return whether the node lacks a topology label, or its domains a pod that all required terms select."""
    satisfied = True
    for term in state.required:
        value = node.labels.get(term.topology_key)
        if value is None:
            return True
        satisfied = satisfied and state.affinity[term.topology_key].at(value) > 0
    return not (satisfied or state.bootstraps_itself())


def _any_positive(counts_by_key: CountsByKey, node: Node) -> bool:
    labels = node.labels
    for key, counts in counts_by_key.items():
        value = labels.get(key)
        if value is not None and counts.at(value) > 0:
            return True
    return False


def violates_anti_affinity(state: FilterState, node: Node) -> bool:
    """Return whether a domain of the node has a pod that a required anti-affinity term selects."""
    return _any_positive(state.anti_affinity, node)


def violates_existing_anti_affinity(state: FilterState, node: Node) -> bool:
    """Return whether a domain of the node has a pod whose anti-affinity matches the incoming pod."""
    return _any_positive(state.existing_anti_affinity, node)


def violated_rule(state: FilterState, node: Node) -> int:
    """Return the filter code of the rule that the pod would break on *node*; 0 if none."""
    if violates_affinity(state, node):
        return AFFINITY
    if violates_anti_affinity(state, node):
        return ANTI_AFFINITY
    return EXISTING_ANTI_AFFINITY if violates_existing_anti_affinity(state, node) else 0


def filter_node(state: FilterState, node: Node) -> Status | None:
    """Return the rejection of *node*; ``None`` if it is feasible."""
    code = violated_rule(state, node)
    return STATUSES[code - 1] if code else None


# ---- by rows and by group ----------------------------------------------------------------------------------


def filter_rows(state: FilterState, rows: Rows) -> RowVerdicts | None:
    """As :func:`filter_node` for many rows; O(rows) in few passes for each topology key."""
    codes: Codes | None = None
    for counts in state.existing_anti_affinity.values():
        codes = _marked(codes, EXISTING_ANTI_AFFINITY, counts.positive(rows), rows)
    for counts in state.anti_affinity.values():
        codes = _marked(codes, ANTI_AFFINITY, counts.positive(rows), rows)
    if state.required:
        rejected = _rows_violating_affinity(state, rows)
        if rejected is not None:
            codes = _marked(codes, AFFINITY, rejected, rows)
    return None if codes is None else RowVerdicts(codes, STATUSES)


def filter_groups(state: FilterState, table: NodeTable) -> GroupVerdicts | None:
    """As :func:`filter_rows`, by domain, or by count if every node is a domain.

    Only for anti-affinity. ``None`` also if all counts are 0, when :func:`filter_rows` is O(1).
    """
    if state.required:
        return None
    groups = grouped((*state.existing_anti_affinity.values(), *state.anti_affinity.values()), table)
    if groups is None:
        return None
    columns, numbers = groups

    def passes(keys: list[tuple[int, ...]]) -> list[bool]:
        return [not any([n(code) > 0 for n, code in zip(numbers, key, strict=True)]) for key in keys]  # noqa: C419

    return GroupVerdicts(columns, passes)


def _marked(codes: Codes | None, code: int, rejected: Mask | bool, rows: Rows) -> Codes | None:
    """Return *codes*, raised to *code* where *rejected* is true. May reuse both arrays."""
    if rejected is False:
        return codes
    marks: Codes
    if rejected is True:
        marks = np.full(len(rows), code, np.int8)
    else:
        assert not isinstance(rejected, bool)
        marks = rejected.view(np.int8)
        if code > 1:
            marks *= code
    return marks if codes is None else np.maximum(codes, marks, out=codes)


def _rows_violating_affinity(state: FilterState, rows: Rows) -> Mask | None:
    """Return the rows that :func:`violates_affinity` rejects; ``None`` if there are none."""
    rejected: Mask | None = None
    for counts in state.affinity.values():
        satisfied = counts.positive(rows)
        if satisfied is True:
            continue
        unsatisfied = np.ones(len(rows), np.bool_) if satisfied is False else ~satisfied
        rejected = unsatisfied if rejected is None else rejected | unsatisfied
    if rejected is None or not state.bootstraps_itself():
        return rejected
    table = rows.table
    unlabelled: Mask = np.logical_or.reduce([rows.take(table.label(key).codes) < 0 for key in state.affinity])
    return unlabelled
