"""Faults of pre_filter, and of what follows the pods of a dry run."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final

from attrs import define

from schedframe import (
    CycleState,
    Depends,
    Handle,
    NodeInfo,
    Pod,
    PreFilterResult,
    Rows,
    StateKey,
    Status,
    hookimpl,
)

from .correct import NEVER, NOTE
from .shortcuts import NO


@define(eq=False)
class NamesTooFew:
    """pre_filter leaves nodes out that filter accepts."""

    @hookimpl
    def pre_filter(self, pod: Pod) -> PreFilterResult | None:
        return PreFilterResult({"n0"}) if pod.labels.get("app") == "db" else None

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        keep_off = pod.labels.get("app") == "db" and node_info.name not in ("n0", "n1")
        return NEVER if keep_off else None


@define(eq=False)
class SkipsTooMuch:
    """pre_filter says Skip for pods that filter has something against."""

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | None:
        return Status.skip() if not pod.labels else None

    @hookimpl
    def filter(self, pod: Pod) -> Status | None:
        return NEVER if NOTE in pod.metadata.annotations else None


_COUNT: Final = StateKey[dict[str, int]]("pods")


@define(eq=False)
class _Counting:
    @hookimpl
    def pre_filter(self, state: CycleState, nodes: Rows) -> None:
        state.write(_COUNT, {info.name: len(info.pods) for info in nodes})

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        return NO if state.read(_COUNT).get(node_info.name, 0) >= 2 else None


@define(eq=False)
class NotKeptInStep(_Counting):
    """Has neither add_pod nor remove_pod."""


@define(eq=False)
class ChangesWhatIsShared(_Counting):
    """The state has no clone(), so that a dry run changes the real one."""

    @hookimpl
    def add_pod(self, state: CycleState, node_info: NodeInfo) -> None:
        state.read(_COUNT)[node_info.name] += 1

    @hookimpl
    def remove_pod(self, state: CycleState, node_info: NodeInfo) -> None:
        state.read(_COUNT)[node_info.name] -= 1


class _Counts(dict[str, int]):
    def clone(self) -> _Counts:
        return _Counts(self)


@define(eq=False)
class RemovesTwice:
    """remove_pod takes away more than add_pod adds."""

    @hookimpl
    def pre_filter(self, state: CycleState, nodes: Rows) -> None:
        state.write(_COUNT, _Counts({info.name: len(info.pods) for info in nodes}))

    @hookimpl
    def add_pod(self, state: CycleState, node_info: NodeInfo) -> None:
        state.read(_COUNT)[node_info.name] += 1

    @hookimpl
    def remove_pod(self, state: CycleState, node_info: NodeInfo) -> None:
        state.read(_COUNT)[node_info.name] -= 2

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        return NO if state.read(_COUNT).get(node_info.name, 0) >= 2 else None


@define(eq=False)
class NeedsTheTable:
    """Its per-node form looks at the live node instead of the node info it is given."""

    handle: Handle

    @hookimpl
    def pre_filter(self) -> None:
        return None

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        row = self.handle.table.live_row(node_info.name)
        return NO if row is not None and len(self.handle.table.pods_at(row)) > 1 else None


_ROOM: Final = StateKey[dict[str, int]]("FullCluster")


@define(eq=False)
class FullCluster:
    """Says that other rows play no role, and rejects all nodes once there are many pods on them."""

    depends_on: ClassVar[Depends] = Depends.ROW
    MOST: ClassVar[int] = 8

    @hookimpl
    def pod_signature(self) -> Hashable:
        return ()

    @hookimpl
    def pre_filter(self, state: CycleState, nodes: Rows) -> None:
        state.write(_ROOM, {"all": sum(len(info.pods) for info in nodes)})

    @hookimpl
    def filter(self, state: CycleState) -> Status | None:
        return NO if state.read(_ROOM)["all"] > self.MOST else None
