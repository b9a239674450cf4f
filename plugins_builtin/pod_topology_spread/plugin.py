"""Spread pods over topology domains: constraints of the pod, or default ones for pods of a workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

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
    GroupScores,
    Handle,
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

from .._workload_selector import WORKLOAD_KINDS, WorkloadSelectors
from ..args import SYSTEM_DEFAULTING, PodTopologySpreadArgs
from . import account, hints
from .constraints import Constraints, compile_constraints
from .scores import HOSTNAME, Scoring
from .skew import Spreading

ERR_REASON_CONSTRAINTS = "node(s) didn't match pod topology spread constraints"
ERR_REASON_LABEL = ERR_REASON_CONSTRAINTS + " (missing required label)"
_STATUSES: Final = (Status.unschedulable(ERR_REASON_CONSTRAINTS), Status.unresolvable(ERR_REASON_LABEL))

SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY),
    TopologySpreadConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SCHEDULE_ANYWAY
    ),
)
"""For pods without constraints that some service or controller selects."""

_HARD: Final = StateKey[Spreading]("PodTopologySpread/pre_filter")
_SOFT: Final = StateKey[Scoring]("PodTopologySpread/pre_score")
_MEMO: Final = {DO_NOT_SCHEDULE: object(), SCHEDULE_ANYWAY: object()}  # keys in PodSpec.memo


@define(eq=False)
class PodTopologySpread:
    """DoNotSchedule constraints keep the skew of domains within bounds, ScheduleAnyway ones lower the score.

    A node's verdict depends on the pods of other nodes: the plugin is asked for every pod. Matching pods are
    counted per domain as they come and go, see :class:`schedframe.state.PodGroups`.
    """

    args: PodTopologySpreadArgs
    handle: Handle
    _system: bool = field(init=False)
    """Whether the system's defaults are in force: then nodes need not have all topology keys to be scored."""
    _defaults: tuple[TopologySpreadConstraint, ...] = field(init=False)
    _actions: frozenset[str] = field(init=False)
    """Actions of the defaults."""
    _workloads: WorkloadSelectors = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._system = self.args.defaulting_type == SYSTEM_DEFAULTING
        self._defaults = SYSTEM_DEFAULTS if self._system else self.args.default_constraints
        self._actions = frozenset(each.when_unsatisfiable for each in self._defaults)
        self._workloads = WorkloadSelectors(self.handle.objects)

    # ---- filter ------------------------------------------------------------------------------------------

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str]:
        """What selects a pod decides whether the default constraints are for it."""
        return () if pod.spec.topology_spread_constraints else WORKLOAD_KINDS

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | None:
        """Count the matching pods per domain over *nodes*; Skip a pod without hard constraints.

        O(domains) for each constraint when *nodes* are all of the table. Raises InputError for a selector
        that cannot be parsed.
        """
        constraints = self.constraints(pod, DO_NOT_SCHEDULE)
        if not constraints:
            return SKIP
        state.write(_HARD, Spreading.of(constraints, nodes))
        return None

    @hookimpl
    def add_pod(self, state: CycleState, pod_to_add: Pod, node_info: NodeInfo) -> None:
        """Count one more pod; O(constraints)."""
        state.read(_HARD).update(pod_to_add, node_info.node, 1)

    @hookimpl
    def remove_pod(self, state: CycleState, pod_to_remove: Pod, node_info: NodeInfo) -> None:
        """Count one pod less; O(constraints)."""
        state.read(_HARD).update(pod_to_remove, node_info.node, -1)

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Has the node all labels, and would each domain stay within its skew with one more pod?"""
        spreading = state.read(_HARD)
        node = node_info.node
        verdict = 0 if node is None else spreading.verdict(node)
        return _STATUSES[verdict - 1] if verdict else None

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; each domain is decided once. O(domains + rows) for each constraint."""
        verdicts = state.read(_HARD).verdicts(rows)
        return None if verdicts is None else RowVerdicts(verdicts, _STATUSES)

    # ---- score -------------------------------------------------------------------------------------------

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | None:
        """Weigh the constraints by the number of domains among the feasible *nodes*.

        Skips a pod without soft constraints. Raises InputError for a selector that cannot be parsed.
        """
        constraints = self.constraints(pod, SCHEDULE_ANYWAY)
        if not constraints:
            return SKIP
        all_keys = bool(pod.spec.topology_spread_constraints) or not self._system
        state.write(_SOFT, Scoring.of(constraints, nodes, all_keys))
        return None

    @hookimpl
    def score(self, state: CycleState, node_info: NodeInfo) -> int:
        """The weighted number of matching pods in the node's domains."""
        return state.read(_SOFT).score(node_info, self.handle.table)

    @hookimpl
    def score_rows(self, state: CycleState, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows) for each constraint."""
        return state.read(_SOFT).score_rows(rows)

    @hookimpl
    def score_groups(self, state: CycleState, table: NodeTable) -> GroupScores | None:
        """By domain, and by the number of matching pods of a node for constraints on single nodes."""
        scoring = state.read(_SOFT)
        columns = scoring.groups(table)
        return None if columns is None else GroupScores(columns, scoring.of_groups)

    @hookimpl
    def normalize_scores(self, state: CycleState, scores: npt.NDArray[np.int64], nodes: Rows) -> None:
        """The fewer, the better: ``100 * (highest + lowest - score) / highest``, ignored nodes 0."""
        state.read(_SOFT).normalize(scores, nodes)

    # ---- explanations ------------------------------------------------------------------------------------

    @hookimpl
    def explain(self, state: CycleState, node_info: NodeInfo) -> str | None:
        """The numbers of the constraint that the node does not satisfy."""
        node = node_info.node
        return None if node is None else account.of_node(state.read(_HARD), node)

    @hookimpl
    def explain_pod(self, state: CycleState, pod: Pod) -> list[str]:
        """Matching pods by domain, for each constraint."""
        soft = self.constraints(pod, SCHEDULE_ANYWAY) if _SOFT in state else ()
        return list(account.of_pod(state.get(_HARD), soft, self.handle.table))

    # ---- constraints -------------------------------------------------------------------------------------

    def constraints(self, pod: Pod, action: str) -> Constraints:
        """The pod's constraints with that action, or the defaults if it has none at all.

        Defaults apply to what the pod's services and controller select, and not to a pod that has neither.
        Kept in the memo of the spec, for pods that agree in namespace and labels.
        """
        spec = pod.spec
        own = spec.topology_spread_constraints
        selector: CompiledSelector | None = None
        if not own:
            selector = self._workloads.selector_of(pod) if action in self._actions else None
            if selector is None:
                return ()
        memo = spec.memo
        kept: Any = memo.get(_MEMO[action])
        labels, namespace = pod.labels, pod.namespace
        if (
            kept is not None
            and kept[0] is selector
            and kept[1] == namespace
            and (kept[2] is labels or kept[2] == labels)
            and (own or kept[3] is self)
        ):
            found: Constraints = kept[4]
            return found
        if own:
            found = compile_constraints(own, action, pod)
        else:
            # Filter wants all keys in any case; scoring by the system's defaults takes nodes as they are.
            all_keys = action == DO_NOT_SCHEDULE or not self._system
            found = compile_constraints(self._defaults, action, pod, selector, all_keys=all_keys)
        memo[_MEMO[action]] = (selector, namespace, labels, self, found)
        return found

    # ---- queue -------------------------------------------------------------------------------------------

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Pods that come, go or get other labels, tolerations of the pod; nodes that come, go or change."""
        pods = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION
        nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return (
            EventRegistration(ClusterEvent(EventResource.POD, pods), self.pod_matters),
            EventRegistration(ClusterEvent(EventResource.NODE, nodes), self.node_matters),
        )

    def pod_matters(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        """Hint: a pod of a hard constraint came or went, or *pod* itself changed in what they look at."""
        if not all(hints.is_involved(each, pod) for each in (old, new) if each is not None):
            return False
        return hints.pod_matters(self.constraints(pod, DO_NOT_SCHEDULE), pod, old, new)

    def node_matters(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        """Hint: a node came, went or changed that the hard constraints look at."""
        return hints.node_matters(self.constraints(pod, DO_NOT_SCHEDULE), old, new)
