"""The scores of NodeResourcesFit under the names of the plugins that became its scoring strategies.

A profile has one NodeResourcesFit with one strategy. These plugins score by another strategy besides it, and
need neither its filter nor preScore.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from plugins_builtin.node_resources import strategies
from plugins_builtin.node_resources.scored import Scored, scored_resources
from schedframe import CycleState, Depends, NodeInfo, NodeTable, Pod, Rows, hookimpl
from schedframe.api import scoring_requests

from .args import (
    AllocationArgs,
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
)


@define(eq=False)
class AllocationScore:
    """Score by a strategy over weighted resources; the base of the plugins below."""

    args: AllocationArgs
    _strategy: strategies.Strategy

    depends_on: ClassVar[Depends] = Depends.ROW_RESOURCES

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return the requests that are scored."""
        return tuple(scoring_requests(pod).items())

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        """Return the score of one node by the strategy; O(resources)."""
        return self._strategy.score(self._scored(pod), node_info)

    @hookimpl
    def prepare_score(
        self, states: Sequence[CycleState], pods: Sequence[Pod], table: NodeTable
    ) -> Callable[[int], npt.NDArray[np.int64]] | None:
        """As :meth:`score` for a batch of pods."""
        return self._strategy.score_pods([self._scored(pod) for pod in pods], table)

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(resources x rows)."""
        return self._strategy.score_rows(self._scored(pod), rows)

    def _scored(self, pod: Pod) -> tuple[Scored, ...]:
        return scored_resources(self.args.resources, scoring_requests(pod), non_zero=True)


@define(eq=False)
class NodeResourcesLeastAllocated(AllocationScore):
    """Score nodes higher the less of their resources is requested."""

    args: NodeResourcesLeastAllocatedArgs
    _strategy: strategies.Strategy = field(init=False, factory=strategies.LeastAllocated)


@define(eq=False)
class NodeResourcesMostAllocated(AllocationScore):
    """Score nodes higher the more of their resources is requested."""

    args: NodeResourcesMostAllocatedArgs
    _strategy: strategies.Strategy = field(init=False, factory=strategies.MostAllocated)


@define(eq=False)
class RequestedToCapacityRatio(AllocationScore):
    """Score nodes by a curve from utilization to score."""

    args: RequestedToCapacityRatioArgs
    _strategy: strategies.Strategy = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._strategy = strategies.RequestedToCapacityRatio(strategies.curve(self.args.shape))
