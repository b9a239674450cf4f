"""``matchLabelKeys`` and ``mismatchLabelKeys``: the values of the pod's own labels become selectors.

The API server does this after mutating admission (pkg/registry/core/pod/strategy.go); the scheduler reads
only the selectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from attrs import evolve

from ...api import (
    IN,
    NOT_IN,
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from .changes import Change
from .parts import AdmissionPart

Labels = Mapping[str, str]
_Terms = TypeVar("_Terms", PodAffinity, PodAntiAffinity)

_MERGED = Change(AdmissionPart.DEFAULTS, "selectors that follow from label keys")


def with_label_keys(pod: Pod, changes: list[Change]) -> Pod:
    """Return *pod* with its label keys merged into the selectors beside them."""
    spec = pod.spec
    if not any(True for _ in label_keys(spec)):
        return pod
    affinity = None if spec.affinity is None else _merged_affinity(spec.affinity, pod.labels)
    constraints = tuple(_merged_constraint(each, pod.labels) for each in spec.topology_spread_constraints)
    if affinity == spec.affinity and constraints == spec.topology_spread_constraints:
        return pod
    changes.append(_MERGED)
    return evolve(pod, spec=evolve(spec, affinity=affinity, topology_spread_constraints=constraints))


def label_keys(spec: PodSpec) -> Iterator[str]:
    """Yield the keys of labels of the pod itself on which its selectors depend."""
    for constraint in spec.topology_spread_constraints:
        yield from constraint.match_label_keys
    for term in () if spec.affinity is None else spec.affinity.pod_terms:
        yield from (*term.match_label_keys, *term.mismatch_label_keys)


def _merged_affinity(affinity: Affinity, labels: Labels) -> Affinity:
    near, far = affinity.pod_affinity, affinity.pod_anti_affinity
    return evolve(
        affinity,
        pod_affinity=None if near is None else _merged_terms(near, labels),
        pod_anti_affinity=None if far is None else _merged_terms(far, labels),
    )


def _merged_terms(terms: _Terms, labels: Labels) -> _Terms:
    return evolve(
        terms,
        required=tuple(_merged_term(each, labels) for each in terms.required),
        preferred=tuple(_merged_preferred(each, labels) for each in terms.preferred),
    )


def _merged_preferred(weighted: WeightedPodAffinityTerm, labels: Labels) -> WeightedPodAffinityTerm:
    return evolve(weighted, term=_merged_term(weighted.term, labels))


def _merged_term(term: PodAffinityTerm, labels: Labels) -> PodAffinityTerm:
    if term.label_selector is None:  # selects nothing, with label keys too
        return term
    selector = _merged(term.label_selector, term.match_label_keys, IN, labels)
    selector = _merged(selector, term.mismatch_label_keys, NOT_IN, labels)
    return evolve(term, label_selector=selector)


def _merged_constraint(constraint: TopologySpreadConstraint, labels: Labels) -> TopologySpreadConstraint:
    if constraint.label_selector is None:
        return constraint
    selector = _merged(constraint.label_selector, constraint.match_label_keys, IN, labels)
    return evolve(constraint, label_selector=selector)


def _merged(selector: LabelSelector, keys: Iterable[str], operator: str, labels: Labels) -> LabelSelector:
    """Return *selector* with an expression for each of *keys* that the pod has.

    An expression that is there stays the only one, so that a pod that was admitted before does not change.
    """
    wanted = (LabelSelectorRequirement(key, operator, (labels[key],)) for key in keys if key in labels)
    missing = tuple(each for each in wanted if each not in selector.match_expressions)
    if not missing:
        return selector
    return evolve(selector, match_expressions=(*selector.match_expressions, *missing))
