"""Plugins that keep the contract, different in kind: the kit has nothing to say about them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable
from typing import Any, ClassVar

import attrs
import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    Depends,
    EventRegistration,
    EventResource,
    Handle,
    Node,
    NodeInfo,
    Normalization,
    Pod,
    PreFilterResult,
    QueuedPodInfo,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)

from .shortcuts import NO, ByGroup, Prepared

Scores = npt.NDArray[np.int64]
ZONE = "topology.kubernetes.io/zone"
GPU = "example.com/gpu"
NOTE = "example.com/note"
NEVER = Status.unresolvable("never")


@frozen
class DiskArgs:
    """The disk and its score."""

    disk: str = field(default="ssd", validator=attrs.validators.min_len(1))
    worth: int = field(default=40, validator=[attrs.validators.ge(0), attrs.validators.le(100)])


@define(eq=False)
class DiskByLabel:
    """Both forms of both, by a label of the node."""

    args: DiskArgs
    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        return pod.labels.get("app")

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        wanted = pod.labels.get("app") == "db"
        return NEVER if wanted and node_info.labels.get("disk") != self.args.disk else None

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        if pod.labels.get("app") != "db":
            return None
        return RowVerdicts.where(~rows.table.label("disk").mask_of([self.args.disk], rows.index), NEVER)

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return self.args.worth if node_info.labels.get("disk") == self.args.disk else 0

    @hookimpl
    def score_rows(self, rows: Rows) -> Scores:
        return (
            rows.table.label("disk").mask_of([self.args.disk], rows.index).astype(np.int64) * self.args.worth
        )

    @hookimpl
    def events_to_register(self) -> list[EventRegistration]:
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        pods = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL)
        return [EventRegistration(nodes, self.disk_came), EventRegistration(pods)]

    def disk_came(self, pod: Pod, old: Node | None, new: Node) -> bool:
        return new.labels.get("disk") == self.args.disk


@define(eq=False)
class SpareDevices:
    """By columns alone, and by what pods leave free."""

    depends_on: ClassVar[Depends] = Depends.ROW

    @hookimpl
    def pod_signature(self, pod: Pod) -> int:
        return pod.requests.get(GPU, 0)

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        wanted = pod.requests.get(GPU, 0)
        if not wanted:
            return None
        free = rows.take(rows.table.allocatable(GPU)) - rows.take(rows.table.requested(GPU))
        return RowVerdicts.where(free < wanted, NO)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        pods = ClusterEvent(EventResource.POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN)
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)
        return EventRegistration(pods), EventRegistration(
            nodes, lambda pod, old, new: bool(pod.requests.get(GPU))
        )


@define(eq=False)
class OneOfAnApp:
    """Node by node, by the pods there."""

    depends_on: ClassVar[Depends] = Depends.ROW

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        return pod.namespace, pod.labels.get("app")

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        app = pod.labels.get("app")
        if app is None:
            return None
        others = (other for other in node_info.pods.values() if other.namespace == pod.namespace)
        return NO if any(other.labels.get("app") == app for other in others) else None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        pods = ClusterEvent(EventResource.POD, Action.DELETE | Action.UPDATE_POD_LABEL)
        return EventRegistration(pods), EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD))


@define(eq=False)
class NotedOnly:
    """A gate that an annotation opens."""

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Status | None:
        return None if NOTE in pod.metadata.annotations else NEVER

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        return (EventRegistration(ClusterEvent(EventResource.POD, Action.UPDATE), self.noted),)

    def noted(self, pod: Pod, old: Pod | None, new: Pod) -> bool:
        return new.uid == pod.uid and NOTE in new.metadata.annotations


@define(eq=False)
class TwoAtATime:
    """Promises made in reserve, and taken back."""

    _promised: dict[str, str] = field(factory=dict, init=False)

    @hookimpl
    def reserve(self, pod: Pod, node_name: str) -> Status | None:
        if len(self._promised) >= 2:
            return NO
        self._promised[pod.uid] = node_name
        return None

    @hookimpl
    def unreserve(self, pod: Pod) -> None:
        self._promised.pop(pod.uid, None)


@frozen
class PatienceArgs:
    seconds: float = field(default=5.0, validator=[attrs.validators.gt(0), attrs.validators.le(900)])


@define(eq=False)
class Patience:
    """Waits in permit; prepares the world asynchronously."""

    args: PatienceArgs
    handle: Handle

    @hookimpl
    def permit(self, pod: Pod, node_name: str) -> Status | None:
        there = self.handle.snapshot().get(node_name) is not None
        return Status.wait(self.args.seconds) if pod.priority and there else None

    @hookimpl
    def pre_bind_pre_flight(self, pod: Pod) -> Status | None:
        return None if pod.labels else Status.skip()

    @hookimpl
    async def pre_bind(self) -> Status | None:
        await asyncio.sleep(0)
        return None if self.handle.clock() >= 0 else Status.wait(5.0)


@define(eq=False)
class _Zones:
    pods: Counter[str]

    def clone(self) -> _Zones:
        return _Zones(self.pods.copy())


_ZONES = StateKey[_Zones]("AtMostTwoPerZone")


@define(eq=False)
class AtMostTwoPerZone:
    """Counts by zone in pre_filter, kept in step by add_pod and remove_pod; asks about every event."""

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | None:
        if "app" not in pod.labels:
            return Status.skip()
        state.write(
            _ZONES, _Zones(Counter(zone for info in nodes for zone in [_zone(info)] * len(info.pods)))
        )
        return None

    @hookimpl
    def add_pod(self, state: CycleState, node_info: NodeInfo) -> None:
        state.read(_ZONES).pods[_zone(node_info)] += 1

    @hookimpl
    def remove_pod(self, state: CycleState, node_info: NodeInfo) -> None:
        state.read(_ZONES).pods[_zone(node_info)] -= 1

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        return NO if state.read(_ZONES).pods[_zone(node_info)] >= 2 else None


def _zone(info: NodeInfo) -> str:
    return info.labels.get(ZONE, "")


@define(eq=False)
class PinnedByAnnotation:
    """Names the only nodes."""

    @hookimpl
    def pre_filter(self, pod: Pod) -> PreFilterResult | None:
        wanted = pod.metadata.annotations.get(NOTE)
        return PreFilterResult({"n0"} if wanted == "x" else {"n1", "n2"}) if wanted else None

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        wanted = pod.metadata.annotations.get(NOTE)
        nodes = {"x": {"n0"}, "y": {"n1", "n2"}}.get(wanted or "")
        return NEVER if nodes is not None and node_info.name not in nodes else None


@define(eq=False)
class ByPriorityThenName:
    """Sorts by a key."""

    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> tuple[int, str]:
        return -pod_info.pod.priority, pod_info.pod.name


@define(eq=False)
class ByAge:
    """Sorts by comparing."""

    @hookimpl
    def queue_sort_less(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
        return (first.timestamp, first.key) < (second.timestamp, second.key)


@define(eq=False)
class FewestPods:
    """Normalises by itself."""

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return len(node_info.pods)

    @hookimpl
    def normalize_scores(self, scores: Scores) -> Scores:
        highest = max(int(scores.max()), 1) if len(scores) else 1
        return 100 - scores * 100 // highest


@define(eq=False)
class MostPods:
    """Lets the framework normalise; by columns alone."""

    depends_on: ClassVar[Depends] = Depends.ROW
    normalization: ClassVar[Normalization] = Normalization.BY_MAX

    @hookimpl
    def pod_signature(self) -> Hashable:
        return ()

    @hookimpl
    def score_rows(self, rows: Rows) -> Scores:
        return rows.take(rows.table.pod_count).copy()


@define(eq=False)
class TeamOfNamespace:
    """Reads objects of another kind, and says so."""

    handle: Handle
    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT
    reads: ClassVar[tuple[str, ...]] = ("Namespace",)

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        return self._team(pod)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        return NEVER if self._team(pod) == "red" and node_info.labels.get("disk") != "ssd" else None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        return (
            EventRegistration(ClusterEvent("Namespace", Action.ALL)),
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
        )

    def _team(self, pod: Pod) -> str:
        namespace = self.handle.objects.get("Namespace", pod.namespace)
        return namespace.labels.get("team", "") if namespace is not None else ""


@define(eq=False)
class SaysWhy:
    """Explains itself, and closes."""

    _open: list[str] = field(factory=lambda: ["connection"], init=False)

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        return NO if node_info.node.spec.taints else None

    @hookimpl
    def explain(self, node_info: NodeInfo) -> str | None:
        return f"tainted {node_info.name}"

    @hookimpl
    def explain_pod(self, pod: Pod) -> list[str]:
        return [pod.key]

    @hookimpl
    def close(self) -> None:
        self._open.clear()


@define(eq=False)
class Caching:
    """Remembers what it found out, under what that depends on."""

    _known: dict[Any, int] = field(factory=dict, init=False)

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        question = (pod.labels.get("app"), node_info.labels.get("disk"))
        return self._known.setdefault(question, 10 if question == ("db", "ssd") else 3)


def made_by_a_function(args: Any, handle: Handle) -> Any:
    """A factory that is no class."""
    return DiskByLabel(DiskArgs("hdd"))


CORRECT: tuple[Any, ...] = (
    DiskByLabel,
    SpareDevices,
    OneOfAnApp,
    NotedOnly,
    TwoAtATime,
    Patience,
    AtMostTwoPerZone,
    PinnedByAnnotation,
    ByPriorityThenName,
    ByAge,
    FewestPods,
    MostPods,
    TeamOfNamespace,
    SaysWhy,
    Caching,
    Prepared,
    ByGroup,
    made_by_a_function,
)
