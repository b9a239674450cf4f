"""Hints: which events may help a pod that its DoNotSchedule constraints rejected."""

from __future__ import annotations

from schedframe import Node, Pod

from .constraints import Constraints


def is_relevant(other: Pod, pod: Pod) -> bool:
    """Return whether *other* is *pod*, or is in its namespace and has a node or a nomination."""
    if other.uid == pod.uid:
        return True
    placed = bool(other.node_name or other.status.nominated_node_name)
    return placed and other.namespace == pod.namespace


def pod_change_helps(constraints: Constraints, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    """Return whether the change may help.

    It may if a matching pod was added or deleted, a pod began or ceased to match, or the tolerations of the
    pod itself changed and a constraint honors taints.
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


def node_change_helps(constraints: Constraints, old: Node | None, new: Node | None) -> bool:
    """Return whether the change may help.

    It may if a node with all topology keys was added or deleted, or changed its domain or taints, or if a
    node gained or lost one of the keys.
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
