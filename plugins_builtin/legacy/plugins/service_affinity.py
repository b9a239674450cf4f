"""ServiceAffinity: pods of a service on nodes with equal labels, or spread over the values of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field

from plugins_builtin._matching_pods import count_column, count_on
from plugins_builtin._workload_selector import WorkloadSelectors, combined_selector
from schedframe import (
    MAX_SCORE,
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Handle,
    NodeInfo,
    NodeTable,
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import CompiledSelector
from schedframe.state import LabelGroup

from .args import ServiceAffinityArgs

ERR_REASON: Final = "node(s) didn't match service affinity"
_STATUS: Final = Status.unschedulable(ERR_REASON)
_KEY: Final = "pods with the labels of a pod"


@define(eq=False)
class RequiredValues:
    """Values that a node must have of the affinity labels, given where the pods like this one are."""

    pod: Pod
    labels: tuple[str, ...]
    """The affinity labels that the node selector of the pod leaves open."""
    selected: Mapping[str, str]
    """The values that the node selector of the pod gives."""
    table: NodeTable
    counts: npt.NDArray[np.int64] | None
    """Number of pods like this one by row; ``None`` if they do not matter."""
    values: Mapping[str, str] = field(init=False)
    """Label → value; nothing is required of other labels."""

    def __attrs_post_init__(self) -> None:
        self._update()

    def clone(self) -> RequiredValues:
        """Return a copy for a dry run."""
        return evolve(self, counts=None if self.counts is None else self.counts.copy())

    def add(self, other: Pod, node_info: NodeInfo, count: int) -> None:
        """Count *other* on its node *count* times more."""
        row = self.table.live_row(node_info.node.name) if node_info.has_node else None
        if self.counts is None or row is None or not _is_like(other, self.pod):
            return
        self.counts[row] += count
        self._update()

    def _update(self) -> None:
        """Set the values: of the node selector, else of the first node with a pod like this one."""
        values = dict(self.selected)
        for row in () if self.counts is None else self.counts.nonzero()[0].tolist():
            node = self.table.node_at(row)
            if node is not None:
                values |= {label: node.labels[label] for label in self.labels if label in node.labels}
                break
        self.values = values


_REQUIRED: Final = StateKey[RequiredValues]("ServiceAffinity/pre_filter")


@define(eq=False)
class ServiceAffinity:
    """Keep the pods of a service together by the values of some labels, and spread them by others.

    The first pod of a service chooses a node. The others go to nodes that have the same values of
    ``affinity_labels``, unless their node selector gives values of its own. The score of a node falls with
    the share of the service's pods on nodes with the same value of an ``anti_affinity_labels_preference``.
    """

    args: ServiceAffinityArgs
    handle: Handle
    _workloads: WorkloadSelectors = field(init=False)

    reads: ClassVar[tuple[str, ...]] = ("Service",)

    def __attrs_post_init__(self) -> None:
        self._workloads = WorkloadSelectors(self.handle.objects)

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | None:
        """Find the values that a node must have; Skip without affinity labels. O(rows)."""
        labels, selector = self.args.affinity_labels, pod.spec.node_selector
        if not labels:
            return Status.skip()
        selected = {label: selector[label] for label in labels if label in selector}
        missing = tuple(label for label in labels if label not in selected)
        counts = None
        if missing and self._workloads.services_of(pod):
            counts = _like_pods(nodes.table, pod)
        state.write(_REQUIRED, RequiredValues(pod, missing, selected, nodes.table, counts))
        return None

    @hookimpl
    def add_pod(self, state: CycleState, pod_to_add: Pod, node_info: NodeInfo) -> None:
        """Count a pod; O(rows)."""
        if (required := state.get(_REQUIRED)) is not None:
            required.add(pod_to_add, node_info, 1)

    @hookimpl
    def remove_pod(self, state: CycleState, pod_to_remove: Pod, node_info: NodeInfo) -> None:
        """Count a pod no more; O(rows)."""
        if (required := state.get(_REQUIRED)) is not None:
            required.add(pod_to_remove, node_info, -1)

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Reject a node with another value of a label; O(labels)."""
        labels = node_info.node.labels
        values = state.read(_REQUIRED).values
        return None if all(labels.get(label) == value for label, value in values.items()) else _STATUS

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(rows) for each label."""
        rejected = np.zeros(len(rows), np.bool_)
        for label, value in state.read(_REQUIRED).values.items():
            rejected |= ~rows.table.label(label).mask_of((value,), rows.index)
        return RowVerdicts.where(rejected, _STATUS) if rejected.any() else None

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        """Return the number of pods of the first service of the pod on the node."""
        selector = self._service_selector(pod)
        return 0 if selector is None else count_on(node_info, self.handle.table, pod.namespace, selector)

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows)."""
        selector = self._service_selector(pod)
        if selector is None:
            return np.zeros(len(rows), np.int64)
        counts = rows.take(count_column(rows.table, pod.namespace, selector).counts)
        return counts.astype(np.int64)

    @hookimpl
    def normalize_scores(self, scores: npt.NDArray[np.int64], nodes: Rows) -> npt.NDArray[np.int64]:
        """Return the mean over the labels of 100 times the share of pods on nodes with other values.

        A node without a label scores 0 for that label. O(rows) for each label.
        """
        labels = self.args.anti_affinity_labels_preference
        result = np.zeros(len(scores))
        total = int(scores.sum())
        for label in labels:
            column = nodes.table.label(label)
            codes = nodes.take(column.codes)
            labelled = codes >= 0
            score = np.full(len(column.values), float(MAX_SCORE))
            if total > 0:
                counts = np.bincount(codes[labelled], scores[labelled], len(column.values))
                score = MAX_SCORE * ((total - counts) / total)
            result[labelled] += score[codes[labelled]] / len(labels)
        return result.astype(np.int64)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register pods that come or go, services, and nodes that are added or whose labels change."""
        pods = ClusterEvent(EventResource.POD, Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL)
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        services = ClusterEvent("Service", Action.ADD | Action.UPDATE | Action.DELETE)
        return (EventRegistration(pods), EventRegistration(nodes), EventRegistration(services))

    def _service_selector(self, pod: Pod) -> CompiledSelector | None:
        services = self._workloads.services_of(pod)
        return combined_selector(frozenset(services[0].items())) if services else None


def _is_like(other: Pod, pod: Pod) -> bool:
    """Return whether *other* is in the namespace of *pod* and has all its labels, perhaps among others."""
    return other.namespace == pod.namespace and pod.labels.items() <= other.labels.items()


def _like_pods(table: NodeTable, pod: Pod) -> npt.NDArray[np.int64]:
    """Return the number of pods like *pod* by row, as an array of its own; terminating ones count."""
    namespace, labels = pod.namespace, pod.labels

    def weigh(group: LabelGroup) -> int:
        return int(group.namespace == namespace and labels.items() <= group.labels.items())

    key = (_KEY, namespace, frozenset(labels.items()))
    scope = (namespace, next(iter(labels.items()), None))
    return table.label_groups.column(key, weigh, scope).counts[: table.size].astype(np.int64)
