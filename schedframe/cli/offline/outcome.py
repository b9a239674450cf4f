"""The result of a run: where each pod went, why pods are pending, how full the cluster is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from attrs import field

from ..._base.value import record
from ...api import Pod
from ...simulate import Evaluation
from ...simulate.amounts import unit_of
from ...state import NodeTable
from .proposals import Proposals

REQUIRED = ("cpu", "memory")
"""Resources that are always shown; others only if a node has them or a pod requests them."""
PODS = "pods"


@record(frozen=True)
class Fate:
    """The result for one pending pod."""

    pod: Pod
    node_name: str | None
    message: str
    """Why it has no node; empty if it has one."""
    reasons: tuple[str, ...]
    """Reasons of the message without their counts; pods with equal reasons are grouped."""
    attempts: int
    """Scheduling cycles that it took."""


@record(frozen=True)
class Usage:
    """Amount of a resource in the whole cluster, and of that what pods on its nodes request.

    In milli-CPU, bytes or counts.
    """

    resource: str
    requested: int
    allocatable: int

    @property
    def unit(self) -> str:
        """``milli-CPU``, ``bytes`` or ``count``."""
        return unit_of(self.resource)


@record(eq=False)
class Outcome:
    """The result of a run."""

    fates: list[Fate]
    nodes: int
    running: int
    """Pods that had a node before."""
    preempted: list[Pod]
    """Pods that ran before and had to make room, with the node on which they ran."""
    usage: list[Usage]
    skipped: Mapping[str, int] = field(factory=dict)
    """Kinds that were skipped, with the number of objects."""
    faults: list[str] = field(factory=list)
    """Plugins whose faults ended the last cycles of pods."""
    refused: list[str] = field(factory=list)
    """What a cluster would refuse of the objects that are there, one line each."""
    explanations: list[Evaluation] = field(factory=list)
    proposals: Mapping[str, Proposals] = field(factory=dict)
    """Explained pod that stays pending → what would help it, in the cluster after the run."""

    @property
    def placed(self) -> list[Fate]:
        """Pods that got a node."""
        return [fate for fate in self.fates if fate.node_name is not None]

    @property
    def pending(self) -> list[Fate]:
        """Pods that got none."""
        return [fate for fate in self.fates if fate.node_name is None]

    def pending_by_reason(self) -> list[tuple[str, int]]:
        """Return reasons with the number of pods, most first; several reasons of a pod are joined."""
        counted = Counter(", ".join(fate.reasons) for fate in self.pending)
        return sorted(counted.items(), key=lambda item: (-item[1], item[0]))


def usage_of(table: NodeTable) -> list[Usage]:
    """Return the sums over all nodes by resource, the number of pods last."""
    rows = table.rows()

    def usage(resource: str) -> Usage:
        requested = rows.take(table.requested(resource)).sum()
        return Usage(resource, int(requested), int(rows.take(table.allocatable(resource)).sum()))

    found = [usage(resource) for resource in table.resources() if resource != PODS]
    shown = [use for use in found if use.resource in REQUIRED or use.requested or use.allocatable]
    pods = Usage(PODS, int(rows.take(table.pod_count).sum()), int(rows.take(table.allowed_pods).sum()))
    return [*shown, pods]
