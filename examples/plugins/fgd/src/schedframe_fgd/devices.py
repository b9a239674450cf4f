"""How much of every GPU of every node is free, whoever placed the pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import Handle, Node, NodeInfo, Pod, RowFollower

from .args import DEVICE, FGDArgs

Ints = npt.NDArray[np.int64]
Chosen = dict[str, tuple[int, ...]]
"""Uid → devices, of pods that were given some and do not carry the annotation yet (or that of an earlier
attempt)."""

_CHOSEN: Final = object()  # key in the memo of the objects: one for all profiles


def chosen_in(handle: Handle) -> Chosen:
    """The choices of this scheduler, shared by all profiles."""
    found: Chosen = handle.objects.memo.setdefault(_CHOSEN, {})
    return found


def written(devices: Iterable[int]) -> str:
    """The annotation's text for *devices*."""
    return "-".join(map(str, devices))


def read(text: str) -> tuple[int, ...] | None:
    """The devices of an annotation; ``None`` for what is none."""
    parts = text.split("-")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else None


def free_on(node: Node | None, pods: Iterable[Pod], args: FGDArgs, chosen: Mapping[str, Any]) -> list[int]:
    """Free thousandths of each device of *node* with *pods* on it; O(pods).

    A pod of which nobody knows the devices (placed by another scheduler, or supposed to be there) counts on
    the fullest device that has room for it, whole ones on idle devices.
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
    """The devices of a pod on a node, ``None`` if they are not known."""
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
    """The free thousandths of all devices of a table in one array, kept in step with it."""

    handle: Handle
    args: FGDArgs
    chosen: Chosen = field(init=False)
    _free: Ints = field(factory=lambda: np.zeros((0, 1), np.int64), init=False)
    _follower: RowFollower | None = field(default=None, init=False)
    _waiting: dict[int, set[str]] = field(factory=dict, init=False)
    """Row → uids there whose devices are known from ``chosen`` alone."""

    def __attrs_post_init__(self) -> None:
        self.chosen = chosen_in(self.handle)

    def free(self) -> Ints:
        """int64, shape ``(capacity, most devices of a node)``, 0 where there is no device.

        O(pods of the rows that changed since the last call). Not to be changed.
        """
        table = self.handle.table
        if self._follower is None or self._follower.table is not table:
            self._follower = RowFollower(table)
        rows = self._follower.changed()
        if rows:
            if len(self._free) < table.capacity:
                self._widen(table.capacity, self._free.shape[1])
            for row in rows:
                self._read(row)
        return self._free

    def of(self, info: NodeInfo) -> Ints:
        """The same for one node alone, which may be one of a dry run: shape ``(1, devices)``."""
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
        """Drop the choices of pods that carry them now, or are gone from the row."""
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
