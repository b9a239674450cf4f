"""Nodes like one that is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from attrs import evolve

from ..api import LABEL_HOSTNAME, TAINT_UNSCHEDULABLE, Node, NodeSpec, ObjectMeta

NO_LABELS: Final[Mapping[str, str]] = {}


def node_like(node: Node, name: str, labels: Mapping[str, str] = NO_LABELS) -> Node:
    """Return an empty node of that name like *node*, schedulable, with *labels* in place of its own."""
    labels = {**node.labels, **labels}
    if LABEL_HOSTNAME in labels:
        labels[LABEL_HOSTNAME] = name
    spec = NodeSpec(taints=tuple(taint for taint in node.spec.taints if taint.key != TAINT_UNSCHEDULABLE))
    return evolve(node, metadata=ObjectMeta(name=name, labels=labels), spec=spec)


def free_names(taken: Collection[str], name: str, count: int) -> list[str]:
    """Return names that are not *taken*: *name* for one, numbered for several."""
    while any(each.startswith(name) for each in taken):
        name += "-x"
    return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]
