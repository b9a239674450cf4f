"""Pending pods that are as another one: what helps it helps them."""

from __future__ import annotations

from collections.abc import Iterable

from ..api import Pod


def alike_pods(pod: Pod, pending: Iterable[Pod]) -> tuple[str, ...]:
    """Return the keys of the *pending* pods that are alike, *pod* itself left out, in order; O(pods)."""
    return tuple(each.key for each in pending if each.key != pod.key and are_alike(pod, each))


def are_alike(one: Pod, other: Pod) -> bool:
    """Return whether pending pods have one controller and equal requests, or equal labels and specs."""
    if one.namespace != other.namespace or one.priority != other.priority:
        return False
    owner = one.metadata.controller
    if owner is not None and owner == other.metadata.controller:
        return one.requests == other.requests
    return one.labels == other.labels and one.spec == other.spec
