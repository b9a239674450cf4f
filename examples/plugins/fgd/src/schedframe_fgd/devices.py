"""Free capacity of every GPU of every node, independent of the scheduler that placed the pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import Handle, Node, NodeInfo, Pod
from schedframe.state import RowChangeReader

from .args import DEVICE, FGDArgs

Ints = npt.NDArray[np.int64]
Chosen = dict[str, tuple[int, ...]]
"""Uid → devices of pods whose annotation does not show their current devices yet."""

_CHOSEN: Final = object()  # key in the memo of the objects: one for all profiles


def chosen_in(handle: Handle) -> Chosen:
    """Return the choices of this scheduler, shared by all profiles."""
    chosen: Chosen = handle.objects.memo.setdefault(_CHOSEN, {})
    return chosen


def written(devices: Iterable[int]) -> str:
    """Return the text of the annotation for *devices*."""
    return "-".join(map(str, devices))


def read(text: str) -> tuple[int, ...] | None:
    """Return the devices of an annotation; ``None`` if *text* is invalid."""
    parts = text.split("-")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else None


def free_on(node: Node | None, pods: Iterable[Pod], args: FGDArgs, chosen: Mapping[str, Any]) -> list[int]:
    """Return the free thousandths of each device of *node* with *pods* on it; O(pods).

    A pod with unknown devices (placed by another scheduler, or hypothetical) counts on the fullest device
    that has room for it; whole GPUs count on idle devices.
    """
    count = node.allocatable.get(args.resource, 0) // DEVICE if node is not None else 0
    free = [DEVICE] * count
    unknown: list[int] = []
    for pod in pods:
        request = pod.requests.get(args.resource, 0)
        if not request or not free:
            continue
        devices = devices_of(pod, args, chosen)
        if devices is None or any(device >= count for device in devices):
            unknown.append(request)
        else:
            part = min(request, DEVICE)
            for device in devices:
                free[device] = max(0, free[device] - part)
    for request in unknown:
        _take(free, request)
    return free


def devices_of(pod: Pod, args: FGDArgs, chosen: Mapping[str, tuple[int, ...]]) -> tuple[int, ...] | None:
    """Return the devices of a pod on a node; ``None`` if they are unknown."""
    devices = chosen.get(pod.uid)
    if devices is None:
        text = pod.metadata.annotations.get(args.annotation)
        devices = read(text) if text is not None else None
    return devices


def _take(free: list[int], request: int) -> None:
    while request > 0:
        part = min(request, DEVICE)
        fitting = [(room, device) for device, room in enumerate(free) if room >= part]
        device = min(fitting)[1] if fitting else free.index(max(free))
        free[device] = max(0, free[device] - part)
        request -= part


@define(eq=False)
class Devices:
    """Free thousandths of all devices of a table in one array that follows its changes."""

    handle: Handle
    args: FGDArgs
    chosen: Chosen = field(init=False)
    _free: Ints = field(factory=lambda: np.zeros((0, 1), np.int64), init=False)
    _follower: RowChangeReader | None = field(default=None, init=False)
    _waiting: dict[int, set[str]] = field(factory=dict, init=False)
    """Row → uids on it whose devices only ``chosen`` knows."""

    def __attrs_post_init__(self) -> None:
        self.chosen = chosen_in(self.handle)

    def free(self) -> Ints:
        """Return free thousandths, int64, shape ``(capacity, devices)``, 0 for no device; read-only.

        O(pods of the rows that changed since the last call).
        """
        table = self.handle.table
        if self._follower is None or self._follower.table is not table:
            self._follower = RowChangeReader(table)
        rows = self._follower.changed()
        if rows:
            if len(self._free) < table.capacity:
                self._widen(table.capacity, self._free.shape[1])
            for row in rows:
                self._read(row)
        return self._free

    def of(self, info: NodeInfo) -> Ints:
        """As :meth:`free`, for one node, which may be that of a dry run; shape ``(1, devices)``."""
        free = free_on(info.node, info.pods.values(), self.args, self.chosen)
        return np.array([free or [0]], np.int64)

    def _read(self, row: int) -> None:
        table = self.handle.table
        pods = table.pods_at(row)
        free = free_on(table.node_at(row), pods.values(), self.args, self.chosen)
        if len(free) > self._free.shape[1]:
            self._widen(len(self._free), len(free))
        self._free[row] = 0
        self._free[row, : len(free)] = free
        self._forget_written(row, pods)

    def _forget_written(self, row: int, pods: Mapping[str, Pod]) -> None:
        """Drop the choices of pods whose annotation shows them, and of pods that left the row."""
        chosen, annotation = self.chosen, self.args.annotation
        before = self._waiting.pop(row, ())
        for uid in before:
            pod = pods.get(uid)
            if pod is None or pod.metadata.annotations.get(annotation) == written(chosen.get(uid, ())):
                chosen.pop(uid, None)
        waiting = {uid for uid in pods if uid in chosen} if chosen else set()
        if waiting:
            self._waiting[row] = waiting

    def _widen(self, rows: int, devices: int) -> None:
        wider = np.zeros((rows, devices), np.int64)
        wider[: self._free.shape[0], : self._free.shape[1]] = self._free
        self._free = wider
