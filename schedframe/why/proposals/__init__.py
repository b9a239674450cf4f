"""What might help: candidates only, from the words of pods and nodes; whether they help is tried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import frozen

from ...api import Pod
from ...cluster import InMemoryCluster
from ...state import NodeInfo
from ..change import Change
from ..obstacles import NearMiss


@frozen(eq=False)
class Near:
    """A node that is nearly good enough, with its pods."""

    miss: NearMiss
    info: NodeInfo

    @property
    def name(self) -> str:
        """Of the node."""
        return self.info.name


@frozen(eq=False)
class Case:
    """What candidates are made of."""

    pod: Pod
    near: tuple[Near, ...]
    """Nearest first."""
    cluster: InMemoryCluster
    profiles: tuple[str, ...]
    works: Callable[[Change], bool]
    """For candidates that are found by trying; costs the budget."""
    nominated: Callable[[str], tuple[Pod, ...]]
    """Pods that are nominated to a node."""


def candidates(case: Case) -> Iterator[Change]:
    """All that might help, in no order."""
    from . import claims, nodes, others, placement, requests, spreading

    for propose in (
        requests.propose,
        placement.propose,
        spreading.propose,
        nodes.propose,
        others.propose,
        claims.propose,
    ):
        yield from propose(case)
