"""Pods that lose their node, and what their controllers make in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve

from ..api import DaemonSet, Pod, PodStatus

Find = Callable[[str, str], Any]
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a pod that a node runs by itself."""


def is_of_its_node(pod: Pod) -> bool:
    """Return whether a pod goes with its node: one of a daemon set, or one that the node runs itself."""
    owner = pod.metadata.controller
    return (owner is not None and owner.kind == DaemonSet.KIND) or MIRROR in pod.metadata.annotations


def is_made_again(pod: Pod) -> bool:
    """Return whether something makes a pod in place of one that is gone, on whatever node."""
    return pod.metadata.controller is not None and not is_of_its_node(pod)


def made_again(pod: Pod) -> Pod:
    """Return the pod that is made in place of *pod*, without a node and a history.

    It has the same name, so that one sees whose place it takes; a replica set would give it another one.
    """
    metadata = evolve(
        pod.metadata, uid="", resource_version="", creation_timestamp=None, deletion_timestamp=None
    )
    bare: Pod = evolve(pod, metadata=metadata, status=PodStatus())
    return bare.with_node_name("")
