"""NodeLabel: nodes must have some labels and must not have others, whatever their values."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import (
    MAX_SCORE,
    Action,
    ClusterEvent,
    Depends,
    EventRegistration,
    EventResource,
    HintReads,
    Node,
    NodeInfo,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)

from .args import NodeLabelArgs

ERR_REASON: Final = "node(s) didn't have the requested labels"
_STATUS: Final = Status.unresolvable(ERR_REASON)


@define(eq=False)
class NodeLabel:
    """Apply the labels of the arguments, the same for every pod.

    The score is the mean over the preferences: 100 for one that the node satisfies, else 0.
    """

    args: NodeLabelArgs

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return a constant: the pod does not matter."""
        return ()

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        """Reject a node without a label that must be there, or with one that must not; O(labels)."""
        return None if self._satisfies(node_info.node) else _STATUS

    @hookimpl
    def filter_rows(self, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(rows) for each label."""
        rejected = np.zeros(len(rows), np.bool_)
        for label in self.args.present_labels:
            rejected |= ~_has(rows, label)
        for label in self.args.absent_labels:
            rejected |= _has(rows, label)
        return RowVerdicts.where(rejected, _STATUS) if rejected.any() else None

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        """Return the mean over the preferences, 0 without any; O(labels)."""
        labels, args = node_info.node.labels, self.args
        satisfied = sum(label in labels for label in args.present_labels_preference)
        satisfied += sum(label not in labels for label in args.absent_labels_preference)
        return MAX_SCORE * satisfied // self._preferences if satisfied else 0

    @hookimpl
    def score_rows(self, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows) for each label."""
        satisfied = np.zeros(len(rows), np.int64)
        for label in self.args.present_labels_preference:
            satisfied += _has(rows, label)
        for label in self.args.absent_labels_preference:
            satisfied += ~_has(rows, label)
        return MAX_SCORE * satisfied // max(self._preferences, 1)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register nodes that are added, or whose labels change."""
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return (EventRegistration(nodes, self._node_satisfies, HintReads.EVENT),)

    @property
    def _preferences(self) -> int:
        return len(self.args.present_labels_preference) + len(self.args.absent_labels_preference)

    def _satisfies(self, node: Node) -> bool:
        labels, args = node.labels, self.args
        return all(label in labels for label in args.present_labels) and not any(
            label in labels for label in args.absent_labels
        )

    def _node_satisfies(self, pod: Pod, old: Node | None, new: Node) -> bool:
        """Hint: the node has the labels, and had not before."""
        return self._satisfies(new) and (old is None or not self._satisfies(old))


def _has(rows: Rows, label: str) -> npt.NDArray[np.bool_]:
    present: npt.NDArray[np.bool_] = rows.take(rows.table.label(label).codes) >= 0
    return present
