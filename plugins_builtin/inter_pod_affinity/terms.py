"""Pod affinity terms, compiled: once for equal pods, and once for each kind of running pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from attrs import evolve, frozen

from schedframe import (
    Affinity,
    CompiledAffinityTerm,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    ObjectStore,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    TermKind,
)

Weighted: TypeAlias = tuple[int, CompiledAffinityTerm]
Labels: TypeAlias = Mapping[str, str]

NO_LABELS: Final[Labels] = {}
_MEMO: Final = object()


@frozen(cache_hash=True)
class PodTerms:
    """All terms of a pod. Equal values mean the same pods in the same domains."""

    required: tuple[CompiledAffinityTerm, ...] = ()
    required_anti: tuple[CompiledAffinityTerm, ...] = ()
    preferred: tuple[Weighted, ...] = ()
    preferred_anti: tuple[Weighted, ...] = ()


NO_TERMS: Final = PodTerms()


def compile_terms(affinity: Affinity, namespace: str, labels: Labels) -> PodTerms:
    """The terms of *affinity* as a pod of *namespace* with *labels* means them; equal ones are one object."""
    near, far = affinity.pod_affinity, affinity.pod_anti_affinity
    wanted = _keys_of_labels(near, far)
    return _compiled(near, far, namespace, tuple((key, labels[key]) for key in wanted if key in labels))


@lru_cache(maxsize=4096)
def _keys_of_labels(near: PodAffinity | None, far: PodAntiAffinity | None) -> tuple[str, ...]:
    """Labels of the pod that its terms refer to."""
    terms = [
        term
        for part in (near, far)
        if part is not None
        for term in (*part.required, *(weighted.term for weighted in part.preferred))
    ]
    keys = (key for term in terms for key in (*term.match_label_keys, *term.mismatch_label_keys))
    return tuple(dict.fromkeys(keys))


@lru_cache(maxsize=4096)
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
    """The terms of *pod*, kept in the memo of its spec for pods that agree in namespace and labels."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    memo = pod.spec.memo
    kept = memo.get(_MEMO)
    if kept is not None and kept[0] == pod.namespace and kept[1] == pod.labels:
        terms: PodTerms = kept[2]
        return terms
    terms = compile_terms(affinity, pod.namespace, pod.labels)
    memo[_MEMO] = (pod.namespace, pod.labels, terms)
    return terms


def terms_of_kind(kind: TermKind) -> PodTerms:
    """The terms that running pods of this kind have; compiled once."""
    terms: PodTerms | None = kind.memo.get(_MEMO)
    if terms is None:
        terms = kind.memo[_MEMO] = compile_terms(kind.affinity, kind.namespace, kind.labels)
    return terms


def _required(
    part: PodAffinity | PodAntiAffinity | None, namespace: str, labels: Labels
) -> tuple[CompiledAffinityTerm, ...]:
    if part is None:
        return ()
    return tuple(CompiledAffinityTerm(_merged(term, labels), namespace) for term in part.required)


def _preferred(
    part: PodAffinity | PodAntiAffinity | None, namespace: str, labels: Labels
) -> tuple[Weighted, ...]:
    if part is None:
        return ()
    return tuple(
        (each.weight, CompiledAffinityTerm(_merged(each.term, labels), namespace)) for each in part.preferred
    )


def _merged(term: PodAffinityTerm, labels: Labels) -> PodAffinityTerm:
    """matchLabelKeys and mismatchLabelKeys as expressions, as the API server stores them; merging twice is
    once.
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
    """Labels of that namespace; none if it is unknown."""
    namespace: Namespace | None = objects.get("Namespace", name)
    return NO_LABELS if namespace is None else namespace.labels


def selected_namespaces(term: CompiledAffinityTerm, objects: ObjectStore) -> frozenset[str]:
    """The namespaces that *term* of the pod at hand means, those its selector finds among the known ones
    included.
    """
    if term.namespace_selector.matches_nothing:
        return term.namespaces
    namespaces: Iterable[Namespace] = objects.list("Namespace")
    found = (each.name for each in namespaces if term.namespace_selector.matches(each.labels))
    return term.namespaces.union(found)
