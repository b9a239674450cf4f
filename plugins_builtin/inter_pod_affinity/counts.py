"""How many pods are where, by the value of a node label: kept in columns, with what a dry run changes on top."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import (
    CompiledAffinityTerm,
    CompiledSelector,
    DomainSums,
    NodeTable,
    ObjectStore,
    Pod,
    PodGroup,
    TermKind,
)

from .terms import (
    NO_LABELS,
    PodTerms,
    Weighted,
    labels_of_namespace,
    selected_namespaces,
    terms_of_kind,
)

Mask: TypeAlias = npt.NDArray[np.bool_]
ByKind: TypeAlias = dict[TermKind, int]

Found = TypeVar("Found")

_ALL: Final = "inter-pod-affinity, pods that match all of"
_SUM: Final = "inter-pod-affinity, weights of"


@frozen
class OwnTerm:
    """A term of the pod at hand, its namespaces looked up."""

    topology_key: str
    namespaces: frozenset[str]
    selector: CompiledSelector
    any_namespace: bool
    """Whether namespaces make no difference."""

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod of that namespace with these labels is meant."""
        return (self.any_namespace or namespace in self.namespaces) and self.selector.matches(labels)


def own_terms(terms: tuple[CompiledAffinityTerm, ...], objects: ObjectStore) -> tuple[OwnTerm, ...]:
    """Look up the namespaces that the terms mean now.

    The reference goes on to hold the namespace selector against no labels at all, so that one which is
    satisfied by that (empty, ``NotIn``, ``DoesNotExist``) finds pods of every namespace.
    """
    return tuple(
        OwnTerm(
            term.topology_key,
            selected_namespaces(term, objects),
            term.selector,
            term.namespace_selector.matches(NO_LABELS),
        )
        for term in terms
    )


def own_weighted(terms: PodTerms, objects: ObjectStore) -> tuple[tuple[int, OwnTerm], ...]:
    """Preferred terms with their namespaces looked up; anti-affinity counts negative."""

    def weighted(each: tuple[Weighted, ...], sign: int) -> list[tuple[int, OwnTerm]]:
        return [(sign * weight, own_terms((term,), objects)[0]) for weight, term in each]

    return (*weighted(terms.preferred, 1), *weighted(terms.preferred_anti, -1))


@define(eq=False)
class DomainCounts:
    """Counts per value of one node label: the table's own, and what a dry run added."""

    sums: DomainSums | None
    added: dict[str, int] = field(factory=dict)

    def at(self, value: str) -> int:
        """The count of the nodes with that value."""
        count = self.added.get(value, 0)
        if self.sums is not None:
            code = self.sums.labels.code_of(value)
            if code >= 0:
                count += int(self.sums.sums[code])
        return count

    def add(self, value: str, amount: int) -> None:
        """Count more (or less) for that value, in this copy only."""
        self.added[value] = self.added.get(value, 0) + amount

    def any(self) -> bool:
        """Whether any count is not 0; O(values)."""
        if self.sums is None:
            return any(self.added.values())
        if not self.added:
            return bool(self.sums.sums.any())
        return bool(self.per_code().any())

    def per_code(self) -> npt.NDArray[np.int64]:
        """Counts by code of the label's column, and a 0 at the end for nodes without the label."""
        if self.sums is None:
            return np.zeros(1, np.int64)
        labels = self.sums.labels
        counts = np.zeros(len(labels.values) + 1, np.int64)
        counts[:-1] = self.sums.sums[: len(labels.values)]
        for value, amount in self.added.items():
            code = labels.code_of(value)
            if code >= 0:
                counts[code] += amount
        return counts

    def clone(self) -> DomainCounts:
        """An independent copy; the table's sums are shared."""
        return DomainCounts(self.sums, dict(self.added))


Counts: TypeAlias = dict[str, DomainCounts]
"""Topology key → counts."""


def clone_counts(counts: Counts) -> Counts:
    """Independent copies."""
    return {key: each.clone() for key, each in counts.items()}


# ---- what is counted -----------------------------------------------------------------------------------------


def pods_matching_all(table: NodeTable, terms: tuple[OwnTerm, ...]) -> Counts:
    """For required affinity: pods that every one of *terms* means, once for each term with that topology key."""
    found: Counts = {}
    for key in dict.fromkeys(term.topology_key for term in terms):
        times = sum(term.topology_key == key for term in terms)

        def weigh(group: PodGroup, times: int = times) -> int:
            return times * all(term.matches(group.namespace, group.labels) for term in terms)

        column = table.pod_groups.column((_ALL, terms, times), weigh)
        found[key] = DomainCounts(column.by_domain(key))
    return found


def weights(table: NodeTable, own: tuple[tuple[int, OwnTerm], ...], kinds: Mapping[str, ByKind]) -> Counts:
    """Per topology key: weights of *own* terms that mean a pod, and of the kind of terms that the pod
    itself has.
    """
    found: Counts = {}
    for key in dict.fromkeys([*(term.topology_key for _, term in own), *kinds]):
        mine = tuple((weight, term) for weight, term in own if term.topology_key == key)
        by_kind = kinds.get(key, {})

        def weigh(group: PodGroup, mine: tuple[tuple[int, OwnTerm], ...] = mine, by: ByKind = by_kind) -> int:
            weight = by.get(group.kind, 0) if group.kind is not None else 0
            return weight + sum(w for w, term in mine if term.matches(group.namespace, group.labels))

        column = table.pod_groups.column((_SUM, mine, frozenset(by_kind.items())), weigh)
        found[key] = DomainCounts(column.by_domain(key))
    return found


@define(eq=False)
class ExistingTerms:
    """Which terms of running pods mean a given pod. Remembered until kinds of terms or namespaces change."""

    table: NodeTable
    objects: ObjectStore
    hard_weight: int
    _version: tuple[int, int] = (-1, -1)
    _anti: dict[object, dict[str, ByKind]] = field(factory=dict)
    _scores: dict[object, tuple[dict[str, ByKind], dict[str, ByKind]]] = field(factory=dict)

    def anti(self, pod: Pod) -> dict[str, ByKind]:
        """Topology key → kind → number of required anti-affinity terms that mean *pod*."""
        return self._lookup(self._anti, pod, self._find_anti)

    def scores(self, pod: Pod) -> tuple[dict[str, ByKind], dict[str, ByKind]]:
        """Topology key → kind → (weight, number) of the terms that mean *pod* in scoring."""
        return self._lookup(self._scores, pod, self._find_scores)

    def _lookup(
        self, known: dict[object, Found], pod: Pod, find: Callable[[Pod, Mapping[str, str]], Found]
    ) -> Found:
        version = (self.table.pod_groups.kinds_version, self.objects.version("Namespace"))
        if version != self._version or len(known) > 10_000:
            self._anti.clear()
            self._scores.clear()
            self._version = version
        key = (pod.namespace, frozenset(pod.labels.items()))
        found = known.get(key)
        if found is None:
            found = known[key] = find(pod, labels_of_namespace(self.objects, pod.namespace))
        return found

    def _find_anti(self, pod: Pod, namespace_labels: Mapping[str, str]) -> dict[str, ByKind]:
        found: dict[str, ByKind] = {}
        for kind in self.table.pod_groups.kinds():
            for term in terms_of_kind(kind).required_anti:
                if term.matches(pod.namespace, pod.labels, namespace_labels):
                    _add(found, term, kind, 1)
        return found

    def _find_scores(
        self, pod: Pod, namespace_labels: Mapping[str, str]
    ) -> tuple[dict[str, ByKind], dict[str, ByKind]]:
        weight: dict[str, ByKind] = {}
        number: dict[str, ByKind] = {}
        for kind in self.table.pod_groups.kinds():
            for amount, term in self._scoring_terms(terms_of_kind(kind)):
                if term.matches(pod.namespace, pod.labels, namespace_labels):
                    _add(weight, term, kind, amount)
                    _add(number, term, kind, 1)
        return weight, number

    def _scoring_terms(self, terms: PodTerms) -> list[Weighted]:
        hard = [(self.hard_weight, term) for term in terms.required] if self.hard_weight else []
        return [*hard, *terms.preferred, *((-weight, term) for weight, term in terms.preferred_anti)]


def _add(found: dict[str, ByKind], term: CompiledAffinityTerm, kind: TermKind, amount: int) -> None:
    by_kind = found.setdefault(term.topology_key, {})
    by_kind[kind] = by_kind.get(kind, 0) + amount
