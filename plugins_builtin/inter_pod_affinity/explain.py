"""Explanations of rejections: which term rejects a node, whose term it is, and which pod causes it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial

from attrs import define, field

from schedframe import Node, NodeInfo, NodeTable, Pod, StateKey
from schedframe.api import CompiledAffinityTerm, CompiledSelector

from .._explaining import pod_text, requirements_text
from .counters import ResolvedTerm
from .existing_terms import ExistingTerms
from .filtering import AFFINITY, ANTI_AFFINITY, FilterState, violated_rule
from .terms import Labels, labels_of_namespace, terms_of_pod

Predicate = Callable[[Pod], object]

_POD_DELETED = "the pod in the way has been deleted since"


@define(eq=False)
class ConflictingPods:
    """Cache for one incoming pod: the nodes of a domain share the pod that causes the rejection."""

    by_term_and_domain: dict[Hashable, Pod | None] = field(factory=dict)


CONFLICTING_PODS: StateKey[ConflictingPods] = StateKey("InterPodAffinity/explain")


def explain_node(
    cache: ConflictingPods, state: FilterState, existing: ExistingTerms, pod: Pod, info: NodeInfo
) -> str | None:
    """Return why *pod* must not run on that node; ``None`` if it may."""
    node = info.node
    code = violated_rule(state, node) if info.has_node else 0
    if not code:
        return None
    finder = _PodFinder(cache, existing.table, info)
    if code == AFFINITY:
        return _explain_affinity(state, node)
    if code == ANTI_AFFINITY:
        return _explain_anti_affinity(finder, state, node)
    return _explain_existing_anti_affinity(finder, state, existing, pod, node)


@define(eq=False)
class _PodFinder:
    """Search for a pod in a domain: first on the given node, which may be that of a dry run."""

    cache: ConflictingPods
    table: NodeTable
    info: NodeInfo

    def find(self, term: Hashable, key: str, value: str, matches: Predicate) -> Pod | None:
        """Return a pod of the domain that *matches* accepts; O(pods there) once for each term and domain."""
        here = next((pod for pod in self.info.pods.values() if matches(pod)), None)
        if here is not None:
            return here
        cached, pods = (term, key, value), self.cache.by_term_and_domain
        if cached not in pods:
            pods[cached] = next((pod for pod in self._pods_of_domain(key, value) if matches(pod)), None)
        return pods[cached]

    def _pods_of_domain(self, key: str, value: str) -> Iterator[Pod]:
        label = self.table.label(key)
        rows = self.table.rows()
        for row in rows.select(label.mask_of((value,), rows.index)).positions.tolist():
            yield from self.table.pods_at(row).values()


def _explain_affinity(state: FilterState, node: Node) -> str:
    for term in state.required:
        value = node.labels.get(term.topology_key)
        if value is None:
            return f"no label {term.topology_key}"
        if not state.affinity[term.topology_key].at(value):
            break
    required = " and ".join(_term_text(each) for each in state.required)
    return f"{term.topology_key} {value} has no pod with {required}"


def _explain_anti_affinity(finder: _PodFinder, state: FilterState, node: Node) -> str:
    for term in state.required_anti:
        value = node.labels.get(term.topology_key)
        if value is None or state.anti_affinity[term.topology_key].at(value) <= 0:
            continue
        other = finder.find(term, term.topology_key, value, partial(_selects, term))
        if other is not None:
            return f"{term.topology_key} {value} has {pod_text(other)}, a pod with {_term_text(term)}"
    return _POD_DELETED


def _selects(term: ResolvedTerm, other: Pod) -> bool:
    return term.matches(other.namespace, other.labels)


def _explain_existing_anti_affinity(
    finder: _PodFinder, state: FilterState, existing: ExistingTerms, pod: Pod, node: Node
) -> str:
    namespace_labels = labels_of_namespace(existing.objects, pod.namespace)
    for key, counts in state.existing_anti_affinity.items():
        value = node.labels.get(key)
        if value is None or counts.at(value) <= 0:
            continue
        blocking_terms = partial(_blocking_terms, key, pod, namespace_labels)
        other = finder.find("existing", key, value, blocking_terms)
        if other is not None:
            selector = selector_text(blocking_terms(other)[0].selector)
            return f"{pod_text(other)} keeps pods with {selector} out of {key} {value}"
    return _POD_DELETED


def _blocking_terms(key: str, pod: Pod, namespace_labels: Labels, other: Pod) -> list[CompiledAffinityTerm]:
    """Return the terms of *other* that keep *pod* out of its domain of that key."""
    return [
        term
        for term in terms_of_pod(other).required_anti
        if term.topology_key == key and term.matches(pod.namespace, pod.labels, namespace_labels)
    ]


def _term_text(term: ResolvedTerm) -> str:
    where = "any namespace" if term.any_namespace else f"namespace {', '.join(sorted(term.namespaces))}"
    return f"{selector_text(term.selector)} in {where}"


def selector_text(selector: CompiledSelector) -> str:
    """Return a selector in the notation of kubectl."""
    if selector.matches_nothing:
        return "no labels at all"
    return requirements_text(selector.requirements or ()) or "any labels"
