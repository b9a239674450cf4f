"""The hooks of VolumeBinding: classify claims, filter nodes, assume volumes in reserve, bind in pre_bind."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import (
    Conflict,
    CycleState,
    EventRegistration,
    Handle,
    NodeInfo,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)
from schedframe.api import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    STORAGE_CLASS_BETA,
    ClusterObject,
)
from schedframe.framework import Report

from .._volumes import volumes_of
from .._volumes_csi_nodes import CsiNodes
from .._volumes_in_tree import MIGRATED_PLUGINS, migrated_plugins
from ..args import VolumeBindingArgs
from .binding import RESERVED, Reservation, Target, assume_volumes, bind, note_written
from .claims import CLAIMS, NO_CLAIMS, Storage
from .explain import COMPARED_VOLUMES, ComparedVolumes, explain_node, explain_pod
from .filtering import filter_node, filter_rows
from .hints import REGISTRATIONS
from .scoring import CapacityScore

_SKIP = Status.skip()


@define(eq=False)
class VolumeBinding:
    """Find nodes for the volumes of a pod.

    Bound claims need a node that can use their volumes. Claims that wait for their first consumer get an
    existing volume, or one that is provisioned. A pod without claims is skipped in O(1).
    """

    writes: ClassVar[tuple[str, ...]] = ("patch PersistentVolume", "patch PersistentVolumeClaim")
    reads_annotations: ClassVar[tuple[str, ...]] = (
        STORAGE_CLASS_BETA,
        BIND_COMPLETED,
        BOUND_BY_CONTROLLER,
        SELECTED_NODE,
        MIGRATED_PLUGINS,
    )
    returns_at_once: ClassVar[bool] = True

    args: VolumeBindingArgs
    handle: Handle
    _storage: Storage = field(init=False)
    _csi_nodes: CsiNodes = field(init=False)
    _score: CapacityScore | None = field(init=False, default=None)
    _report: Report[Any] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._storage = Storage.of(self.handle.objects)
        self._csi_nodes = CsiNodes.of(self.handle)
        self._report = self.handle.reporter(
            "VolumeBinding", lambda state, written: note_written(self._storage, written)
        )
        if self.args.shape is not None:
            self._score = CapacityScore(self.args.shape, self._storage.volumes)

    # ---- filter and score --------------------------------------------------------------------------------

    @hookimpl
    def skip_reads(self) -> Sequence[str]:
        """Nothing: only the pod and the arguments decide whether the plugin skips."""
        return ()

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        """Skip pods without claims; reject a pod with a claim that blocks every node."""
        volumes = volumes_of(pod.spec)
        if volumes is None or not volumes.claiming:
            state.write(CLAIMS, NO_CLAIMS)
            return _SKIP
        claims = self._storage.claims_of(pod, volumes)
        if isinstance(claims, Status):
            return claims
        state.write(CLAIMS, claims)
        return None

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        """Reject nodes where a volume cannot be used, bound or created; O(claims × log volumes)."""
        claims, node = state.read(CLAIMS), node_info.node
        if not node_info.has_node:
            return None
        return filter_node(claims, node, migrated_plugins(self.handle.objects.get("CSINode", node.name)))

    @hookimpl
    def filter_rows(self, state: CycleState, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`."""
        return filter_rows(state.read(CLAIMS), rows, self._csi_nodes)

    @hookimpl
    def explain(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> str | None:
        """Return the volume or claim that rejects the node, and what it needs that the node has not."""
        claims = state.get(CLAIMS)
        if claims is None or not node_info.has_node:
            return None
        compared = state.get(COMPARED_VOLUMES)
        if compared is None:
            compared = ComparedVolumes()
            state.write(COMPARED_VOLUMES, compared)
        migrated = migrated_plugins(self.handle.objects.get("CSINode", node_info.node.name))
        return explain_node(self._storage, compared, claims, pod, node_info.node, migrated)

    @hookimpl
    def explain_pod(self, pod: Pod) -> list[str]:
        """Return the claims that are not bound, and the labels of volumes that no node has."""
        return list(explain_pod(self._storage, pod, self.handle.table))

    @hookimpl
    def pre_score(self, state: CycleState) -> Status | None:
        """Skip unless the arguments ask for a score by capacity."""
        if self._score is None:
            return _SKIP
        state.read(CLAIMS)
        return None

    @hookimpl
    def score(self, state: CycleState, node_info: NodeInfo) -> int:
        """Return the score by storage capacity; 0 without a shape."""
        if self._score is None or not node_info.has_node:
            return 0
        return self._score.node(state.read(CLAIMS), node_info.labels)

    @hookimpl
    def score_rows(self, state: CycleState, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`."""
        if self._score is None:
            return np.zeros(len(rows), np.int64)
        return self._score.rows(state.read(CLAIMS), rows)

    # ---- reserve and bind --------------------------------------------------------------------------------

    @hookimpl
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Assume what the claims get on the node, so that other pods do not get the same."""
        claims = state.read(CLAIMS)
        if claims.all_bound:
            return None
        table = self.handle.table
        row = table.live_row(node_name)
        node = None if row is None else table.node_at(row)
        if node is None:
            return Status.from_error(f'node "{node_name}" is gone')
        reservation = Reservation()
        state.write(RESERVED, reservation)
        try:
            assume_volumes(reservation, claims, self._storage, pod, node)
        except Conflict as error:
            return Status.from_error(error)
        return None

    def reserved_objects(self) -> Sequence[ClusterObject]:
        """Return volumes and claims as they will be once the attempts under way are bound."""
        return [*self._storage.volumes.assumed.assumed(), *self._storage.claims.assumed()]

    @hookimpl
    def unreserve(self, state: CycleState, pod: Pod) -> None:
        """Release the assumptions that have not been written."""
        reservation = state.get(RESERVED)
        if reservation is not None:
            reservation.release(self._storage, pod.uid)

    @hookimpl
    def pre_bind_pre_flight(self, state: CycleState) -> Status | None:
        """Skip if everything is bound."""
        if state.get(RESERVED) is None:
            return _SKIP
        # Here and not in pre_bind, which runs off the core: what is written is to be written again after a
        # trial that takes it back.
        self._storage.volumes.assumed.save()
        self._storage.claims.save()
        return None

    @hookimpl
    def pre_bind(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Status | Awaitable[Status | None] | None:
        """Write the assumptions, then wait for the claims, at most ``bind_timeout_seconds``."""
        handle, timeout = self.handle, float(self.args.bind_timeout_seconds)
        target = Target(handle.cluster, pod, node_name, partial(self._report, state, pod))
        return bind(state.read(RESERVED), target, handle.clock(), timeout)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register storage objects that are added or updated, and nodes."""
        return REGISTRATIONS
