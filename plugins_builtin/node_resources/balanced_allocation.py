"""Nodes whose resources the pod leaves used more evenly than they were."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import CycleState, Depends, NodeInfo, NodeTable, Pod, Rows, StateKey, Status, hookimpl

from ..args import NodeResourcesBalancedAllocationArgs
from .balance import balance_score, balance_scores, balances_of_pods
from .scored import Scored, scored_resources

_SCORED: Final = StateKey[Sequence[Scored]]("NodeResourcesBalancedAllocation/pre_score")


@define(eq=False)
class NodeResourcesBalancedAllocation:
    """A pod that asks for none of the resources cannot balance them, and is not scored."""

    args: NodeResourcesBalancedAllocationArgs

    depends_on: ClassVar[Depends] = Depends.ROW_RESOURCES

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return the requests."""
        return pod.resources

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod) -> Status | None:
        """Note what the pod asks for; skip if that is nothing."""
        scored = self._scored(pod)
        if not _asks(scored):
            return Status.skip()
        state.write(_SCORED, scored)
        return None

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        """Balance with the pod against balance without it."""
        scored = state.get(_SCORED)
        if scored is None:
            scored = self._scored(pod)
            if not _asks(scored):
                return 0
        return balance_score(scored, node_info)

    @hookimpl
    def prepare_score(
        self, states: Sequence[CycleState], table: NodeTable
    ) -> Callable[[int], npt.NDArray[np.int64]] | None:
        """As :meth:`score` for a batch of pods."""
        pods = [scored for state in states if (scored := state.get(_SCORED)) is not None]
        return balances_of_pods(pods, table) if len(pods) == len(states) else None

    @hookimpl
    def score_rows(self, state: CycleState, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(resources x rows)."""
        scored = state.get(_SCORED)
        if scored is None:
            scored = self._scored(pod)
            if not _asks(scored):
                return np.zeros(len(rows), np.int64)
        return balance_scores(scored, rows)

    def _scored(self, pod: Pod) -> tuple[Scored, ...]:
        return scored_resources(self.args.resources, pod.requests, non_zero=False)


def _asks(scored: Sequence[Scored]) -> bool:
    return any(resource.amount for resource in scored)
