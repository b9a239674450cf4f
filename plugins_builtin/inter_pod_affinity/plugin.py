"""The hooks of InterPodAffinity: required terms filter, preferred terms score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    HintReads,
    NodeInfo,
    NodeTable,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)
from schedframe.framework import GroupScores, GroupVerdicts

from ..args import InterPodAffinityArgs
from .existing_terms import ExistingTerms
from .explain import CONFLICTING_PODS, ConflictingPods, explain_node
from .filtering import FILTER_STATE, count_for_filter, filter_groups, filter_node, filter_rows, update_counts
from .hints import node_changed, pod_changed
from .known_faults import faults_for
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
    """Filter and score by pod affinity.

    The answer depends on pods anywhere, so it is not cached per node; without affinity terms in the cluster
    it costs O(1).
    """

    args: InterPodAffinityArgs
    handle: Handle
    _existing: ExistingTerms = field(init=False)

    reads: ClassVar[tuple[str, ...]] = ("Namespace",)

    def __attrs_post_init__(self) -> None:
        weight = self.args.hard_pod_affinity_weight
        self._existing = ExistingTerms(self.handle.table, self.handle.objects, weight)

    @hookimpl
    def skip_reads(self, pod: Pod) -> Sequence[str] | None:
        """For a pod without affinity terms, only those of existing pods, and the namespaces."""
        affinity = pod.spec.affinity
        if affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity):
            return None
        return ("Namespace", "PodAffinity")

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Count pods by domain; Skip if no required term applies to the pod."""
        counted = count_for_filter(self._existing, pod)
        if counted is None:
            return _SKIP
        state.write(FILTER_STATE, counted)
        return None

    @hookimpl
    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: Pod, node_info: NodeInfo) -> None:
        """Add a pod to the counts."""
        if node_info.has_node:
            update_counts(state.read(FILTER_STATE), self._existing, pod, pod_to_add, node_info.node, 1)

    @hookimpl
    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: Pod, node_info: NodeInfo) -> None:
        """Remove a pod from the counts."""
        if node_info.has_node:
            update_counts(state.read(FILTER_STATE), self._existing, pod, pod_to_remove, node_info.node, -1)

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Apply affinity, then anti-affinity of the pod, then anti-affinity of existing pods."""
        counted = state.read(FILTER_STATE)
        return filter_node(counted, node_info.node) if node_info.has_node else None

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`."""
        return filter_rows(state.read(FILTER_STATE), rows)

    @hookimpl
    def filter_groups(self, state: CycleState, table: NodeTable) -> GroupVerdicts | None:
        """As :meth:`filter`, by domain, or by count where every node is a domain."""
        return filter_groups(state.read(FILTER_STATE), table)

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod) -> Status | None:
        """Sum weights by domain; Skip if no preferred term (or required one of existing pods) applies."""
        counted = count_for_score(self._existing, pod, self.args.ignore_preferred_terms_of_existing_pods)
        if counted is None:
            return _SKIP
        state.write(SCORE_STATE, counted)
        return None

    @hookimpl
    def score(self, state: CycleState, node_info: NodeInfo) -> int:
        """Return the sum of the weights in the node's domains."""
        counted = state.read(SCORE_STATE)
        return score_node(counted, node_info.node) if node_info.has_node else 0

    @hookimpl
    def score_rows(self, state: CycleState, rows: Rows) -> Scores:
        """As :meth:`score`."""
        return score_rows(state.read(SCORE_STATE), rows)

    @hookimpl
    def score_groups(self, state: CycleState, table: NodeTable) -> GroupScores | None:
        """As :meth:`score` with normalization, by domain, or by weight where every node is a domain."""
        return score_groups(state.read(SCORE_STATE), table)

    @hookimpl
    def normalize_scores(self, scores: Scores) -> Scores:
        """Stretch to 0…100."""
        return normalize(scores)

    @hookimpl
    def explain(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> str | None:
        """Return which term rejects the node, and the pod that causes it."""
        counted = state.get(FILTER_STATE)
        if counted is None:
            return None
        cache = state.get(CONFLICTING_PODS)
        if cache is None:
            cache = ConflictingPods()
            state.write(CONFLICTING_PODS, cache)
        return explain_node(cache, counted, self._existing, pod, node_info)

    @hookimpl
    def explain_pod(self, state: CycleState, pod: Pod) -> list[str]:
        """Return the known faults that are at work, if a node is rejected; O(nodes)."""
        counted = state.get(FILTER_STATE)
        if counted is None or filter_rows(counted, self._existing.table.rows()) is None:
            return []
        return list(faults_for(pod, self._existing.objects))

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register pods that are added, deleted or relabelled, and nodes that are added or relabelled."""
        pods = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL
        nodes = Action.ADD | Action.UPDATE_NODE_LABEL
        return (
            EventRegistration(ClusterEvent(EventResource.POD, pods), pod_changed, HintReads.CLASS),
            EventRegistration(ClusterEvent(EventResource.NODE, nodes), node_changed, HintReads.CLASS),
        )
