"""When an event may help a pod that its affinity, or that of others, kept from running.

As in the reference these are not told, and leave the pod to the next flush of unschedulable pods: nodes
that come or move into a domain which existing pods' anti-affinity does not cover, nodes that go, the last
company that goes so that the pod may be the first of its kind, pods that only one of several anti-affinity
terms means, and whatever a namespace selector finds.
"""

from __future__ import annotations

from schedframe import CompiledAffinityTerm, Node, Pod

from .terms import NO_LABELS, terms_of_pod


def pod_changed(pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    """Hint: company appeared, or somebody unwelcome went; or the waiting pod's own labels changed."""
    if new is not None and new.uid == pod.uid:
        return True
    other = new if new is not None else old
    assert other is not None
    if not other.node_name and not other.status.nominated_node_name:
        return False
    terms = terms_of_pod(pod)
    if old is not None and new is not None:
        came = not _means(terms.required, old) and _means(terms.required, new)
        went = _means(terms.required_anti, old) and not _means(terms.required_anti, new)
        return came or went
    if new is not None:
        return _means(terms.required, new)
    assert old is not None
    return _means(terms.required_anti, old) or _means(terms_of_pod(old).required_anti, pod)


def node_changed(pod: Pod, old: Node | None, new: Node) -> bool:
    """Hint: the node moved into a domain with company maybe, or out of one with unwelcome pods."""
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


def _means(terms: tuple[CompiledAffinityTerm, ...], pod: Pod) -> bool:
    """Whether there are terms and all mean *pod*. Namespaces are compared by name alone, as if they had no
    labels.
    """
    return bool(terms) and all(term.matches(pod.namespace, pod.labels, NO_LABELS) for term in terms)
