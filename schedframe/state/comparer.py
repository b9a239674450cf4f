"""Comparison of the cache with the cluster, to find lost events."""

from __future__ import annotations

from collections.abc import Iterable

from .._base.value import record
from ..api import Node, Pod
from .cache import Cache


@record(frozen=True)
class Comparison:
    """Differences between cache and cluster by name, sorted; all empty if they agree."""

    missed_nodes: tuple[str, ...] = ()
    """In the cluster, not in the cache."""
    redundant_nodes: tuple[str, ...] = ()
    """In the cache, not in the cluster."""
    missed_pods: tuple[str, ...] = ()
    """Assigned in the cluster, neither in the cache nor pending: as ``namespace/name (uid)``."""
    redundant_pods: tuple[str, ...] = ()
    """Confirmed in the cache, not assigned in the cluster."""
    misplaced_pods: tuple[str, ...] = ()
    """On different nodes in cache and cluster."""

    def __bool__(self) -> bool:
        """Return whether there is any difference."""
        return any(
            (
                self.missed_nodes,
                self.redundant_nodes,
                self.missed_pods,
                self.redundant_pods,
                self.misplaced_pods,
            )
        )


def compare(cache: Cache, nodes: Iterable[Node], pods: Iterable[Pod]) -> Comparison:
    """Return the differences between the cache and the objects of the cluster; O(nodes + pods).

    Assumptions of the scheduler that are not confirmed yet are no difference, nor are pods that ended.
    """
    table = cache.table
    actual_nodes = {node.name for node in nodes}
    cached_nodes = {table.name_of(row) for row in table.rows().positions.tolist()}
    assigned = {pod.uid: pod for pod in pods if pod.spec.node_name and not pod.is_terminated}
    cached = {state.pod.uid: state for state in cache.pods()}
    misplaced = [
        pod for uid, pod in assigned.items() if uid in cached and cached[uid].node_name != pod.spec.node_name
    ]
    return Comparison(
        tuple(sorted(actual_nodes - cached_nodes)),
        tuple(sorted(cached_nodes - actual_nodes)),
        _titles(pod for uid, pod in assigned.items() if uid not in cached),
        _titles(s.pod for uid, s in cached.items() if uid not in assigned and not s.assumed),
        _titles(misplaced),
    )


def _titles(pods: Iterable[Pod]) -> tuple[str, ...]:
    return tuple(sorted(f"{pod.key} ({pod.uid})" for pod in pods))
