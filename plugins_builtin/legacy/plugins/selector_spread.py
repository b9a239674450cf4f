"""SelectorSpread: spread the pods of a service or controller over nodes and zones.

Until v1.18 the priority SelectorSpreadPriority, then the plugin DefaultPodTopologySpread.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from plugins_builtin._matching_pods import count_column, count_on
from plugins_builtin._workload_selector import WorkloadSelectors
from schedframe import (
    MAX_SCORE,
    SKIP,
    CycleState,
    Handle,
    Node,
    NodeInfo,
    NodeTable,
    Pod,
    Rows,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import CompiledSelector
from schedframe.state import DictionaryColumn, zone_of

ZONE_WEIGHTING: Final = 2.0 / 3.0
"""Share of the zone in the score of a node with a zone; the node itself has the rest."""

_SELECTOR: Final = StateKey[CompiledSelector | None]("SelectorSpread/pre_score")
_ZONES: Final = "region and zone, unless both are empty"


@define(eq=False)
class SelectorSpread:
    """Score nodes higher the fewer pods of the same workload they and their zones have.

    Pods with topology spread constraints are skipped. For a pod without services and controller all nodes
    score the same. Source of the formula: the reference's selectorspread/selector_spread.go (v1.19; the
    same as SelectorSpreadPriority and DefaultPodTopologySpread before it).
    """

    handle: Handle
    _workloads: WorkloadSelectors = field(init=False)

    reads: ClassVar[tuple[str, ...]] = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")

    def __attrs_post_init__(self) -> None:
        self._workloads = WorkloadSelectors(self.handle.objects)

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod) -> Status | None:
        """Look up the selector of the workload; Skip a pod with topology spread constraints."""
        if pod.spec.topology_spread_constraints:
            return SKIP
        state.write(_SELECTOR, self._workloads.selector_of(pod))
        return None

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        """Return the number of pods of the workload on the node."""
        selector = state.read(_SELECTOR)
        return 0 if selector is None else count_on(node_info, self.handle.table, pod.namespace, selector)

    @hookimpl
    def score_rows(self, state: CycleState, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows)."""
        selector = state.read(_SELECTOR)
        if selector is None:
            return np.zeros(len(rows), np.int64)
        counts = rows.take(count_column(rows.table, pod.namespace, selector).counts)
        return counts.astype(np.int64)

    @hookimpl
    def normalize_scores(self, scores: npt.NDArray[np.int64], nodes: Rows) -> npt.NDArray[np.int64]:
        """Scale to 100 for no pods, 0 for the most; two thirds by zone on nodes with one. O(rows)."""
        normalized = _reversed(scores, int(scores.max()) if len(scores) else 0)
        zones = zones_of(nodes.table)
        codes = nodes.take(zones.codes)
        zoned = codes >= 0
        if zoned.any():
            counts = np.bincount(codes[zoned], scores[zoned], len(zones.values)).astype(np.int64)
            of_zone = _reversed(counts, int(counts.max()))
            blended = normalized[zoned] * (1.0 - ZONE_WEIGHTING) + ZONE_WEIGHTING * of_zone[codes[zoned]]
            normalized[zoned] = blended
        return normalized.astype(np.int64)


def _reversed(counts: npt.NDArray[np.int64], highest: int) -> npt.NDArray[np.float64]:
    """Return 100 for a count of 0 and 0 for the highest; 100 for all if the highest is 0."""
    if highest <= 0:
        return np.full(len(counts), float(MAX_SCORE))
    return float(MAX_SCORE) * ((highest - counts) / float(highest))


def zones_of(table: NodeTable) -> DictionaryColumn[tuple[str, str]]:
    """Return the column of region and zone of each node; absent if a node has neither."""
    return table.distinct(_ZONES, _zone)


def _zone(node: Node) -> tuple[str, str] | None:
    zone = zone_of(node)
    return zone if any(zone) else None
