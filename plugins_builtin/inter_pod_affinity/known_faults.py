"""Faults of kube-scheduler v1.36 that are kept here, said of the pods that they concern.

Listed in docs/explanation/equality-with-kube-scheduler.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schedframe import ObjectStore, Pod
from schedframe.api import CompiledAffinityTerm

from .._explaining import requirements_text
from .terms import NO_LABELS, terms_of_pod

_NOT_WOKEN: Final = "as in kube-scheduler v1.36, the pod is not tried again"
_UNTIL: Final = "until the periodic retry, 5 minutes by default"
_SHOWN: Final = 3
"""Namespaces in a line."""


def faults_for(pod: Pod, objects: ObjectStore) -> Iterator[str]:
    """Yield a line for each fault that concerns *pod*, which InterPodAffinity rejects; O(namespaces)."""
    terms = terms_of_pod(pod)
    own = (*terms.required, *terms.required_anti)
    for term in own:
        yield from _ignored_selector(term, objects)
    if any(_has_selector(term) and not term.namespace_selector.matches(NO_LABELS) for term in own):
        yield f"{_NOT_WOKEN} when pods change that a namespaceSelector of it selects, {_UNTIL}"
    if terms.required and all(term.matches(pod.namespace, pod.labels, NO_LABELS) for term in terms.required):
        yield f"{_NOT_WOKEN} when the last pod goes that its affinity needs, {_UNTIL}"
    if len(terms.required_anti) > 1:
        yield f"{_NOT_WOKEN} when a pod goes that not all of its anti-affinity terms match, {_UNTIL}"


def _ignored_selector(term: CompiledAffinityTerm, objects: ObjectStore) -> Iterator[str]:
    """Say which namespaces count although the selector excludes them."""
    selector = term.namespace_selector
    if not _has_selector(term) or not selector.matches(NO_LABELS):
        return
    excluded = sorted(each.name for each in objects.list("Namespace") if not selector.matches(each.labels))
    excluded = [name for name in excluded if name not in term.namespaces]
    if excluded:
        text = requirements_text(selector.requirements or ())
        more = f" and {len(excluded) - _SHOWN} more" if len(excluded) > _SHOWN else ""
        counted = f"pods of {', '.join(excluded[:_SHOWN])}{more} count"
        yield f"as in kube-scheduler v1.36, the namespaceSelector {text} excludes no namespace: {counted}"


def _has_selector(term: CompiledAffinityTerm) -> bool:
    """Return whether the term selects namespaces by their labels; an empty selector takes all."""
    return not term.namespace_selector.matches_nothing and bool(term.namespace_selector.requirements)
