"""A plugin as most authors write their first one: per node only, without a columnar form or a signature."""

from __future__ import annotations

from typing import Any, Final

from ..._base.value import record
from ...api import Pod
from ...framework import Status, hookimpl
from ...state import NodeInfo

NAME: Final = "NodeByNode"
TOO_MANY_PODS: Final = Status.unschedulable("node(s) had too many pods of the bench")
MAX_PODS: Final = 100


@record(eq=False)
class NodeByNode:
    """Rejects nodes with 100 pods or more and prefers nodes with few pods."""

    args: Any = None
    handle: Any = None

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Reject a node with 100 pods or more."""
        return TOO_MANY_PODS if len(node_info.pods) >= MAX_PODS else None

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        """Return 100 minus the number of pods."""
        return MAX_PODS - len(node_info.pods)
