"""Taints that keep pods away, and those that merely put them off."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    Node,
    NodeInfo,
    Normalization,
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    find_untolerated_taint,
    hookimpl,
)

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
    """Every NoSchedule and NoExecute taint must be tolerated, PreferNoSchedule ones better are too."""

    row_local: ClassVar[bool] = True
    node_only: ClassVar[bool] = True
    normalization: ClassVar[Normalization] = Normalization.BY_MAX_REVERSED

    @hookimpl
    def pod_signature(self, pod: Pod) -> TolerationSignature:
        """The tolerations."""
        return toleration_signature(pod.spec)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Are all taints tolerated?"""
        node = node_info.node
        return _STATUS if node is not None and _keeps_away(node, pod) else None

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; each distinct list of taints meets each list of tolerations once. O(rows)."""
        rejected = untolerated_rows(pod.spec, rows)
        return None if rejected is None else RowVerdicts.where(rejected, _STATUS)

    @hookimpl
    def pre_score(self, state: CycleState) -> None:
        """Note that it ran: as in the reference, a profile that scores taints must not leave this out."""
        state.write(_PRE_SCORED, True)

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        """The number of PreferNoSchedule taints that are not tolerated."""
        state.read(_PRE_SCORED)
        node = node_info.node
        return 0 if node is None else count_untolerated(node.spec.taints, pod.spec)

    @hookimpl
    def score_rows(self, state: CycleState, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows)."""
        state.read(_PRE_SCORED)
        return untolerated_soft_taints(pod.spec, rows)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Nodes that come or lose a taint; tolerations that the pod gets."""
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)
        pods = ClusterEvent(EventResource.POD, Action.UPDATE_POD_TOLERATION)
        return (EventRegistration(nodes, node_tolerated), EventRegistration(pods, toleration_added))


def _keeps_away(node: Node, pod: Pod) -> bool:
    taints = node.spec.taints
    return bool(taints) and find_untolerated_taint(taints, pod.spec.tolerations, HARD_EFFECTS) is not None


def node_tolerated(pod: Pod, old: Node | None, new: Node) -> bool:
    """Hint: the pod tolerates the node, and did not before."""
    return not _keeps_away(new, pod) and (old is None or _keeps_away(old, pod))


def toleration_added(pod: Pod, old: Pod | None, new: Pod) -> bool:
    """Hint: any change of the waiting pod's own tolerations; they can only be added to."""
    return new.uid == pod.uid
