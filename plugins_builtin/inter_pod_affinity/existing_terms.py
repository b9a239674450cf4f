"""Cache of what has to be counted for an incoming pod.

Finding the terms of existing pods that match a pod means evaluating every class of terms, so the result is
kept for each pod class: incoming pods that agree in namespace and in the labels that some term selects by.
Invariant: an entry of version *v* has considered every class of terms that appeared up to version *v*;
classes that appear later are added to it, and those that disappeared count 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias

from attrs import define, field, frozen

from schedframe import NodeTable, ObjectStore, Pod
from schedframe.api import CompiledAffinityTerm
from schedframe.state import TermClass

from .._policy import MAX_COMPILED_COUNTERS
from .counters import (
    ResolvedTerm,
    TermCounter,
    counters_for,
    joint_counters,
    resolve_preferred_terms,
    resolve_terms,
)
from .domain_counts import CachedCounter
from .terms import Labels, PodTerms, labels_of_namespace, terms_of_class

WeightsByKey: TypeAlias = dict[str, dict[TermClass, int]]
"""Topology key → class of terms → number or weight."""

CountersByKey: TypeAlias = dict[str, CachedCounter]
"""Topology key → counter."""


@frozen(eq=False)
class CompiledCounters:
    """All counters that an incoming pod needs."""

    required: tuple[ResolvedTerm, ...]
    required_anti: tuple[ResolvedTerm, ...]
    affinity: CountersByKey
    anti_affinity: CountersByKey
    existing_anti_affinity: CountersByKey
    weights: CountersByKey
    """Sum of the weights of preferred terms, and of required affinity of existing pods."""
    term_numbers: CountersByKey
    """As ``weights``, but each term counts 1: shows whether any term matches at all."""


@define(eq=False)
class MatchingTerms:
    """Terms of existing pods that match the pods of one pod class."""

    version: int
    """Version of the classes of terms that have been considered."""
    required_anti: WeightsByKey = field(factory=dict)
    weights: WeightsByKey = field(factory=dict)
    term_numbers: WeightsByKey = field(factory=dict)
    compiled: dict[PodTerms, CompiledCounters] = field(factory=dict)
    """Terms of the incoming pod → its counters."""


@define(eq=False)
class ExistingTerms:
    """Index of the terms of existing pods, by the incoming pods that they match.

    A lookup is O(labels of the pod) for a known pod class, and O(classes of terms that appeared since).
    """

    table: NodeTable
    objects: ObjectStore
    hard_weight: int
    """Weight of the required affinity of existing pods in scoring."""
    _selected_labels: set[str] = field(factory=set)
    """Label keys that terms of existing pods select by."""
    _terms_version: int = 0
    _namespaces_version: int = -1
    _matches: dict[Hashable, MatchingTerms] = field(factory=dict)
    """By pod class."""
    _compiled: int = 0
    """Counters compiled since the cache was emptied, a bound for its size."""
    _last: tuple[Pod, CompiledCounters] | None = None

    def counters(self, pod: Pod, terms: PodTerms) -> CompiledCounters:
        """Return the counters for the incoming *pod*, which has *terms*."""
        version = self.table.label_groups.term_classes_version
        if version != self._terms_version or self._namespaces_version != self.objects.version("Namespace"):
            self._sync(version)
            self._last = None
        if self._last is not None and self._last[0] is pod:
            # Scoring needs the counters that filtering has just looked up.
            return self._last[1]
        matching = self._matching_terms(pod, version)
        compiled = matching.compiled.get(terms)
        if compiled is None:
            if self._compiled >= MAX_COMPILED_COUNTERS:
                self._clear()
                matching = self._matching_terms(pod, version)
            compiled = matching.compiled[terms] = self._compile(terms, matching)
            self._compiled += 1
        self._last = (pod, compiled)
        return compiled

    def _matching_terms(self, pod: Pod, version: int) -> MatchingTerms:
        keys = self._selected_labels
        pod_class = (pod.namespace, *[item for item in pod.labels.items() if item[0] in keys])
        matching = self._matches.get(pod_class)
        if matching is None or matching.version != version:
            matching = self._matches[pod_class] = self._extended(pod, matching)
        return matching

    def _sync(self, version: int) -> None:
        """Drop what is invalid because classes of terms appeared or namespaces changed."""
        appeared = self.table.label_groups.term_classes_since(self._terms_version)
        keys = {
            requirement.key
            for term_class in (self.table.label_groups.term_classes() if appeared is None else appeared)
            for term in _all_terms(terms_of_class(term_class))
            for requirement in term.selector.requirements or ()
        }
        namespaces = self.objects.version("Namespace")
        if namespaces != self._namespaces_version or not keys <= self._selected_labels:
            self._clear()
        self._selected_labels |= keys
        self._terms_version, self._namespaces_version = version, namespaces

    def _clear(self) -> None:
        self._matches.clear()
        self._compiled = 0

    def _extended(self, pod: Pod, known: MatchingTerms | None) -> MatchingTerms:
        """Return *known* with the matching classes of terms that appeared since it was made."""
        groups = self.table.label_groups
        version = groups.term_classes_version
        appeared = groups.term_classes_since(known.version) if known is not None else None
        if known is None or appeared is None:
            known, appeared = MatchingTerms(version), groups.term_classes()
        namespace_labels = labels_of_namespace(self.objects, pod.namespace)
        matching = [each for each in appeared if _any_matches(terms_of_class(each), pod, namespace_labels)]
        if not matching:
            # The compiled counters stay valid.
            known.version = version
            return known
        extended = MatchingTerms(
            version, _present(known.required_anti), _present(known.weights), _present(known.term_numbers)
        )
        for term_class in matching:
            self._add(extended, term_class, pod, namespace_labels)
        return extended

    def _add(
        self, matching: MatchingTerms, term_class: TermClass, pod: Pod, namespace_labels: Labels
    ) -> None:
        terms = terms_of_class(term_class)
        for term in terms.required_anti:
            if term.matches(pod.namespace, pod.labels, namespace_labels):
                _increase(matching.required_anti, term, term_class, 1)
        hard = [(self.hard_weight, term) for term in terms.required] if self.hard_weight else []
        anti = [(-weight, term) for weight, term in terms.preferred_anti]
        for weight, term in (*hard, *terms.preferred, *anti):
            if term.matches(pod.namespace, pod.labels, namespace_labels):
                _increase(matching.weights, term, term_class, weight)
                _increase(matching.term_numbers, term, term_class, 1)

    def _compile(self, terms: PodTerms, matching: MatchingTerms) -> CompiledCounters:
        required = resolve_terms(terms.required, self.objects)
        required_anti = resolve_terms(terms.required_anti, self.objects)
        preferred = resolve_preferred_terms(terms, self.objects)
        return CompiledCounters(
            required,
            required_anti,
            _by_key(joint_counters(required)),
            _by_key(counters_for(tuple((1, term) for term in required_anti), {})),
            _by_key(counters_for((), matching.required_anti)),
            _by_key(counters_for(preferred, matching.weights)),
            _by_key(counters_for(tuple((1, term) for _, term in preferred), matching.term_numbers)),
        )


def _by_key(counters: tuple[TermCounter, ...]) -> CountersByKey:
    return {counter.topology_key: CachedCounter(counter) for counter in counters}


def _all_terms(terms: PodTerms) -> Iterable[CompiledAffinityTerm]:
    yield from terms.required
    yield from terms.required_anti
    for _, term in (*terms.preferred, *terms.preferred_anti):
        yield term


def _any_matches(terms: PodTerms, pod: Pod, namespace_labels: Labels) -> bool:
    return any(term.matches(pod.namespace, pod.labels, namespace_labels) for term in _all_terms(terms))


def _increase(weights: WeightsByKey, term: CompiledAffinityTerm, term_class: TermClass, amount: int) -> None:
    of_class = weights.setdefault(term.topology_key, {})
    of_class[term_class] = of_class.get(term_class, 0) + amount


def _present(weights: Mapping[str, Mapping[TermClass, int]]) -> WeightsByKey:
    """Return a copy without the classes of terms that no pod has any more."""
    return {
        key: present
        for key, of_class in weights.items()
        if (present := {term_class: amount for term_class, amount in of_class.items() if term_class.groups})
    }
