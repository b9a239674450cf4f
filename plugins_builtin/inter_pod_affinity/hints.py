"""Hints: which events may help a pod that affinity rejected.

As in the reference, these events requeue no pod; the periodic flush of unschedulable pods does:

- a node joins or moves to a domain that the anti-affinity of existing pods does not cover; a node is deleted;
- the last pod that satisfies an affinity is deleted, so that the pod may be the first of its group;
- a pod is deleted that only one of several anti-affinity terms matches;
- a pod appears or disappears that a term selects by its namespace selector.
"""

from __future__ import annotations

from schedframe import Node, Pod
from schedframe.api import CompiledAffinityTerm

from .terms import NO_LABELS, terms_of_pod


def pod_changed(pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    """Hint: a pod that satisfies affinity appeared, a conflicting one disappeared, or own labels changed."""
    if new is not None and new.uid == pod.uid:
        return True
    other = new if new is not None else old
    assert other is not None
    if not other.node_name and not other.status.nominated_node_name:
        return False
    terms = terms_of_pod(pod)
    if old is not None and new is not None:
        satisfies = not _all_match(terms.required, old) and _all_match(terms.required, new)
        conflict_ends = _all_match(terms.required_anti, old) and not _all_match(terms.required_anti, new)
        return satisfies or conflict_ends
    if new is not None:
        return _all_match(terms.required, new)
    assert old is not None
    return _all_match(terms.required_anti, old) or _all_match(terms_of_pod(old).required_anti, pod)


def node_changed(pod: Pod, old: Node | None, new: Node) -> bool:
    """Hint: the node joined another domain of an affinity term, or left one of an anti-affinity term."""
    terms = terms_of_pod(pod)
    for term in terms.required:
        value = new.labels.get(term.topology_key)
        if value is not None and (old is None or old.labels.get(term.topology_key) != value):
            return True
    for term in terms.required_anti:
        if old is None:
            return True
        before = old.labels.get(term.topology_key)
        if before is not None and new.labels.get(term.topology_key) != before:
            return True
    return False


def _all_match(terms: tuple[CompiledAffinityTerm, ...], pod: Pod) -> bool:
    """Return whether there are terms and all match *pod*; namespaces count as having no labels."""
    return bool(terms) and all(term.matches(pod.namespace, pod.labels, NO_LABELS) for term in terms)
