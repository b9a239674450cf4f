"""What may make a pod schedulable that its hard constraints kept away."""

from __future__ import annotations

from schedframe import Node, Pod

from .constraints import Constraints


def is_involved(other: Pod, pod: Pod) -> bool:
    """Whether *other* can count in the spreading of *pod*, or is that pod.

    It can if it has a node, or is nominated to one, and is of the same namespace.
    """
    if other.uid == pod.uid:
        return True
    placed = bool(other.node_name or other.status.nominated_node_name)
    return placed and other.namespace == pod.namespace


def pod_matters(constraints: Constraints, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    """A matching pod came or went; a pod began or ceased to match; the pod itself got other tolerations and
    taints matter.
    """
    if old is None or new is None:
        only = new or old
        return only is not None and any(each.selector.matches(only.labels) for each in constraints)
    if (
        new.uid == pod.uid
        and new.spec.tolerations != old.spec.tolerations
        and any(each.honors_taints for each in constraints)
    ):
        return True
    if new.labels == old.labels:
        return False
    return any(each.selector.matches(old.labels) != each.selector.matches(new.labels) for each in constraints)


def node_matters(constraints: Constraints, old: Node | None, new: Node | None) -> bool:
    """A node with all topology keys came, went, got another value of one or other taints; or a node got or
    lost one of the keys.
    """
    had, has = (node is not None and _has_keys(node, constraints) for node in (old, new))
    if old is None or new is None or had != has:
        return had or has
    return has and (
        any(old.labels[each.topology_key] != new.labels[each.topology_key] for each in constraints)
        or old.spec.taints != new.spec.taints
    )


def _has_keys(node: Node, constraints: Constraints) -> bool:
    return all(each.topology_key in node.labels for each in constraints)
