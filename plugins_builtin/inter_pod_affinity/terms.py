"""Affinity terms, compiled: once for equal pods, and once for each class of terms of existing pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from attrs import evolve, frozen

from schedframe import LabelSelector, ObjectStore, Pod
from schedframe.api import (
    Affinity,
    CompiledAffinityTerm,
    LabelSelectorRequirement,
    Namespace,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
)
from schedframe.state import TermClass

WeightedTerm: TypeAlias = tuple[int, CompiledAffinityTerm]
Labels: TypeAlias = Mapping[str, str]

NO_LABELS: Final[Labels] = {}
_MEMO: Final = object()


@frozen(cache_hash=True)
class PodTerms:
    """All terms of a pod. Equal values select the same pods in the same domains."""

    required: tuple[CompiledAffinityTerm, ...] = ()
    required_anti: tuple[CompiledAffinityTerm, ...] = ()
    preferred: tuple[WeightedTerm, ...] = ()
    preferred_anti: tuple[WeightedTerm, ...] = ()


NO_TERMS: Final = PodTerms()


def compile_terms(affinity: Affinity, namespace: str, labels: Labels) -> PodTerms:
    """Return the terms of a pod of *namespace* with *labels*; equal arguments give the same object."""
    near, far = affinity.pod_affinity, affinity.pod_anti_affinity
    keys = _match_label_keys(near, far)
    return _compiled(near, far, namespace, tuple((key, labels[key]) for key in keys if key in labels))


@lru_cache(maxsize=2048)
def _match_label_keys(near: PodAffinity | None, far: PodAntiAffinity | None) -> tuple[str, ...]:
    """Return the keys of the pod's own labels that its terms refer to."""
    terms = [
        term
        for part in (near, far)
        if part is not None
        for term in (*part.required, *(weighted.term for weighted in part.preferred))
    ]
    keys = (key for term in terms for key in (*term.match_label_keys, *term.mismatch_label_keys))
    return tuple(dict.fromkeys(keys))


@lru_cache(maxsize=2048)
def _compiled(
    near: PodAffinity | None,
    far: PodAntiAffinity | None,
    namespace: str,
    items: tuple[tuple[str, str], ...],
) -> PodTerms:
    labels = dict(items)
    return PodTerms(
        _required(near, namespace, labels),
        _required(far, namespace, labels),
        _preferred(near, namespace, labels),
        _preferred(far, namespace, labels),
    )


def terms_of_pod(pod: Pod) -> PodTerms:
    """Return the terms of *pod*; cached on its spec for pods with equal namespace and labels."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    memo = pod.spec.memo
    cached = memo.get(_MEMO)
    if cached is not None and cached[0] == pod.namespace and cached[1] == pod.labels:
        terms: PodTerms = cached[2]
        return terms
    terms = compile_terms(affinity, pod.namespace, pod.labels)
    memo[_MEMO] = (pod.namespace, pod.labels, terms)
    return terms


def terms_of_class(term_class: TermClass) -> PodTerms:
    """Return the terms of the existing pods of that class; compiled once."""
    terms: PodTerms | None = term_class.memo.get(_MEMO)
    if terms is None:
        terms = compile_terms(term_class.affinity, term_class.namespace, term_class.labels)
        term_class.memo[_MEMO] = terms
    return terms


def _required(
    part: PodAffinity | PodAntiAffinity | None, namespace: str, labels: Labels
) -> tuple[CompiledAffinityTerm, ...]:
    if part is None:
        return ()
    return tuple(CompiledAffinityTerm(_merged(term, labels), namespace) for term in part.required)


def _preferred(
    part: PodAffinity | PodAntiAffinity | None, namespace: str, labels: Labels
) -> tuple[WeightedTerm, ...]:
    if part is None:
        return ()
    return tuple(
        (each.weight, CompiledAffinityTerm(_merged(each.term, labels), namespace)) for each in part.preferred
    )


def _merged(term: PodAffinityTerm, labels: Labels) -> PodAffinityTerm:
    """Return *term* with matchLabelKeys and mismatchLabelKeys as expressions, as the API server stores it.

    Idempotent, since the API server may have done so already.
    """
    if term.label_selector is None or not (term.match_label_keys or term.mismatch_label_keys):
        return term
    extra = [_expression(key, "In", labels) for key in term.match_label_keys if key in labels]
    extra += [_expression(key, "NotIn", labels) for key in term.mismatch_label_keys if key in labels]
    present = term.label_selector.match_expressions
    selector = LabelSelector(
        term.label_selector.match_labels, (*present, *(each for each in extra if each not in present))
    )
    return evolve(term, label_selector=selector)


def _expression(key: str, operator: str, labels: Labels) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key, operator, (labels[key],))


# ---- namespaces --------------------------------------------------------------------------------------


def labels_of_namespace(objects: ObjectStore, name: str) -> Labels:
    """Return the labels of that namespace; none if it is unknown."""
    namespace: Namespace | None = objects.get("Namespace", name)
    return NO_LABELS if namespace is None else namespace.labels


def selected_namespaces(term: CompiledAffinityTerm, objects: ObjectStore) -> frozenset[str]:
    """Return the namespaces that *term* of the incoming pod names, and those that its selector matches."""
    if term.namespace_selector.matches_nothing:
        return term.namespaces
    namespaces: Iterable[Namespace] = objects.list("Namespace")
    selected = (each.name for each in namespaces if term.namespace_selector.matches(each.labels))
    return term.namespaces.union(selected)
