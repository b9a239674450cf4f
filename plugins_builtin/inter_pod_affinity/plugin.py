"""The plugin: required terms filter, preferred terms score."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    GroupScores,
    GroupVerdicts,
    Handle,
    NodeInfo,
    NodeTable,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)

from ..args import InterPodAffinityArgs
from . import account
from .existing import ExistingTerms
from .filtering import FILTER_STATE, count_for_filter, count_pod, judge_groups, judge_node, judge_rows
from .hints import node_changed, pod_changed
from .scoring import (
    SCORE_STATE,
    Scores,
    count_for_score,
    normalize,
    score_groups,
    score_node,
    score_rows,
)

_SKIP = Status.skip()


@define(eq=False)
class InterPodAffinity:
    """Asked for every pod, since its answer depends on pods anywhere; costs nothing while nobody has such
    terms.
    """

    args: InterPodAffinityArgs
    handle: Handle
    _existing: ExistingTerms = field(init=False)

    def __attrs_post_init__(self) -> None:
        weight = self.args.hard_pod_affinity_weight
        self._existing = ExistingTerms(self.handle.table, self.handle.objects, weight)

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str] | None:
        """The terms of other pods decide about a pod that has none."""
        affinity = pod.spec.affinity
        if affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity):
            return None
        return ("Namespace", "PodAffinity")

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Count pods by domain; Skip if no required term concerns the pod."""
        counted = count_for_filter(self._existing, pod)
        if counted is None:
            return _SKIP
        state.write(FILTER_STATE, counted)
        return None

    @hookimpl
    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: Pod, node_info: NodeInfo) -> None:
        """Count one pod more."""
        if node_info.node is not None:
            count_pod(state.read(FILTER_STATE), self._existing, pod, pod_to_add, node_info.node, 1)

    @hookimpl
    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: Pod, node_info: NodeInfo) -> None:
        """Count one pod less."""
        if node_info.node is not None:
            count_pod(state.read(FILTER_STATE), self._existing, pod, pod_to_remove, node_info.node, -1)

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Affinity first, then the pod's anti-affinity, then that of the pods in the node's domains."""
        counted = state.read(FILTER_STATE)
        return None if node_info.node is None else judge_node(counted, node_info.node)

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`."""
        return judge_rows(state.read(FILTER_STATE), rows)

    @hookimpl
    def filter_groups(self, state: CycleState, table: NodeTable) -> GroupVerdicts | None:
        """By domain, and by how many such pods a node has for a key whose domains are single nodes."""
        return judge_groups(state.read(FILTER_STATE), table)

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod) -> Status | None:
        """Weigh pods by domain; Skip if no preferred term (or required one of others) concerns the pod."""
        counted = count_for_score(self._existing, pod, self.args.ignore_preferred_terms_of_existing_pods)
        if counted is None:
            return _SKIP
        state.write(SCORE_STATE, counted)
        return None

    @hookimpl
    def score(self, state: CycleState, node_info: NodeInfo) -> int:
        """Sum of the weights in the node's domains."""
        counted = state.read(SCORE_STATE)
        return 0 if node_info.node is None else score_node(counted, node_info.node)

    @hookimpl
    def score_rows(self, state: CycleState, rows: Rows) -> Scores:
        """As :meth:`score`."""
        return score_rows(state.read(SCORE_STATE), rows)

    @hookimpl
    def score_groups(self, state: CycleState, table: NodeTable) -> GroupScores | None:
        """By domain, and by what the pods of a node weigh for a key whose domains are single nodes."""
        return score_groups(state.read(SCORE_STATE), table)

    @hookimpl
    def normalize_scores(self, scores: Scores) -> Scores:
        """Stretch to 0…100."""
        return normalize(scores)

    @hookimpl
    def explain(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> str | None:
        """Which term is broken, and which pod is in the way."""
        counted = state.get(FILTER_STATE)
        if counted is None:
            return None
        told = state.get(account.TOLD)
        if told is None:
            told = account.Told()
            state.write(account.TOLD, told)
        return account.of_node(told, counted, self._existing, pod, node_info)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Pods that come, go or change labels; nodes that come or change labels."""
        pods = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL
        nodes = Action.ADD | Action.UPDATE_NODE_LABEL
        return (
            EventRegistration(ClusterEvent(EventResource.POD, pods), pod_changed),
            EventRegistration(ClusterEvent(EventResource.NODE, nodes), node_changed),
        )
