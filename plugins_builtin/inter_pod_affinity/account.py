"""What people are told: which term keeps the pod off a node, and whose, and because of which pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from attrs import define, field

from schedframe import (
    DOES_NOT_EXIST,
    EXISTS,
    CompiledAffinityTerm,
    CompiledSelector,
    Node,
    NodeInfo,
    NodeTable,
    Pod,
    Requirement,
    StateKey,
)

from .existing import ExistingTerms
from .filtering import AFFINITY, ANTI_AFFINITY, FilterState, judge
from .questions import OwnTerm
from .terms import Labels, labels_of_namespace, terms_of_pod

Means = Callable[[Pod], object]
"""True of the pods that are looked for."""

_GONE = "a pod in the way has gone meanwhile"


@define(eq=False)
class Told:
    """What was found out for one pod, by (rule, term, domain): nodes of a domain have it in common."""

    pods: dict[object, Pod | None] = field(factory=dict)


TOLD: StateKey[Told] = StateKey("InterPodAffinity/account")


def of_node(told: Told, state: FilterState, existing: ExistingTerms, pod: Pod, info: NodeInfo) -> str | None:
    """Why *pod* must not be on that node; ``None`` if it may."""
    node = info.node
    code = judge(state, node) if node is not None else 0
    if node is None or not code:
        return None
    finder = _Finder(told, existing.table, info)
    if code == AFFINITY:
        return _no_company(state, node)
    if code == ANTI_AFFINITY:
        return _unwelcome(finder, state, node)
    return _not_wanted(finder, state, existing, pod, node)


@define(eq=False)
class _Finder:
    """Finds pods of a domain: on the node at hand, which may be that of a dry run, or elsewhere."""

    told: Told
    table: NodeTable
    info: NodeInfo

    def find(self, question: object, key: str, value: str, means: Means) -> Pod | None:
        """A pod that *means* accepts in the domain; O(pods there) once for each question and domain."""
        here = next((pod for pod in self.info.pods.values() if means(pod)), None)
        if here is not None:
            return here
        asked = (question, key, value)
        if asked not in self.told.pods:
            self.told.pods[asked] = next((pod for pod in self._of_domain(key, value) if means(pod)), None)
        return self.told.pods[asked]

    def _of_domain(self, key: str, value: str) -> Iterator[Pod]:
        label = self.table.label(key)
        rows = self.table.rows()
        for row in rows.select(label.mask_of((value,), rows.index)).positions.tolist():
            yield from self.table.pods_at(row).values()


def _no_company(state: FilterState, node: Node) -> str:
    for term in state.required:
        value = node.labels.get(term.topology_key)
        if value is None:
            return f"no label {term.topology_key}"
        if not state.affinity[term.topology_key].at(value):
            break
    wanted = " and ".join(_meant(each) for each in state.required)
    return f"{term.topology_key} {value} has no pod with {wanted}"


def _unwelcome(finder: _Finder, state: FilterState, node: Node) -> str:
    for term in state.required_anti:
        value = node.labels.get(term.topology_key)
        if value is None or state.anti[term.topology_key].at(value) <= 0:
            continue
        found = finder.find(term, term.topology_key, value, partial(_is_meant, term))
        if found is not None:
            return f"{term.topology_key} {value} has {_where(found)}, a pod with {_meant(term)}"
    return _GONE


def _is_meant(term: OwnTerm, other: Pod) -> bool:
    return term.matches(other.namespace, other.labels)


def _not_wanted(finder: _Finder, state: FilterState, existing: ExistingTerms, pod: Pod, node: Node) -> str:
    namespace_labels = labels_of_namespace(existing.objects, pod.namespace)
    for key, counts in state.existing.items():
        value = node.labels.get(key)
        if value is None or counts.at(value) <= 0:
            continue
        blocks = partial(_blocking, key, pod, namespace_labels)
        found = finder.find("existing", key, value, blocks)
        if found is not None:
            unwanted = selector_text(blocks(found)[0].selector)
            return f"{_where(found)} keeps pods with {unwanted} out of {key} {value}"
    return _GONE


def _blocking(key: str, pod: Pod, namespace_labels: Labels, other: Pod) -> list[CompiledAffinityTerm]:
    """The terms of *other* that keep *pod* out of its domain of that key."""
    return [
        term
        for term in terms_of_pod(other).required_anti
        if term.topology_key == key and term.matches(pod.namespace, pod.labels, namespace_labels)
    ]


def _where(pod: Pod) -> str:
    return f"{pod.key} on {pod.node_name}" if pod.node_name else f"{pod.key}"


def _meant(term: OwnTerm) -> str:
    where = "any namespace" if term.any_namespace else f"namespace {', '.join(sorted(term.namespaces))}"
    return f"{selector_text(term.selector)} in {where}"


def selector_text(selector: CompiledSelector) -> str:
    """A selector as kubectl writes it."""
    if selector.matches_nothing:
        return "no labels at all"
    return ",".join(map(_requirement_text, _ordered(selector.requirements or ()))) or "any labels"


def _ordered(requirements: Iterable[Requirement]) -> list[Requirement]:
    return sorted(requirements, key=lambda each: (each.key, each.operator))


def _requirement_text(requirement: Requirement) -> str:
    key, values = requirement.key, ",".join(sorted(requirement.values))
    if requirement.operator == EXISTS:
        return key
    if requirement.operator == DOES_NOT_EXIST:
        return f"!{key}"
    if requirement.operator == "In" and len(requirement.values) == 1:
        return f"{key}={values}"
    return f"{key} {requirement.operator.lower()} ({values})"
