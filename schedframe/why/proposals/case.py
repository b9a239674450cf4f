"""The input from which changes are proposed."""

from __future__ import annotations

from collections.abc import Callable

from ..._base.value import record
from ...api import Pod
from ...cluster import InMemoryCluster
from ...state import NodeInfo
from ..change import Change
from ..near_misses import NearMiss


@record(frozen=True, eq=False)
class NearNode:
    """A node that is nearly feasible, with its pods."""

    miss: NearMiss
    info: NodeInfo

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.info.name


@record(frozen=True, eq=False)
class Case:
    """A pending pod, the nodes near to it and its cluster."""

    pod: Pod
    near: tuple[NearNode, ...]
    """Nearest first."""
    cluster: InMemoryCluster
    profiles: tuple[str, ...]
    helps: Callable[[Change], bool]
    """Try out a change, for proposals that search for an amount. Each call costs one change of the budget."""
    alike: int
    """Number of pending pods that are as this one, itself included."""
    nominated: Callable[[str], tuple[Pod, ...]]
    """Return the pods that are nominated to a node."""
    feasible: Callable[[Pod], list[str]]
    """Return the nodes on which another pod can run."""
