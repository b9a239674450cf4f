"""Which terms of running pods mean the pod at hand, and all that is to be counted for it: remembered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from attrs import define, field, frozen

from schedframe import CompiledAffinityTerm, NodeTable, ObjectStore, Pod, TermKind

from .counts import Counter
from .questions import OwnTerm, Question, ask, ask_together, own_terms, own_weighted
from .terms import Labels, PodTerms, labels_of_namespace, terms_of_kind

ByKey: TypeAlias = dict[str, dict[TermKind, int]]
"""Topology key → kind → number or weight."""

Counters: TypeAlias = dict[str, Counter]
"""By topology key."""

_MOST: Final = 10_000
"""Sorts of pods that are remembered."""


@frozen(eq=False)
class Asked:
    """Everything that is to be counted for pods with certain terms, and which running pods' terms mean."""

    required: tuple[OwnTerm, ...]
    required_anti: tuple[OwnTerm, ...]
    affinity: Counters
    anti: Counters
    existing: Counters
    """Required anti-affinity of running pods."""
    weights: Counters
    numbers: Counters
    """The same as ``weights`` with each term counting 1."""


@define(eq=False)
class Matches:
    """Terms of running pods that mean the pods of one namespace with certain labels."""

    version: int
    """Kinds of terms that were looked at."""
    anti: ByKey = field(factory=dict)
    """Required anti-affinity."""
    weights: ByKey = field(factory=dict)
    numbers: ByKey = field(factory=dict)
    asked: dict[PodTerms, Asked] = field(factory=dict)


@define(eq=False)
class ExistingTerms:
    """Looks at each kind of terms once for each sort of pods.

    Pods are of one sort if they agree in namespace and in the labels that some term asks for. O(labels) for a
    sort that is known, besides O(kinds of terms that appeared since).
    """

    table: NodeTable
    objects: ObjectStore
    hard_weight: int
    """Weight of the required affinity of running pods in scoring."""
    _keys: set[str] = field(factory=set)
    """Labels that the terms of running pods ask for."""
    _kinds_seen: int = 0
    _namespaces_seen: int = -1
    _matches: dict[object, Matches] = field(factory=dict)
    _last: tuple[Pod, Asked] | None = None

    def asked(self, pod: Pod, terms: PodTerms) -> Asked:
        """What to count for *pod*, which has *terms*."""
        version = self.table.pod_groups.kinds_version
        if version != self._kinds_seen or self._namespaces_seen != self.objects.version("Namespace"):
            self._look_at_kinds(version)
            self._last = None
        if self._last is not None and self._last[0] is pod:
            # Scoring asks what filtering asked.
            return self._last[1]
        matches = self._matches_of(pod, version)
        asked = matches.asked.get(terms)
        if asked is None:
            asked = matches.asked[terms] = self._ask(terms, matches)
        self._last = (pod, asked)
        return asked

    def _matches_of(self, pod: Pod, version: int) -> Matches:
        """The terms of running pods that mean *pod*."""
        keys = self._keys
        sort = (pod.namespace, *[item for item in pod.labels.items() if item[0] in keys])
        matches = self._matches.get(sort)
        if matches is None or matches.version != version:
            if len(self._matches) >= _MOST:
                self._matches.clear()
            matches = self._matches[sort] = self._caught_up(pod, matches)
        return matches

    def _look_at_kinds(self, version: int) -> None:
        """Forget what kinds and namespaces that changed make wrong."""
        appeared = self.table.pod_groups.kinds_since(self._kinds_seen)
        keys = {
            requirement.key
            for kind in (self.table.pod_groups.kinds() if appeared is None else appeared)
            for term in _all_terms(terms_of_kind(kind))
            for requirement in term.selector.requirements or ()
        }
        namespaces = self.objects.version("Namespace")
        if namespaces != self._namespaces_seen or not keys <= self._keys:
            self._matches.clear()
        self._keys |= keys
        self._kinds_seen, self._namespaces_seen = version, namespaces

    def _caught_up(self, pod: Pod, known: Matches | None) -> Matches:
        groups = self.table.pod_groups
        version = groups.kinds_version
        appeared = groups.kinds_since(known.version) if known is not None else None
        if known is None or appeared is None:
            known, appeared = Matches(version), groups.kinds()
        namespace_labels = labels_of_namespace(self.objects, pod.namespace)
        concerned = [kind for kind in appeared if self._means(kind, pod, namespace_labels)]
        if not concerned:
            known.version = version
            return known
        found = Matches(version, _alive(known.anti), _alive(known.weights), _alive(known.numbers))
        for kind in concerned:
            self._add(found, kind, pod, namespace_labels)
        return found

    def _means(self, kind: TermKind, pod: Pod, namespace_labels: Labels) -> bool:
        return any(
            term.matches(pod.namespace, pod.labels, namespace_labels)
            for term in _all_terms(terms_of_kind(kind))
        )

    def _add(self, found: Matches, kind: TermKind, pod: Pod, namespace_labels: Labels) -> None:
        terms = terms_of_kind(kind)
        for term in terms.required_anti:
            if term.matches(pod.namespace, pod.labels, namespace_labels):
                _count(found.anti, term, kind, 1)
        hard = [(self.hard_weight, term) for term in terms.required] if self.hard_weight else []
        against = [(-weight, term) for weight, term in terms.preferred_anti]
        for weight, term in (*hard, *terms.preferred, *against):
            if term.matches(pod.namespace, pod.labels, namespace_labels):
                _count(found.weights, term, kind, weight)
                _count(found.numbers, term, kind, 1)

    def _ask(self, terms: PodTerms, matches: Matches) -> Asked:
        required = own_terms(terms.required, self.objects)
        required_anti = own_terms(terms.required_anti, self.objects)
        preferred = own_weighted(terms, self.objects)
        return Asked(
            required,
            required_anti,
            _counters(ask_together(required)),
            _counters(ask(tuple((1, term) for term in required_anti), {})),
            _counters(ask((), matches.anti)),
            _counters(ask(preferred, matches.weights)),
            _counters(ask(tuple((1, term) for _, term in preferred), matches.numbers)),
        )


def _counters(questions: tuple[Question, ...]) -> Counters:
    return {question.topology_key: Counter(question) for question in questions}


def _all_terms(terms: PodTerms) -> Iterable[CompiledAffinityTerm]:
    yield from terms.required
    yield from terms.required_anti
    for _, term in (*terms.preferred, *terms.preferred_anti):
        yield term


def _count(found: ByKey, term: CompiledAffinityTerm, kind: TermKind, amount: int) -> None:
    by_kind = found.setdefault(term.topology_key, {})
    by_kind[kind] = by_kind.get(kind, 0) + amount


def _alive(found: Mapping[str, Mapping[TermKind, int]]) -> ByKey:
    """A copy without the kinds that nobody has any more."""
    return {
        key: alive
        for key, by_kind in found.items()
        if (alive := {kind: amount for kind, amount in by_kind.items() if kind.groups})
    }
