"""Proposals for required pod affinity: pods near which the pod could run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve

from ...api import EXISTS, IN, CompiledAffinityTerm, Container, ObjectMeta, Pod, PodAffinityTerm, PodSpec
from ..change import Change, ChangeKind
from .case import Case

_NODES: Final = 8
"""Near nodes on which a pod is placed by way of trial."""
_PODS: Final = 4
"""Pending pods that are placed by way of trial, in the order of their names."""


def propose(case: Case) -> Iterator[Change]:
    """Propose to place a pending pod that all required terms select, or to run a pod with such labels."""
    affinity = case.pod.spec.affinity.pod_affinity if case.pod.spec.affinity is not None else None
    terms = affinity.required if affinity is not None else ()
    if not terms:
        return
    waiting = [pod for pod in _pending(case) if _selected(case, terms, pod)]
    company = sorted(waiting, key=lambda pod: pod.key)[:_PODS]
    nodes = {pod.key: case.feasible(pod) for pod in company}
    for near in case.near[:_NODES]:
        for pod in company:
            if near.name not in nodes[pod.key]:
                continue
            text = f"wait until {pod.key}, which is pending too, runs on {near.name}"
            rank = (pod.key, near.name)
            yield Change(ChangeKind.WAIT_FOR_POD, text, objects=(pod.with_node_name(near.name),), rank=rank)
        added = _selected_pod(case.pod, terms)
        if added is not None and _selected(case, terms, added):
            labels = ", ".join(f"{key}={value}" for key, value in added.labels.items())
            text = (
                f"run a pod with {labels or 'any labels'} in namespace {added.namespace} on node {near.name}"
            )
            yield Change(ChangeKind.ADD_POD, text, objects=(added.with_node_name(near.name),))


def _pending(case: Case) -> Iterator[Pod]:
    pods: list[Pod] = case.cluster.list("Pod")
    for pod in pods:
        if not pod.node_name and not pod.is_terminated and pod.key != case.pod.key:
            yield pod


def _selected(case: Case, terms: tuple[PodAffinityTerm, ...], pod: Pod) -> bool:
    namespace = case.cluster.get("Namespace", pod.namespace)
    labels = namespace.labels if namespace is not None else {}
    return all(
        CompiledAffinityTerm(term, case.pod.namespace).matches(pod.namespace, pod.labels, labels)
        for term in terms
    )


def _selected_pod(pending: Pod, terms: tuple[PodAffinityTerm, ...]) -> Pod | None:
    """Return a pod without requests that the terms may select, ``None`` if its labels cannot be derived."""
    labels: dict[str, str] = {}
    for term in terms:
        if term.label_selector is None:
            return None
        labels |= term.label_selector.match_labels
        for each in term.label_selector.match_expressions:
            if each.operator == IN:
                labels[each.key] = each.values[0]
            elif each.operator == EXISTS:
                labels.setdefault(each.key, "")
    namespaces = [term.namespaces[0] for term in terms if term.namespaces]
    namespace = namespaces[0] if namespaces else pending.namespace
    meta = ObjectMeta(name=f"{pending.name}-company", namespace=namespace, labels=labels)
    return Pod(evolve(meta, uid=f"{namespace}/{meta.name}"), PodSpec(containers=(Container(name="main"),)))
