"""Room for the pod: no request may exceed what the node has left; and how well the pod fits in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    Depends,
    EventRegistration,
    EventResource,
    Handle,
    HintReads,
    NodeInfo,
    NodeTable,
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import scoring_requests
from schedframe.framework import GroupPlacement

from ..args import NodeResourcesFitArgs
from ..dynamic_resources.device_counts import DeviceCounts
from .batch import ShortagesOfPods
from .device_classes import DEVICE_CLASS, DeviceClassNames
from .hints import FitHints
from .placement import fullness
from .scored import Scored, scored_resources
from .shortage import Demand
from .strategies import Strategy, strategy_of

_DEMAND: Final = StateKey[Demand]("NodeResourcesFit/pre_filter")
_SCORED: Final = StateKey[Sequence[Scored]]("NodeResourcesFit/pre_score")


@define(eq=False)
class NodeResourcesFit:
    """CPU, memory, storage, huge pages, extended resources and the number of pods.

    An extended resource that a device class stands for is DynamicResources' business where nodes have none.
    """

    args: NodeResourcesFitArgs
    handle: Handle
    _classes: DeviceClassNames = field(init=False)
    _strategy: Strategy = field(init=False)
    _devices: DeviceCounts | None = field(init=False)
    """Of the scored resources that device classes may back; ``None`` if there are none."""
    _ignored: frozenset[str] = field(init=False)
    _ignored_groups: frozenset[str] = field(init=False)

    depends_on: ClassVar[Depends] = Depends.ROW_RESOURCES
    reads: ClassVar[tuple[str, ...]] = (DEVICE_CLASS,)
    reads_no_nodes_of_members: ClassVar = True

    def __attrs_post_init__(self) -> None:
        self._classes = DeviceClassNames(self.handle.objects)
        self._strategy = strategy_of(self.args.scoring_strategy)
        scored = [resource.name for resource in self.args.scoring_strategy.resources]
        self._devices = DeviceCounts.of(self.handle.objects, scored)
        self._ignored = frozenset(self.args.ignored_resources)
        self._ignored_groups = frozenset(self.args.ignored_resource_groups)

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return the requests, as filter and as score count them; ``None`` if devices are scored."""
        resources = pod.resources
        if self._devices is not None and any(map(self._devices.backs, pod.requests)):
            return None
        if pod.spec.resources is None:
            return resources
        # With requests of the pod as a whole, scoring counts containers by a rule of its own.
        return resources, tuple(scoring_requests(pod).items())

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> None:
        """Note what the pod needs."""
        state.write(_DEMAND, self._demand_of(pod))

    def _demand_of(self, pod: Pod) -> Demand:
        demand = Demand.of(pod.requests, self._ignored, self._ignored_groups)
        extended = demand.extended
        return demand.delegating(self._classes.backed(extended)) if extended else demand

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Is there enough left of everything, and room for one more pod?"""
        return state.read(_DEMAND).shortage(node_info)

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(requested resources x rows)."""
        return state.read(_DEMAND).shortages(rows)

    @hookimpl
    def prepare_filter(
        self, states: Sequence[CycleState], table: NodeTable
    ) -> Callable[[int], RowVerdicts | None] | None:
        """As :meth:`filter` for a batch of pods; one comparison if there is room for the largest of them."""
        return ShortagesOfPods.of([state.read(_DEMAND) for state in states], table)

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod) -> None:
        """Note what the pod asks for of the resources that are scored."""
        state.write(_SCORED, self._scored(pod))

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        """By the configured strategy."""
        return self._strategy.score(self._noted(state, pod), node_info)

    @hookimpl
    def prepare_score(
        self, states: Sequence[CycleState], pods: Sequence[Pod], table: NodeTable
    ) -> Callable[[int], npt.NDArray[np.int64]] | None:
        """As :meth:`score` for a batch of pods."""
        return self._strategy.score_pods(list(map(self._noted, states, pods)), table)

    @hookimpl
    def score_rows(self, state: CycleState, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(scored resources x rows)."""
        return self._strategy.score_rows(self._noted(state, pod), rows)

    @hookimpl
    def placement_score(self, placement: GroupPlacement, placed: Sequence[Pod]) -> int:
        """Return more for fuller nodes, whatever the strategy for nodes is."""
        resources = self.args.scoring_strategy.resources
        backed = self._classes.backed([resource.name for resource in resources])
        return fullness(resources, placement, placed, backed)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register pods that go or shrink, nodes that come or grow, device classes that back a resource."""
        hints = FitHints(self._classes, self.handle, self._demand_of)
        pods = ClusterEvent(EventResource.POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN)
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)
        classes = ClusterEvent(EventResource.DEVICE_CLASS, Action.ADD | Action.UPDATE)
        return (
            EventRegistration(pods, hints.pod_left_or_shrank, HintReads.CLASS, Action.DELETE),
            EventRegistration(nodes, hints.node_has_room, HintReads.CLASS),
            EventRegistration(classes, hints.class_stands_for_request, HintReads.CLASS),
        )

    def _noted(self, state: CycleState, pod: Pod) -> Sequence[Scored]:
        scored = state.get(_SCORED)
        return self._scored(pod) if scored is None else scored

    def _scored(self, pod: Pod) -> tuple[Scored, ...]:
        return scored_resources(
            self.args.scoring_strategy.resources,
            scoring_requests(pod),
            non_zero=True,
            elsewhere=self._devices,
        )
