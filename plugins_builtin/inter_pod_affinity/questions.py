"""What to count: pods with a weight each, by the values of a node label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from attrs import field, frozen

from schedframe import (
    IN,
    CompiledAffinityTerm,
    CompiledSelector,
    DomainSums,
    NodeTable,
    ObjectStore,
    PodGroup,
    TermKind,
)

from .terms import NO_LABELS, PodTerms, Weighted, selected_namespaces

ByKind: TypeAlias = Mapping[TermKind, int]
Scope: TypeAlias = tuple[str, tuple[str, str] | None]

_MANY: Final = 16
"""With so many namespaces a column is not scoped to them."""


@frozen(cache_hash=True)
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

    def scopes(self) -> list[Scope] | None:
        """Where pods that are meant may be; ``None``: anywhere."""
        if self.any_namespace or len(self.namespaces) > _MANY:
            return None
        label = _certain_label(self.selector)
        return [(namespace, label) for namespace in self.namespaces]


WeightedTerms: TypeAlias = tuple[tuple[int, OwnTerm], ...]


@frozen(cache_hash=True)
class Question:
    """Pods by the values of ``topology_key``: those that ``own`` terms mean, and those that have terms of
    ``kinds``. Equal questions share their counts.
    """

    topology_key: str
    own: WeightedTerms = ()
    kinds: frozenset[tuple[TermKind, int]] = frozenset()
    together: bool = False
    """Whether a pod counts only if all own terms mean it."""
    by_kind: ByKind = field(init=False, eq=False, repr=False)
    scopes: tuple[Scope | TermKind, ...] = field(init=False, eq=False, repr=False)

    @by_kind.default
    def _weights_of_kinds(self) -> ByKind:
        return dict(self.kinds)

    @scopes.default
    def _find_scopes(self) -> tuple[Scope | TermKind, ...]:
        found: dict[Scope | TermKind, None] = dict.fromkeys(self.by_kind)
        for _, term in self.own[:1] if self.together else self.own:
            scopes = term.scopes()
            if scopes is None:
                return ()
            found |= dict.fromkeys(scopes)
        return tuple(found)

    def count(self, table: NodeTable) -> DomainSums:
        """The counts per domain, kept in step with *table*. O(groups) when nobody asked before, else O(1)."""
        column = table.pod_groups.column(self, self.weigh, *self.scopes)
        return column.by_domain(self.topology_key)

    def weigh(self, group: PodGroup) -> int:
        """What each pod of *group* counts."""
        weight = self.by_kind.get(group.kind, 0) if group.kind is not None else 0
        own = [w for w, term in self.own if term.matches(group.namespace, group.labels)]
        if self.together and len(own) < len(self.own):
            return weight
        return weight + sum(own)


def ask_together(terms: Iterable[OwnTerm]) -> tuple[Question, ...]:
    """For required affinity: pods that every one of *terms* means, once for each term with that key."""
    terms = tuple(terms)
    keys = dict.fromkeys(term.topology_key for term in terms)
    return tuple(
        Question(key, tuple((int(term.topology_key == key), term) for term in terms), together=True)
        for key in keys
    )


def ask(own: WeightedTerms, kinds: Mapping[str, ByKind]) -> tuple[Question, ...]:
    """Per topology key: weights of *own* terms that mean a pod, and of the terms that the pod itself has."""
    keys = dict.fromkeys([*(term.topology_key for _, term in own), *kinds])
    return tuple(
        Question(
            key,
            tuple((weight, term) for weight, term in own if term.topology_key == key),
            frozenset(kinds[key].items()) if key in kinds else frozenset(),
        )
        for key in keys
    )


def own_terms(terms: tuple[CompiledAffinityTerm, ...], objects: ObjectStore) -> tuple[OwnTerm, ...]:
    """Look up the namespaces that the terms mean now.

    The reference goes on to hold the namespace selector against no labels at all, so that one which is
    satisfied by that (``NotIn``, ``DoesNotExist``) finds pods of every namespace.
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


def own_weighted(terms: PodTerms, objects: ObjectStore) -> WeightedTerms:
    """Preferred terms with their namespaces looked up; anti-affinity counts negative."""

    def weighted(each: tuple[Weighted, ...], sign: int) -> WeightedTerms:
        found = own_terms(tuple(term for _, term in each), objects)
        return tuple((sign * weight, term) for (weight, _), term in zip(each, found, strict=True))

    return (*weighted(terms.preferred, 1), *weighted(terms.preferred_anti, -1))


def _certain_label(selector: CompiledSelector) -> tuple[str, str] | None:
    """A label that every pod has which *selector* matches."""
    for requirement in selector.requirements or ():
        if requirement.operator == IN and len(requirement.values) == 1:
            return requirement.key, next(iter(requirement.values))
    return None
