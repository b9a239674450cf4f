"""Required terms: those of the pod at hand, and the anti-affinity of the pods that run already."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import Node, NodeTable, Pod, Rows, RowVerdicts, StateKey, Status

from .counts import (
    Counts,
    DomainCounts,
    ExistingTerms,
    OwnTerm,
    clone_counts,
    own_terms,
    pods_matching_all,
    weights,
)
from .terms import labels_of_namespace, terms_of_pod

ERR_AFFINITY: Final = "node(s) didn't match pod affinity rules"
ERR_ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
ERR_EXISTING_ANTI_AFFINITY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
STATUSES: Final = (
    Status.unresolvable(ERR_AFFINITY),
    Status.unschedulable(ERR_ANTI_AFFINITY),
    Status.unschedulable(ERR_EXISTING_ANTI_AFFINITY),
)
AFFINITY, ANTI_AFFINITY, EXISTING = 1, 2, 3
"""Codes in columns: places in ``STATUSES`` from 1 on."""


@define(eq=False)
class FilterState:
    """What pre_filter counted for one pod."""

    required: tuple[OwnTerm, ...]
    required_anti: tuple[OwnTerm, ...]
    matches_itself: bool
    """Whether all required terms mean the pod itself: then it may be the first of its kind."""
    affinity: Counts
    anti: Counts
    existing: Counts

    def clone(self) -> FilterState:
        """An independent copy for a dry run."""
        return FilterState(
            self.required,
            self.required_anti,
            self.matches_itself,
            clone_counts(self.affinity),
            clone_counts(self.anti),
            clone_counts(self.existing),
        )

    def first_of_its_kind(self) -> bool:
        """Whether no pod anywhere satisfies the required terms, and the pod itself would."""
        return self.matches_itself and not any(counts.any() for counts in self.affinity.values())


FILTER_STATE: StateKey[FilterState] = StateKey("PreFilterInterPodAffinity")


def count_for_filter(existing: ExistingTerms, pod: Pod) -> FilterState | None:
    """Counts for *pod*; ``None`` if nothing can reject it."""
    terms, table = terms_of_pod(pod), existing.table
    if not terms.required and not terms.required_anti and not table.pods_with_affinity:
        return None
    by_kind = existing.anti(pod) if table.pods_with_affinity else {}
    found = {key: counts for key, counts in weights(table, (), by_kind).items() if counts.any()}
    if not terms.required and not terms.required_anti and not found:
        return None
    required = own_terms(terms.required, existing.objects)
    anti = own_terms(terms.required_anti, existing.objects)
    return FilterState(
        required,
        anti,
        bool(required) and all(term.matches(pod.namespace, pod.labels) for term in required),
        pods_matching_all(table, required) if required else {},
        weights(table, tuple((1, term) for term in anti), {}) if anti else {},
        found,
    )


def count_pod(
    state: FilterState, existing: ExistingTerms, pod: Pod, other: Pod, node: Node, sign: int
) -> None:
    """*other* joins (1) or leaves (-1) *node* in a dry run for *pod*."""
    namespace_labels = labels_of_namespace(existing.objects, pod.namespace)
    for theirs in terms_of_pod(other).required_anti:
        if theirs.matches(pod.namespace, pod.labels, namespace_labels):
            counts = state.existing.setdefault(theirs.topology_key, DomainCounts(None))
            _add(counts, node, theirs.topology_key, sign)
    if state.required and all(term.matches(other.namespace, other.labels) for term in state.required):
        for term in state.required:
            _add(state.affinity[term.topology_key], node, term.topology_key, sign)
    for term in state.required_anti:
        if term.matches(other.namespace, other.labels):
            _add(state.anti[term.topology_key], node, term.topology_key, sign)


def _add(counts: DomainCounts, node: Node, topology_key: str, sign: int) -> None:
    value = node.labels.get(topology_key)
    if value is not None:
        counts.add(value, sign)


def judge_node(state: FilterState, node: Node) -> Status | None:
    """Which rule the pod would break on *node*, ``None`` if none."""
    if state.required and not _has_company(state, node):
        return STATUSES[AFFINITY - 1]
    labels = node.labels
    for term in state.required_anti:
        value = labels.get(term.topology_key)
        if value is not None and state.anti[term.topology_key].at(value) > 0:
            return STATUSES[ANTI_AFFINITY - 1]
    for key, counts in state.existing.items():
        value = labels.get(key)
        if value is not None and counts.at(value) > 0:
            return STATUSES[EXISTING - 1]
    return None


def _has_company(state: FilterState, node: Node) -> bool:
    everywhere = True
    for term in state.required:
        value = node.labels.get(term.topology_key)
        if value is None:
            return False
        everywhere = everywhere and state.affinity[term.topology_key].at(value) > 0
    return everywhere or state.first_of_its_kind()


def judge_rows(state: FilterState, rows: Rows) -> RowVerdicts | None:
    """As :func:`judge_node` for many rows; O(rows + topology values)."""
    table = rows.table
    codes = np.zeros(len(rows), np.int8)
    for key, counts in state.existing.items():
        _mark(codes, _positive(counts, key, table, rows), EXISTING)
    for key, counts in state.anti.items():
        _mark(codes, _positive(counts, key, table, rows), ANTI_AFFINITY)
    if state.required:
        _mark(codes, ~_rows_with_company(state, rows), AFFINITY)
    return RowVerdicts(codes, STATUSES) if codes.any() else None


def _mark(codes: npt.NDArray[np.int8], broken: npt.NDArray[np.bool_], code: int) -> None:
    codes[broken] = code


def _positive(counts: DomainCounts, key: str, table: NodeTable, rows: Rows) -> npt.NDArray[np.bool_]:
    if counts.sums is None:
        # only what a dry run added, and dry runs go node by node
        label = table.label(key)
        return label.decide(lambda value: counts.at(value) > 0, False, rows.index)
    taken: npt.NDArray[np.bool_] = (counts.per_code() > 0).take(rows.take(counts.sums.labels.codes))
    return taken


def _rows_with_company(state: FilterState, rows: Rows) -> npt.NDArray[np.bool_]:
    company = np.ones(len(rows), np.bool_)
    labelled = np.ones(len(rows), np.bool_)
    for key, counts in state.affinity.items():
        company &= _positive(counts, key, rows.table, rows)
        labelled &= rows.take(rows.table.label(key).codes) >= 0
    if company.all() or not state.first_of_its_kind():
        return company
    return labelled
