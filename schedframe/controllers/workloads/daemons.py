"""Daemon sets: one pod for each node that is eligible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve

from ...api import (
    FIELD_NAME,
    IN,
    NO_EXECUTE,
    NO_SCHEDULE,
    Affinity,
    DaemonSet,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    Toleration,
    find_untolerated_taint,
    required_node_affinity,
)
from ..names import template_hash
from .existing import Existing
from .pods import PodMaker, check_selector, check_template

TOLERATED: Final = (
    ("not-ready", NO_EXECUTE),
    ("unreachable", NO_EXECUTE),
    ("disk-pressure", NO_SCHEDULE),
    ("memory-pressure", NO_SCHEDULE),
    ("pid-pressure", NO_SCHEDULE),
    ("unschedulable", NO_SCHEDULE),
)
"""Taints (``node.kubernetes.io/…``, effect) that every pod of a daemon set tolerates."""

NETWORK_UNAVAILABLE: Final = ("network-unavailable", NO_SCHEDULE)
"""A further one, for pods on the network of their host."""


def pods_of_daemon_set(owner: DaemonSet, existing: Existing) -> Iterator[Pod]:
    """Yield a pod for each eligible node that has none; O(nodes).

    Each pod requires its node by name. Nodes with other taints, or that the template does not select, are not
    eligible. Raises :class:`InputError` as the API server refuses it.
    """
    template = check_template(owner.spec.template)
    check_selector(owner.spec.selector, template)
    spec = _with_tolerations(template.spec)
    served = {node_of(pod) for pod in existing.active_pods_of(owner)}
    maker = PodMaker(owner, template, existing)
    labels = {"controller-revision-hash": template_hash(template), "pod-template-generation": "1"}
    for node in existing.nodes.values():
        if node.name not in served and _is_eligible(node, spec):
            meta = maker.generated(f"{owner.name}-", node.name)
            yield maker.make(meta, labels=labels, spec=_only_on(node.name, spec))


def node_of(pod: Pod) -> str:
    """Return the node of a daemon set's pod: where it is, or the one that it requires. Empty if neither."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    names = [
        name
        for term in (required.terms if required is not None else ())
        for expression in term.match_fields
        if expression.key == FIELD_NAME
        for name in expression.values
    ]
    return pod.node_name or (names[0] if names else "")


def _is_eligible(node: Node, spec: PodSpec) -> bool:
    """Return whether *spec* selects the node (by name, label or affinity) and tolerates its taints."""
    if spec.node_name not in ("", node.name) or not required_node_affinity(spec).matches(node):
        return False
    taints = node.spec.taints
    return find_untolerated_taint(taints, spec.tolerations, (NO_SCHEDULE, NO_EXECUTE)) is None


def _with_tolerations(spec: PodSpec) -> PodSpec:
    taints = (*TOLERATED, NETWORK_UNAVAILABLE) if spec.host_network else TOLERATED
    added = [Toleration(f"node.kubernetes.io/{name}", "Exists", "", effect) for name, effect in taints]
    kept = [toleration for toleration in spec.tolerations if toleration not in added]
    return evolve(spec, tolerations=(*kept, *added))


def _only_on(name: str, spec: PodSpec) -> PodSpec:
    """Return *spec* for the node *name* only; this takes the place of the required node affinity."""
    by_name = NodeSelectorRequirement(FIELD_NAME, IN, (name,))
    required = NodeSelector((NodeSelectorTerm(match_fields=(by_name,)),))
    affinity = spec.affinity or Affinity()
    node_affinity = evolve(affinity.node_affinity or NodeAffinity(), required=required)
    return evolve(spec, affinity=evolve(affinity, node_affinity=node_affinity))
