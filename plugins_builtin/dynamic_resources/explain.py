"""Explanations for people: why a node cannot serve the claims of a pod."""

from __future__ import annotations

from schedframe import NodeInfo

from .cycle_state import PodClaims
from .filtering import ClaimFilter


def explain_node(claims: ClaimFilter, pod_claims: PodClaims, info: NodeInfo) -> str | None:
    """Return the claims that the node cannot use, or how many of its devices are in use."""
    unavailable = [pod_claims.claims[index].key for index in sorted(claims.unavailable(pod_claims, info))]
    if unavailable:
        return f"allocated elsewhere, or not ready: {', '.join(unavailable)}"
    if not info.has_node or not pod_claims.to_allocate():
        return None
    pools, usage = claims.tracker.pools.of_node(info.node), claims.tracker.usage
    problems = [
        f"pool {pool.name} is {'incomplete' if pool.incomplete else 'invalid'}"
        for pool in pools
        if not pool.usable
    ]
    devices = [offered.id for pool in pools for offered in pool.devices]
    taken = sum(usage.is_allocated(id) for id in devices)
    shown = f"{taken} of {len(devices)} devices in use" if devices else "no devices"
    return "; ".join([shown, *problems])
