"""TaintToleration: filter by hard taints, score by PreferNoSchedule taints."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    Depends,
    EventRegistration,
    EventResource,
    HintReads,
    Node,
    NodeInfo,
    Normalization,
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)
from schedframe.api import find_untolerated_taint

from ._taints import (
    HARD_EFFECTS,
    TolerationSignature,
    count_untolerated,
    toleration_signature,
    untolerated_rows,
    untolerated_soft_taints,
)

ERR_REASON = "node(s) had untolerated taint(s)"
_STATUS = Status.unresolvable(ERR_REASON)
_PRE_SCORED: Final = StateKey[bool]("TaintToleration/pre_score")


@define(eq=False)
class TaintToleration:
    """Reject nodes with an untolerated NoSchedule or NoExecute taint; prefer few untolerated soft ones."""

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT
    normalization: ClassVar[Normalization] = Normalization.BY_MAX_REVERSED

    @hookimpl
    def pod_signature(self, pod: Pod) -> TolerationSignature:
        """Return the tolerations."""
        return toleration_signature(pod.spec)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Reject a node with a hard taint that the pod does not tolerate."""
        return _STATUS if _repels(node_info.node, pod) else None

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`, evaluated once for each distinct list of taints; O(rows)."""
        rejected = untolerated_rows(pod.spec, rows)
        return None if rejected is None else RowVerdicts.where(rejected, _STATUS)

    @hookimpl
    def pre_score(self, state: CycleState) -> None:
        """Record the call: as in the reference, a profile that scores taints must enable pre_score."""
        state.write(_PRE_SCORED, True)

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        """Return the number of PreferNoSchedule taints that are not tolerated."""
        state.read(_PRE_SCORED)
        return count_untolerated(node_info.node.spec.taints, pod.spec)

    @hookimpl
    def score_rows(self, state: CycleState, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows)."""
        state.read(_PRE_SCORED)
        return untolerated_soft_taints(pod.spec, rows)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register nodes that are added or lose a taint, and tolerations added to the pod."""
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)
        pods = ClusterEvent(EventResource.POD, Action.UPDATE_POD_TOLERATION)
        return (
            EventRegistration(nodes, node_tolerated, HintReads.CLASS),
            EventRegistration(pods, toleration_added, HintReads.CLASS),
        )


def _repels(node: Node, pod: Pod) -> bool:
    taints = node.spec.taints
    return bool(taints) and find_untolerated_taint(taints, pod.spec.tolerations, HARD_EFFECTS) is not None


def node_tolerated(pod: Pod, old: Node | None, new: Node) -> bool:
    """Hint: the pod tolerates the node, and did not before."""
    return not _repels(new, pod) and (old is None or _repels(old, pod))


def toleration_added(pod: Pod, old: Pod | None, new: Pod) -> bool:
    """Hint: the tolerations of the pod itself changed; the API allows additions only."""
    return new.uid == pod.uid
