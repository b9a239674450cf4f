"""Required terms: those of the pod at hand, and the anti-affinity of the pods that run already."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import GroupVerdicts, Node, NodeTable, Pod, Rows, RowVerdicts, StateKey, Status

from .counts import Counts, DomainCounts, Mask, clone_counts, grouped
from .existing import ExistingTerms
from .questions import OwnTerm
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
EXISTING, ANTI_AFFINITY, AFFINITY = 1, 2, 3
"""Codes in columns: places in ``STATUSES`` from 1 on. Of several that apply, the highest is told."""


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
    own = terms.required or terms.required_anti
    if not own and not table.pods_with_affinity:
        return None
    asked = existing.asked(pod, terms)
    found = {key: counts for key, each in asked.existing.items() if (counts := each.count(table)).any()}
    if not own and not found:
        return None
    required = asked.required
    return FilterState(
        required,
        asked.required_anti,
        bool(required) and all(term.matches(pod.namespace, pod.labels) for term in required),
        {key: each.count(table) for key, each in asked.affinity.items()},
        {key: each.count(table) for key, each in asked.anti.items()},
        found,
    )


def count_pod(
    state: FilterState, existing: ExistingTerms, pod: Pod, other: Pod, node: Node, sign: int
) -> None:
    """*other* joins (1) or leaves (-1) *node* in a dry run for *pod*."""
    namespace_labels = labels_of_namespace(existing.objects, pod.namespace)
    for theirs in terms_of_pod(other).required_anti:
        if theirs.matches(pod.namespace, pod.labels, namespace_labels):
            key = theirs.topology_key
            _add(state.existing.setdefault(key, DomainCounts(key)), node, key, sign)
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


def judge(state: FilterState, node: Node) -> int:
    """The code of the rule that the pod would break on *node*, 0 if none."""
    if state.required and not _has_company(state, node):
        return AFFINITY
    labels = node.labels
    for key, counts in state.anti.items():
        value = labels.get(key)
        if value is not None and counts.at(value) > 0:
            return ANTI_AFFINITY
    for key, counts in state.existing.items():
        value = labels.get(key)
        if value is not None and counts.at(value) > 0:
            return EXISTING
    return 0


def judge_node(state: FilterState, node: Node) -> Status | None:
    """Which rule the pod would break on *node*, ``None`` if none."""
    code = judge(state, node)
    return STATUSES[code - 1] if code else None


def _has_company(state: FilterState, node: Node) -> bool:
    everywhere = True
    for term in state.required:
        value = node.labels.get(term.topology_key)
        if value is None:
            return False
        everywhere = everywhere and state.affinity[term.topology_key].at(value) > 0
    return everywhere or state.first_of_its_kind()


def judge_rows(state: FilterState, rows: Rows) -> RowVerdicts | None:
    """As :func:`judge_node` for many rows; O(rows) in few passes for each topology key."""
    codes: Codes | None = None
    for counts in state.existing.values():
        codes = _marked(codes, EXISTING, counts.positive(rows), rows)
    for counts in state.anti.values():
        codes = _marked(codes, ANTI_AFFINITY, counts.positive(rows), rows)
    if state.required:
        lonely = _rows_without_company(state, rows)
        if lonely is not None:
            codes = _marked(codes, AFFINITY, lonely, rows)
    return None if codes is None else RowVerdicts(codes, STATUSES)


def judge_groups(state: FilterState, table: NodeTable) -> GroupVerdicts | None:
    """As :func:`judge_rows` by domain, or by count where each node is a domain; for anti-affinity alone.

    ``None`` also if nothing is in the way: then columns say so at once.
    """
    if state.required:
        return None
    found = grouped((*state.existing.values(), *state.anti.values()), table)
    if found is None:
        return None
    columns, numbers = found

    def passes(keys: list[tuple[int, ...]]) -> list[bool]:
        return [not any([n(code) > 0 for n, code in zip(numbers, key, strict=True)]) for key in keys]  # noqa: C419

    return GroupVerdicts(columns, passes)


def _marked(codes: Codes | None, code: int, broken: Mask | bool, rows: Rows) -> Codes | None:
    """*codes*, with *code* where *broken* is true; the highest code of a row stays."""
    if broken is False:
        return codes
    marks: Codes
    if broken is True:
        marks = np.full(len(rows), code, np.int8)
    else:
        assert not isinstance(broken, bool)
        marks = broken.view(np.int8)
        if code > 1:
            marks *= code
    return marks if codes is None else np.maximum(codes, marks, out=codes)


def _rows_without_company(state: FilterState, rows: Rows) -> Mask | None:
    """Rows that break the required affinity, ``None`` if none does."""
    lonely: Mask | None = None
    for counts in state.affinity.values():
        company = counts.positive(rows)
        if company is True:
            continue
        alone = np.ones(len(rows), np.bool_) if company is False else ~company
        lonely = alone if lonely is None else lonely | alone
    if lonely is None or not state.first_of_its_kind():
        return lonely
    table = rows.table
    unlabelled = [rows.take(table.label(key).codes) < 0 for key in state.affinity]
    without_company: Mask = np.logical_or.reduce(unlabelled)
    return without_company
