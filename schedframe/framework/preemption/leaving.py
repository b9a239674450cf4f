"""Pods that were preempted and still end, so that their room is not free yet."""

from __future__ import annotations

from typing import Final

from ...api import DISRUPTION_TARGET, Pod
from ...state import NodeTable

PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"
"""Reason of the condition that a scheduler writes to the pods that it preempts."""


def pods_being_preempted(table: NodeTable, node_name: str) -> list[Pod]:
    """Return the pods of that node that a scheduler preempted and that still end. O(pods of the node)."""
    row = table.live_row(node_name)
    if row is None:
        return []
    return [pod for pod in table.pods_at(row).values() if is_being_preempted(pod)]


def is_being_preempted(pod: Pod) -> bool:
    """Return whether a scheduler preempted *pod* and it still ends. O(conditions)."""
    return pod.is_terminating and any(
        each.type == DISRUPTION_TARGET and each.status == "True" and each.reason == PREEMPTION_BY_SCHEDULER
        for each in pod.status.conditions
    )
