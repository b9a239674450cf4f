"""A plugin as most authors write one: node by node, without a columnar form or a signature."""

from __future__ import annotations

from typing import Any, Final

from attrs import define

from ..api import Pod
from ..framework import Status, hookimpl
from ..state import NodeInfo

NAME: Final = "NodeByNode"
CROWDED: Final = Status.unschedulable("node(s) had too many pods of the bench")
MOST_PODS: Final = 100


@define(eq=False)
class NodeByNode:
    """Refuses nodes with many pods, and likes those best that have few."""

    args: Any = None
    handle: Any = None

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """At most 100 pods."""
        return CROWDED if len(node_info.pods) >= MOST_PODS else None

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        """100 less the number of pods."""
        return MOST_PODS - len(node_info.pods)
