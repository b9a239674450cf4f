"""Objects under another name."""

from __future__ import annotations

from attrs import evolve

from ...api import LABEL_HOSTNAME, Node, Pod


def renamed(pod: Pod, name: str) -> Pod:
    """*pod* under another name, on no node."""
    metadata = evolve(pod.metadata, name=name, uid=f"{pod.namespace}-{name}")
    spec = evolve(pod.spec, node_name="") if pod.spec.node_name else pod.spec
    return Pod(metadata, spec, pod.status)


def placed(pod: Pod, name: str, node_name: str) -> Pod:
    """*pod* under another name, running on a node."""
    metadata = evolve(pod.metadata, name=name, uid=f"{pod.namespace}-{name}")
    return Pod(metadata, evolve(pod.spec, node_name=node_name, scheduling_gates=()), pod.status)


def node_renamed(node: Node, name: str) -> Node:
    """*node* under another name, in its host name label too."""
    labels = dict(node.labels)
    if LABEL_HOSTNAME in labels:
        labels[LABEL_HOSTNAME] = name
    return Node(evolve(node.metadata, name=name, uid=name, labels=labels), node.spec, node.status)
