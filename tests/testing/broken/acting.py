"""Faults of everything else: what plugins change, raise, answer, promise, wait for and register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np
from attrs import define, field

from schedframe import (
    Action,
    ClusterEvent,
    Code,
    EventRegistration,
    EventResource,
    Handle,
    NodeInfo,
    Pod,
    QueuedPodInfo,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)

from .correct import NOTE, DiskByLabel, NotedOnly, OneOfAnApp, TwoAtATime
from .making import (
    ClosesOnce,
    ComparesByValue,
    ForgetsOneMark,
    NeedsMoreThanItGets,
    RefusesTooLate,
    RefusesVaguely,
    WantsKeywords,
    WantsToBeFirst,
    WrapsPostBind,
)
from .shortcuts import NO

# ---- changes ---------------------------------------------------------------------------------------------


@define(eq=False)
class LabelsThePod:
    @hookimpl
    def filter(self, pod: Pod) -> Status | None:
        pod.labels["seen"] = "yes"  # type: ignore[index]  # that it is wrong is the point
        return None


@define(eq=False)
class LabelsTheNode:
    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        node_info.node.metadata.labels.setdefault("scored", "yes")  # type: ignore[attr-defined]  # as above
        return 1


@define(eq=False)
class CountsInTheNodeInfo:
    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        node_info.requested["cpu"] = node_info.requested.get("cpu", 0) + 1
        return None


@define(eq=False)
class WritesIntoColumns:
    @hookimpl
    def filter_rows(self, rows: Rows) -> RowVerdicts | None:
        rows.table.allowed_pods[rows.index] += 1
        return None


# ---- exceptions and answers --------------------------------------------------------------------------------


@define(eq=False)
class RaisesWithoutLabel:
    @hookimpl
    def filter(self, pod: Pod) -> Status | None:
        return NO if pod.labels["app"] == "db" else None


@define(eq=False)
class RaisesWhileBinding:
    @hookimpl
    async def pre_bind(self, pod: Pod) -> None:
        raise RuntimeError(f"cannot prepare {pod.name}")


@define(eq=False)
class AnswersBool:
    @hookimpl
    def filter(self, node_info: NodeInfo) -> Any:
        return len(node_info.pods) < 2


@define(eq=False)
class AnswersFraction:
    @hookimpl
    def score(self, node_info: NodeInfo) -> Any:
        return len(node_info.pods) / 2


@define(eq=False)
class RejectsInPreScore:
    @hookimpl
    def pre_score(self) -> Status:
        return NO

    @hookimpl
    def score(self) -> int:
        return 1


@define(eq=False)
class TooFewCodes:
    @hookimpl
    def filter_rows(self, rows: Rows) -> RowVerdicts:
        return RowVerdicts(np.zeros(max(len(rows) - 1, 0), np.int8), ())


@define(eq=False)
class CodeWithoutStatus:
    @hookimpl
    def filter_rows(self, rows: Rows) -> RowVerdicts:
        return RowVerdicts(np.full(len(rows), 2, np.int8), (NO,))


# ---- reserve and what is shared --------------------------------------------------------------------------


@define(eq=False)
class GivesBackTwice:
    """unreserve gives back what was given back already."""

    taken: int = field(default=0, init=False)

    @hookimpl
    def reserve(self) -> Status | None:
        if self.taken >= 2:
            return NO
        self.taken += 1
        return None

    @hookimpl
    def unreserve(self) -> None:
        self.taken -= 1


@define(eq=False)
class NeedsReserveFirst(TwoAtATime):
    """unreserve fails for a pod that was not reserved."""

    @hookimpl
    def unreserve(self, pod: Pod) -> None:
        del self._promised[pod.uid]


@define(eq=False)
class NeverGivesBack:
    """unreserve forgets to undo; filter sees it."""

    taken: set[str] = field(factory=set, init=False)

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        return NO if node_info.name in self.taken else None

    @hookimpl
    def reserve(self, node_name: str) -> None:
        self.taken.add(node_name)

    @hookimpl
    def unreserve(self) -> None:
        return None


@define(eq=False)
class SharesThroughTheClass:
    taken: ClassVar[set[str]] = set()

    @hookimpl
    def reserve(self, pod: Pod) -> Status | None:
        if pod.uid in self.taken:
            return NO
        self.taken.add(pod.uid)
        return None

    @hookimpl
    def unreserve(self, pod: Pod) -> None:
        self.taken.discard(pod.uid)


_KNOWN: dict[tuple[str, str], bool] = {}


@define(eq=False)
class SharesThroughTheModule:
    """A cache for all clusters, under names that mean something else in each."""

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        full = _KNOWN.setdefault((pod.uid, node_info.name), len(node_info.pods) > 1)
        return NO if full else None


# ---- waiting, and the queue ------------------------------------------------------------------------------


@define(eq=False)
class WaitsForNoTime:
    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return Status.wait(0) if pod.labels else None


@define(eq=False)
class WaitsForAnHour:
    @hookimpl
    def permit(self) -> Status:
        return Status.wait(3600)


@define(eq=False)
class WaitsForEver:
    @hookimpl
    def pre_bind(self) -> Status:
        return Status.wait(float("inf"))


@define(eq=False)
class WaitsForNaN:
    """``Status.wait`` itself refuses that."""

    @hookimpl
    def pre_bind(self) -> Status:
        return Status(Code.WAIT, timeout=float("nan"))  # Status.wait refuses it


@define(eq=False)
class HintPassesOverDisks(DiskByLabel):
    """Only new nodes count, though labels of old ones may change."""

    @hookimpl
    def events_to_register(self) -> list[EventRegistration]:
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        pods = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL)
        return [EventRegistration(nodes, lambda pod, old, new: old is None), EventRegistration(pods)]


@define(eq=False)
class ForgetsPodsThatLeave(OneOfAnApp):
    """Pods that leave are not registered."""

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        pods = ClusterEvent(EventResource.POD, Action.UPDATE_POD_LABEL)
        return EventRegistration(pods), EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD))


@define(eq=False)
class GateStaysShut(NotedOnly):
    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        return ()


@define(eq=False)
class HintAnswersNone(NotedOnly):
    def noted(self, pod: Pod, old: Pod | None, new: Pod) -> Any:
        return None


@define(eq=False)
class HintRaises(NotedOnly):
    def noted(self, pod: Pod, old: Pod | None, new: Pod) -> bool:
        return new.metadata.annotations[NOTE] != ""


@define(eq=False)
class RegistersNames(OneOfAnApp):
    @hookimpl
    def events_to_register(self) -> Any:
        return ["Pod/Delete"]


@define(eq=False)
class NotStrict:
    @hookimpl
    def queue_sort_less(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
        return first.pod.priority >= second.pod.priority


@define(eq=False)
class KeysOfAllKinds:
    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> Any:
        return pod_info.pod.spec.priority


@define(eq=False)
class LooksAtTheTableWhileBinding:
    handle: Handle

    @hookimpl
    def pre_bind(self, node_name: str) -> Status | None:
        return None if self.handle.table.live_row(node_name) is not None else NO


@define(eq=False)
class TakesASnapshotWhileBinding:
    handle: Handle

    @hookimpl
    async def bind(self, node_name: str) -> Status | None:
        return None if self.handle.snapshot().get(node_name) is not None else NO


ACTING: Final[Sequence[tuple[Any, str]]] = (
    (LabelsThePod, "nothing_is_changed"),
    (LabelsTheNode, "nothing_is_changed"),
    (CountsInTheNodeInfo, "nothing_is_changed"),
    (WritesIntoColumns, "raises_nothing"),
    (RaisesWithoutLabel, "raises_nothing"),
    (RaisesWhileBinding, "raises_nothing"),
    (AnswersBool, "answers_are_valid"),
    (AnswersFraction, "answers_are_valid"),
    (RejectsInPreScore, "answers_are_valid"),
    (TooFewCodes, "answers_are_valid"),
    (CodeWithoutStatus, "answers_are_valid"),
    (GivesBackTwice, "unreserve_is_idempotent"),
    (NeedsReserveFirst, "unreserve_is_idempotent"),
    (NeverGivesBack, "unreserve_is_idempotent"),
    (SharesThroughTheClass, "instances_share_nothing"),
    (SharesThroughTheModule, "instances_share_nothing"),
    (WaitsForNoTime, "waits_are_valid"),
    (WaitsForAnHour, "waits_are_valid"),
    (WaitsForEver, "waits_are_valid"),
    (WaitsForNaN, "waits_are_valid"),
    (HintPassesOverDisks, "hints_miss_nothing"),
    (ForgetsPodsThatLeave, "hints_miss_nothing"),
    (GateStaysShut, "hints_miss_nothing"),
    (HintAnswersNone, "events_are_valid"),
    (HintRaises, "events_are_valid"),
    (RegistersNames, "events_are_valid"),
    (LooksAtTheTableWhileBinding, "binding_keeps_off_the_core"),
    (TakesASnapshotWhileBinding, "binding_keeps_off_the_core"),
    (NotStrict, "queue_order_is_strict"),
    (KeysOfAllKinds, "queue_order_is_strict"),
    (RefusesTooLate, "args_errors_have_paths"),
    (RefusesVaguely, "args_errors_have_paths"),
    (ComparesByValue, "can_be_registered"),
    (WantsKeywords, "can_be_registered"),
    (WrapsPostBind, "can_be_registered"),
    (WantsToBeFirst, "can_be_registered"),
    (ForgetsOneMark, "can_be_registered"),
    (NeedsMoreThanItGets, "can_be_registered"),
    (ClosesOnce, "close_is_idempotent"),
)
"""Plugin, and the check that is to find its fault."""

ALSO: Final[dict[Any, set[str]]] = {
    HintAnswersNone: {"hints_miss_nothing"},
}
"""Other checks that such a fault cannot but fail."""
