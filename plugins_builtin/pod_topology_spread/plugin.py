"""The hooks of PodTopologySpread, with the pod's own constraints or the default ones of its workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import (
    SKIP,
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    HintReads,
    Node,
    NodeInfo,
    NodeTable,
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY, CompiledSelector, TopologySpreadConstraint
from schedframe.framework import GroupScores

from .._workload_selector import WORKLOAD_KINDS, WorkloadSelectors
from ..args import SYSTEM_DEFAULTING, PodTopologySpreadArgs
from . import hints
from .constraints import Constraints, compile_constraints
from .explain import explain_node, explain_pod
from .filtering import FilterState
from .scoring import HOSTNAME, ScoreState

ERR_REASON_CONSTRAINTS = "node(s) didn't match pod topology spread constraints"
ERR_REASON_LABEL = ERR_REASON_CONSTRAINTS + " (missing required label)"
_STATUSES: Final = (Status.unschedulable(ERR_REASON_CONSTRAINTS), Status.unresolvable(ERR_REASON_LABEL))

SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY),
    TopologySpreadConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SCHEDULE_ANYWAY
    ),
)
"""Constraints for pods without their own that a service or controller selects."""

_HARD: Final = StateKey[FilterState]("PodTopologySpread/pre_filter")
_SOFT: Final = StateKey[ScoreState]("PodTopologySpread/pre_score")
_MEMO: Final = {DO_NOT_SCHEDULE: object(), SCHEDULE_ANYWAY: object()}  # keys in PodSpec.memo


@define(eq=False)
class PodTopologySpread:
    """DoNotSchedule constraints bound the skew of domains, ScheduleAnyway constraints score it.

    The answer for a node depends on pods of other nodes, so it is not cached per node.
    """

    args: PodTopologySpreadArgs
    handle: Handle
    _system_defaults: bool = field(init=False)  # then nodes are scored without all topology keys, too
    _defaults: tuple[TopologySpreadConstraint, ...] = field(init=False)
    _default_actions: frozenset[str] = field(init=False)
    _workloads: WorkloadSelectors = field(init=False)

    reads: ClassVar[tuple[str, ...]] = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")

    def __attrs_post_init__(self) -> None:
        self._system_defaults = self.args.defaulting_type == SYSTEM_DEFAULTING
        self._defaults = SYSTEM_DEFAULTS if self._system_defaults else self.args.default_constraints
        self._default_actions = frozenset(each.when_unsatisfiable for each in self._defaults)
        self._workloads = WorkloadSelectors(self.handle.objects)

    # ---- filter ------------------------------------------------------------------------------------------

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str]:
        """For a pod without constraints, the objects that select it: they decide about defaults."""
        return () if pod.spec.topology_spread_constraints else WORKLOAD_KINDS

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | None:
        """Count the matching pods per domain of *nodes*; Skip a pod without DoNotSchedule constraints.

        O(domains) for each constraint if *nodes* are all nodes, else O(nodes). Raises InputError for a
        selector that cannot be parsed.
        """
        constraints = self.constraints(pod, DO_NOT_SCHEDULE)
        if not constraints:
            return SKIP
        state.write(_HARD, FilterState.of(constraints, nodes))
        return None

    @hookimpl
    def add_pod(self, state: CycleState, pod_to_add: Pod, node_info: NodeInfo) -> None:
        """Add a pod to the counts; O(constraints)."""
        if node_info.has_node:
            state.read(_HARD).update(pod_to_add, node_info.node, 1)

    @hookimpl
    def remove_pod(self, state: CycleState, pod_to_remove: Pod, node_info: NodeInfo) -> None:
        """Remove a pod from the counts; O(constraints)."""
        if node_info.has_node:
            state.read(_HARD).update(pod_to_remove, node_info.node, -1)

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Reject a node without a topology key, or in a domain whose skew would exceed max_skew."""
        code = state.read(_HARD).filter_code(node_info.node) if node_info.has_node else 0
        return _STATUSES[code - 1] if code else None

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`, evaluated once for each domain; O(domains + rows) for each constraint."""
        codes = state.read(_HARD).filter_codes(rows)
        return None if codes is None else RowVerdicts(codes, _STATUSES)

    # ---- score -------------------------------------------------------------------------------------------

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | None:
        """Weigh the constraints by the number of domains of the feasible *nodes*.

        Skips a pod without ScheduleAnyway constraints. Raises InputError for a selector that cannot be
        parsed.
        """
        constraints = self.constraints(pod, SCHEDULE_ANYWAY)
        if not constraints:
            return SKIP
        all_keys = bool(pod.spec.topology_spread_constraints) or not self._system_defaults
        state.write(_SOFT, ScoreState.of(constraints, nodes, all_keys, self.handle.table))
        return None

    @hookimpl
    def score(self, state: CycleState, node_info: NodeInfo) -> int:
        """Return the weighted number of matching pods in the node's domains."""
        return state.read(_SOFT).score(node_info, self.handle.table)

    @hookimpl
    def score_rows(self, state: CycleState, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows) for each constraint."""
        return state.read(_SOFT).score_rows(rows)

    @hookimpl
    def score_groups(self, state: CycleState, table: NodeTable) -> GroupScores | None:
        """As :meth:`score` with normalization, by domain, or by count for constraints on host names."""
        scoring = state.read(_SOFT)
        columns = scoring.group_columns(table)
        return None if columns is None else GroupScores(columns, scoring.scores_of_groups)

    @hookimpl
    def normalize_scores(self, state: CycleState, scores: npt.NDArray[np.int64], nodes: Rows) -> None:
        """Reverse the order: ``100 * (highest + lowest - score) / highest``; ignored nodes get 0."""
        state.read(_SOFT).normalize(scores, nodes)

    # ---- explanations ------------------------------------------------------------------------------------

    @hookimpl
    def explain(self, state: CycleState, node_info: NodeInfo) -> str | None:
        """Return the numbers of the constraint that the node violates."""
        return explain_node(state.read(_HARD), node_info.node) if node_info.has_node else None

    @hookimpl
    def explain_pod(self, state: CycleState, pod: Pod) -> list[str]:
        """Return, for each constraint, the matching pods by domain."""
        soft = self.constraints(pod, SCHEDULE_ANYWAY) if _SOFT in state else ()
        return list(explain_pod(state.get(_HARD), soft, self.handle.table))

    # ---- constraints -------------------------------------------------------------------------------------

    def constraints(self, pod: Pod, action: str) -> Constraints:
        """Return the pod's constraints with that action, or the default ones if it has none at all.

        Default constraints count the pods that the pod's services and controller select; a pod without these
        has none. Cached on the spec, for pods with equal namespace and labels.
        """
        spec = pod.spec
        own = spec.topology_spread_constraints
        selector: CompiledSelector | None = None
        if not own:
            selector = self._workloads.selector_of(pod) if action in self._default_actions else None
            if selector is None:
                return ()
        memo = spec.memo
        cached: Any = memo.get(_MEMO[action])
        labels, namespace = pod.labels, pod.namespace
        if (
            cached is not None
            and cached[0] is selector
            and cached[1] == namespace
            and (cached[2] is labels or cached[2] == labels)
            and (own or cached[3] is self)
        ):
            compiled: Constraints = cached[4]
            return compiled
        if own:
            compiled = compile_constraints(own, action, pod)
        else:
            # Filtering requires all keys; scoring by the system defaults does not.
            all_keys = action == DO_NOT_SCHEDULE or not self._system_defaults
            compiled = compile_constraints(self._defaults, action, pod, selector, all_keys=all_keys)
        memo[_MEMO[action]] = (selector, namespace, labels, self, compiled)
        return compiled

    # ---- queue -------------------------------------------------------------------------------------------

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register pods that are added, deleted, relabelled or tolerate more, and changes of nodes."""
        pods = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION
        nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return (
            EventRegistration(ClusterEvent(EventResource.POD, pods), self.pod_changed, HintReads.CLASS),
            EventRegistration(ClusterEvent(EventResource.NODE, nodes), self.node_changed, HintReads.CLASS),
        )

    def pod_changed(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        """Hint: a matching pod was added or deleted, or *pod* itself changed in a relevant way."""
        if not all(hints.is_relevant(each, pod) for each in (old, new) if each is not None):
            return False
        return hints.pod_change_helps(self.constraints(pod, DO_NOT_SCHEDULE), pod, old, new)

    def node_changed(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        """Hint: a node was added, deleted or changed that counts for a DoNotSchedule constraint."""
        return hints.node_change_helps(self.constraints(pod, DO_NOT_SCHEDULE), old, new)
