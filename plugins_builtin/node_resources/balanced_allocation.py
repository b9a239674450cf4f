"""Nodes whose resources the pod leaves used more evenly than they were."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import (
    CycleState,
    Depends,
    Handle,
    NodeInfo,
    NodeTable,
    Pod,
    Rows,
    StateKey,
    Status,
    hookimpl,
)

from ..args import NodeResourcesBalancedAllocationArgs
from ..dynamic_resources.device_counts import DeviceCounts
from .balance import balance_score, balance_scores, balances_of_pods
from .device_classes import DEVICE_CLASS
from .scored import Scored, scored_resources

_SCORED: Final = StateKey[Sequence[Scored]]("NodeResourcesBalancedAllocation/pre_score")


@define(eq=False)
class NodeResourcesBalancedAllocation:
    """A pod that asks for none of the resources cannot balance them, and is not scored."""

    args: NodeResourcesBalancedAllocationArgs
    handle: Handle
    _devices: DeviceCounts | None = field(init=False)
    """Of the resources that device classes may back; ``None`` if there are none."""

    depends_on: ClassVar[Depends] = Depends.ROW_RESOURCES
    reads: ClassVar[tuple[str, ...]] = (DEVICE_CLASS,)

    def __attrs_post_init__(self) -> None:
        names = [resource.name for resource in self.args.resources]
        self._devices = DeviceCounts.of(self.handle.objects, names)

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return the requests; ``None`` if devices are scored."""
        if self._devices is not None and any(map(self._devices.backs, pod.requests)):
            return None
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
        return scored_resources(self.args.resources, pod.requests, non_zero=False, elsewhere=self._devices)


def _asks(scored: Sequence[Scored]) -> bool:
    return any(resource.amount for resource in scored)
