"""FGD: shares GPUs, and places each task where it causes the least fragmentation of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from math import ceil, log
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field

from schedframe import (
    MAX_SCORE,
    Action,
    ClusterEvent,
    Depends,
    EventRegistration,
    EventResource,
    Handle,
    Node,
    NodeInfo,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)

from .args import DEVICE, EMPTIEST, FRAGMENTATION, FULLEST, FGDArgs
from .devices import Devices, written
from .measure import Workload, compile_workload, gains

NO_DEVICE: Final = "no GPU has enough left"
NOT_IDLE: Final = "too few idle GPUs"
ODD_REQUEST: Final = "asks for more than one GPU, but not for whole ones"
_NO_DEVICE = Status.unschedulable(NO_DEVICE)
_NOT_IDLE = Status.unschedulable(NOT_IDLE)
_ODD_REQUEST = Status.unresolvable(ODD_REQUEST)

Ints = npt.NDArray[np.int64]


def thresholds(total: int, scale: int) -> list[int]:
    """Return the smallest gains with the scores 1, 2, … 99 of 100 × sigmoid(gain / total / scale).

    Integers, so that a gain has the same score on every platform.
    """
    steps = range(1, MAX_SCORE)
    return [ceil(total * scale * log(score / (MAX_SCORE - score))) for score in steps]


@define(eq=False)
class FGD:
    """Filter by single devices, score by the change of fragmentation, and reserve the device.

    The devices of pods are read from their annotation, which pre_bind writes.
    """

    args: FGDArgs
    handle: Handle
    devices: Devices = field(init=False)
    workload: Workload = field(init=False)
    _thresholds: list[int] = field(init=False)
    _threshold_array: Ints = field(init=False)
    _model_key: Hashable = field(factory=object, init=False)

    depends_on: ClassVar[Depends] = Depends.ROW

    def __attrs_post_init__(self) -> None:
        self.devices = Devices(self.handle, self.args)
        self.workload = compile_workload(self.args.tasks)
        self._thresholds = thresholds(self.workload.total, self.args.scale)
        self._threshold_array = np.array(self._thresholds, np.int64)

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return the requests of CPU and GPUs."""
        return self._request(pod)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register pods that release GPUs, nodes that gain GPUs, and lower requests of the pod itself."""
        node = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE
        pod = Action.DELETE | Action.UPDATE
        own = ClusterEvent(EventResource.UNSCHEDULABLE_POD, Action.UPDATE_POD_SCALE_DOWN)
        return (
            EventRegistration(own),
            EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, pod), self._releases_gpu),
            EventRegistration(ClusterEvent(EventResource.NODE, node), self._has_devices),
        )

    # ---- filter ------------------------------------------------------------------------------------------

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Reject a node without a device, or enough idle devices, for the pod; O(pods of the node)."""
        request = self._gpu(pod)
        if not request:
            return None
        if request > DEVICE and request % DEVICE:
            return _ODD_REQUEST
        free = self.devices.of(node_info)
        if request < DEVICE:
            return None if free.max() >= request else _NO_DEVICE
        return None if (free == DEVICE).sum() >= request // DEVICE else _NOT_IDLE

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(rows × devices)."""
        request = self._gpu(pod)
        if not request:
            return None
        if request > DEVICE and request % DEVICE:
            return RowVerdicts.where(np.ones(len(rows), np.bool_), _ODD_REQUEST)
        free = self.devices.free()[rows.index]
        if request < DEVICE:
            lacking, status = free.max(1) < request, _NO_DEVICE
        else:
            lacking, status = (free == DEVICE).sum(1) < request // DEVICE, _NOT_IDLE
        return RowVerdicts.where(lacking, status) if lacking.any() else None

    @hookimpl
    def explain(self, pod: Pod, node_info: NodeInfo) -> str | None:
        """Return the request and the free thousandths by device."""
        free = self.devices.of(node_info)[0].tolist()
        return f"asks for {self._gpu(pod)}, free by device: {', '.join(map(str, free))}"

    # ---- score -------------------------------------------------------------------------------------------

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        """Return 50 for unchanged fragmentation, more if it falls; O(pods of the node + groups)."""
        cpu = node_info.allocatable.get("cpu", 0) - node_info.requested.get("cpu", 0)
        best = self._gains(pod, self.devices.of(node_info), cpu, node_info.node)
        return bisect_right(self._thresholds, int(best.max()))

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> Ints:
        """As :meth:`score`; O(rows × devices × groups)."""
        table = rows.table
        column = table.label(self.args.model_label)
        numbers = column.answers(self._model_key, self.workload.model, len(self.workload.models), np.int64)
        cpu = rows.take(table.allocatable("cpu")) - rows.take(table.requested("cpu"))
        free = self.devices.free()[rows.index]
        by_device = gains(self.workload, free, cpu, column.take(numbers, rows.index), self._request(pod))
        scores: Ints = np.searchsorted(self._threshold_array, by_device.max(1), "right")
        return scores

    def _gains(self, pod: Pod, free: Ints, cpu: int, node: Node | None) -> Ints:
        name = node.labels.get(self.args.model_label) if node is not None else None
        model = np.array([self.workload.model(name)], np.int64)
        return gains(self.workload, free, np.array([cpu], np.int64), model, self._request(pod))

    # ---- the chosen node ---------------------------------------------------------------------------------

    @hookimpl
    def reserve(self, pod: Pod, node_name: str) -> Status | None:
        """Choose the devices; O(pods of the node)."""
        request = self._gpu(pod)
        if not request:
            return None
        table = self.handle.table
        row = table.live_row(node_name)
        if row is None:
            return _NO_DEVICE
        devices = self._choose(pod, self._without(pod, row), request)
        if devices is None:
            return _NO_DEVICE if request < DEVICE else _NOT_IDLE
        self.devices.chosen[pod.uid] = devices
        return None

    def _without(self, pod: Pod, row: int) -> NodeInfo:
        """Return the node without *pod*, which is assumed there already."""
        info = self.handle.table.info(row).clone()
        if pod.uid in info.pods:
            info.remove_pod(info.pods[pod.uid])
        return info

    def _choose(self, pod: Pod, info: NodeInfo, request: int) -> tuple[int, ...] | None:
        free = self.devices.of(info)
        room: list[int] = free[0].tolist()
        if request >= DEVICE:
            idle = [device for device, left in enumerate(room) if left == DEVICE]
            number = request // DEVICE
            return tuple(idle[:number]) if len(idle) >= number else None
        fitting = [device for device, left in enumerate(room) if left >= request]
        if not fitting:
            return None
        choice = self.args.device_choice
        if choice == FRAGMENTATION:
            cpu = info.allocatable.get("cpu", 0) - info.requested.get("cpu", 0)
            gain = self._gains(pod, free, cpu, info.node)[0].tolist()
            return (min(fitting, key=lambda device: (-gain[device], room[device], device)),)
        if choice == FULLEST:
            return (min(fitting, key=lambda device: (room[device], device)),)
        if choice == EMPTIEST:
            return (min(fitting, key=lambda device: (-room[device], device)),)
        return (fitting[0],)

    @hookimpl
    def unreserve(self, pod: Pod) -> None:
        """Drop the choice."""
        self.devices.chosen.pop(pod.uid, None)

    @hookimpl
    def pre_bind_pre_flight(self, pod: Pod) -> Status | None:
        """Skip a pod without GPUs."""
        return None if self._gpu(pod) else Status.skip()

    @hookimpl
    def pre_bind(self, pod: Pod) -> None:
        """Write the devices into the pod's annotation, for the node and for a restarted scheduler."""
        cluster = self.handle.cluster
        current: Pod | None = cluster.get("Pod", pod.key)
        devices = self.devices.chosen.get(pod.uid)
        if current is None or devices is None:
            return  # the pod was deleted, so bind will fail
        annotations = {**current.metadata.annotations, self.args.annotation: written(devices)}
        cluster.update(evolve(current, metadata=evolve(current.metadata, annotations=annotations)))

    # ---- helpers -----------------------------------------------------------------------------------------

    def _gpu(self, pod: Pod) -> int:
        return pod.requests.get(self.args.resource, 0)

    def _request(self, pod: Pod) -> tuple[int, int]:
        return pod.requests.get("cpu", 0), self._gpu(pod)

    def _releases_gpu(self, pod: Pod, old: Pod, new: Pod | None) -> bool:
        return bool(self._gpu(old))

    def _has_devices(self, pod: Pod, old: Node | None, new: Node) -> bool:
        return new.allocatable.get(self.args.resource, 0) >= self._gpu(pod)
