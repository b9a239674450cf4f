"""Counters: which pods count for an incoming pod, by the values of a node label.

A :class:`TermCounter` is a value. Equal counters share one column of the node table, which the table keeps
current as pods come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from attrs import field, frozen

from schedframe import NodeTable, ObjectStore
from schedframe.api import CompiledAffinityTerm, CompiledSelector
from schedframe.state import DomainSums, LabelGroup, TermClass

from .._matching_pods import necessary_label
from .._policy import MAX_SCOPES
from .terms import NO_LABELS, PodTerms, WeightedTerm, selected_namespaces

ClassWeights: TypeAlias = Mapping[TermClass, int]
"""Class of terms of existing pods → what each pod that has them counts."""
Scope: TypeAlias = tuple[str, tuple[str, str] | None]
"""Namespace, and a label that every counted pod has (``None``: no such label is known)."""


@frozen(cache_hash=True)
class ResolvedTerm:
    """A term of the incoming pod, with its namespace selector resolved to names."""

    topology_key: str
    namespaces: frozenset[str]
    selector: CompiledSelector
    any_namespace: bool
    """Whether pods of every namespace match."""

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether the term selects a pod of that namespace with these labels."""
        return (self.any_namespace or namespace in self.namespaces) and self.selector.matches(labels)

    def scopes(self) -> list[Scope] | None:
        """Return where selected pods can be; ``None`` means anywhere."""
        if self.any_namespace or len(self.namespaces) > MAX_SCOPES:
            return None
        label = necessary_label(self.selector)
        return [(namespace, label) for namespace in self.namespaces]


ResolvedTerms: TypeAlias = tuple[tuple[int, ResolvedTerm], ...]
"""Weight and term."""


@frozen(cache_hash=True)
class TermCounter:
    """Count pods by the values of ``topology_key``.

    A pod counts for each of ``terms`` that selects it, and for the terms of its own that are in ``classes``.
    """

    topology_key: str
    terms: ResolvedTerms = ()
    classes: frozenset[tuple[TermClass, int]] = frozenset()
    all_terms: bool = False
    """Whether a pod counts only if all of ``terms`` select it."""
    class_weights: ClassWeights = field(init=False, eq=False, repr=False)
    scopes: tuple[Scope | TermClass, ...] = field(init=False, eq=False, repr=False)
    """Where pods that count can be; empty means anywhere."""

    @class_weights.default
    def _index_classes(self) -> ClassWeights:
        return dict(self.classes)

    @scopes.default
    def _collect_scopes(self) -> tuple[Scope | TermClass, ...]:
        result: dict[Scope | TermClass, None] = dict.fromkeys(self.class_weights)
        # A pod that all terms select is in the scopes of the first one.
        for _, term in self.terms[:1] if self.all_terms else self.terms:
            scopes = term.scopes()
            if scopes is None:
                return ()
            result |= dict.fromkeys(scopes)
        return tuple(result)

    def count(self, table: NodeTable) -> DomainSums:
        """Return the sums per domain, which *table* keeps current; O(groups) the first time, then O(1)."""
        column = table.label_groups.column(self, self.weigh, *self.scopes)
        return column.by_domain(self.topology_key)

    def weigh(self, group: LabelGroup) -> int:
        """Return what each pod of *group* counts."""
        weight = self.class_weights.get(group.term_class, 0) if group.term_class is not None else 0
        matched = [each for each, term in self.terms if term.matches(group.namespace, group.labels)]
        if self.all_terms and len(matched) < len(self.terms):
            return weight
        return weight + sum(matched)


def joint_counters(terms: Iterable[ResolvedTerm]) -> tuple[TermCounter, ...]:
    """Return counters for required affinity, one for each topology key.

    Only pods that all *terms* select count, once for each term with that key.
    """
    terms = tuple(terms)
    keys = dict.fromkeys(term.topology_key for term in terms)
    return tuple(
        TermCounter(key, tuple((int(term.topology_key == key), term) for term in terms), all_terms=True)
        for key in keys
    )


def counters_for(terms: ResolvedTerms, classes: Mapping[str, ClassWeights]) -> tuple[TermCounter, ...]:
    """Return counters, one for each topology key of *terms* and of *classes* (topology key → weights)."""
    keys = dict.fromkeys([*(term.topology_key for _, term in terms), *classes])
    return tuple(
        TermCounter(
            key,
            tuple((weight, term) for weight, term in terms if term.topology_key == key),
            frozenset(classes[key].items()) if key in classes else frozenset(),
        )
        for key in keys
    )


def resolve_terms(terms: tuple[CompiledAffinityTerm, ...], objects: ObjectStore) -> tuple[ResolvedTerm, ...]:
    """Resolve the namespaces of *terms* as they are now.

    The reference also matches the namespace selector against an empty set of labels. A selector that accepts
    it (``NotIn``, ``DoesNotExist``) therefore selects pods of every namespace.
    """
    return tuple(
        ResolvedTerm(
            term.topology_key,
            selected_namespaces(term, objects),
            term.selector,
            term.namespace_selector.matches(NO_LABELS),
        )
        for term in terms
    )


def resolve_preferred_terms(terms: PodTerms, objects: ObjectStore) -> ResolvedTerms:
    """Resolve the preferred terms; the weights of anti-affinity become negative."""

    def resolve(weighted: tuple[WeightedTerm, ...], sign: int) -> ResolvedTerms:
        resolved = resolve_terms(tuple(term for _, term in weighted), objects)
        return tuple((sign * weight, term) for (weight, _), term in zip(weighted, resolved, strict=True))

    return (*resolve(terms.preferred, 1), *resolve(terms.preferred_anti, -1))
