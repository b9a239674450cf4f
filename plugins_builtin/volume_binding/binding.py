"""Reserve and pre_bind: assume the decisions about claims, write them, and wait until the claims are bound.

Assumptions are made and released in the core; writes and checks run in any thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from attrs import define, field, frozen

from schedframe import (
    Action,
    ClusterEvent,
    ClusterPort,
    EventResource,
    InputError,
    Node,
    Pod,
    StateKey,
    Status,
)
from schedframe.api import SELECTED_NODE, PersistentVolume, PersistentVolumeClaim
from schedframe.queue import EventOf

from .._volumes_in_tree import migrated_plugins, plugin_of, translated_affinity
from .assumed import Assumption, NodeSelection, T, VolumeReservation, version_of
from .claims import PodClaims, Storage
from .filtering import assign_claims
from .volumes import labels_selector, reaches, selector_of

_CLAIM: Final = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.ALL)
_VOLUME: Final = ClusterEvent(EventResource.PERSISTENT_VOLUME, Action.ALL)
_NODE: Final = ClusterEvent(EventResource.NODE, Action.DELETE | Action.UPDATE_NODE_LABEL)
_CSI_NODE: Final = ClusterEvent(EventResource.CSI_NODE, Action.ALL)


@frozen
class StaticBinding:
    """A claim, and the volume that it gets."""

    claim: PersistentVolumeClaim
    volume_name: str
    assumption: Assumption[PersistentVolume] | None
    """``None`` if the volume refers to the claim already."""


@frozen
class Provisioning:
    """A claim whose volume is to be provisioned for the node."""

    claim: PersistentVolumeClaim
    assumption: Assumption[PersistentVolumeClaim] | None
    """``None`` if the claim names the node already."""


@define(eq=False)
class Reservation:
    """The assumptions that one attempt holds."""

    bindings: list[StaticBinding] = field(factory=list)
    provisionings: list[Provisioning] = field(factory=list)
    deadline: float | None = None
    """Seconds of the clock; set at the first write."""

    def release(self, storage: Storage, holder: str) -> None:
        """Release all assumptions that have not been written; idempotent."""
        for binding in self.bindings:
            storage.volumes.assumed.release(binding.volume_name, holder)
        for provisioning in self.provisionings:
            storage.claims.release(provisioning.claim.key, holder)

    def assumptions(self) -> Iterator[Assumption[PersistentVolume] | Assumption[PersistentVolumeClaim]]:
        """Iterate over the changes to write, volumes first."""
        for binding in self.bindings:
            if binding.assumption is not None:
                yield binding.assumption
        for provisioning in self.provisionings:
            if provisioning.assumption is not None:
                yield provisioning.assumption


RESERVED: StateKey[Reservation] = StateKey("VolumeBinding/reserve")


def assume_volumes(
    reservation: Reservation, claims: PodClaims, storage: Storage, pod: Pod, node: Node
) -> None:
    """Assume what the claims of *pod* get on *node*. Core only.

    Raises :class:`Conflict` if something is assumed for another claim; earlier assumptions stay in
    *reservation*.
    """
    bindings, requests = assign_claims(claims, node.labels)
    assumed = set()
    for claim, name in bindings:
        # A pod may name one claim twice; the claim still gets one volume.
        if claim.key not in assumed:
            assumed.add(claim.key)
            assumption = storage.volumes.assumed.assume(name, pod.uid, VolumeReservation(claim))
            reservation.bindings.append(StaticBinding(claim, name, assumption))
    for request in requests:
        claim = request.claim
        if claim.key not in assumed:
            assumed.add(claim.key)
            annotation = storage.claims.assume(claim.key, pod.uid, NodeSelection(node.name))
            reservation.provisionings.append(Provisioning(claim, annotation))


@frozen(eq=False)
class Target:
    """Binding of the volumes of a pod."""

    cluster: ClusterPort
    pod: Pod
    node_name: str
    report: Callable[[Any], object]
    """Called with each object that was written, for the core."""


def bind(
    reservation: Reservation, target: Target, now: float, timeout: float
) -> Status | Awaitable[Status | None] | None:
    """Write the assumptions, then check whether the claims are bound. Any thread; called until they are.

    Return ``None`` if all claims are bound, Wait while they are not, and an error if they cannot be bound or
    the deadline has passed; an awaitable of the same while a write is under way on the thread of the
    cluster's loop. Raises what the cluster raises.
    """
    if reservation.deadline is None:
        reservation.deadline = now + timeout
    for assumption in reservation.assumptions():
        writing = assumption.write(target.cluster, target.report)
        if writing is not None:
            return _after(writing, lambda: bind(reservation, target, now, timeout))
    return _checked(reservation, _Check(target.cluster, target.pod, target.node_name), now)


async def _after(
    writing: Awaitable[None], following: Callable[[], Status | Awaitable[Status | None] | None]
) -> Status | None:
    await writing
    outcome = following()
    return outcome if outcome is None or isinstance(outcome, Status) else await outcome


def _checked(reservation: Reservation, check: _Check, now: float) -> Status | None:
    outcome = check.run(reservation)
    if outcome is None:
        return None
    if outcome:
        return Status.from_error(f"binding volumes: {outcome}")
    assert reservation.deadline is not None  # set before the first write
    if now >= reservation.deadline:
        return Status.from_error("binding volumes: context deadline exceeded")
    return Status.wait(reservation.deadline - now, events=check.events)


_NOT_YET: Final = ""


@define(eq=False)
class _Check:
    """Check whether the claims are bound.

    Reads the cluster itself, because the state of the core may be older than the writes of this attempt.
    Each method returns ``None`` if bound, ``_NOT_YET``, or why binding has failed.
    """

    cluster: ClusterPort
    pod: Pod
    node_name: str
    events: list[EventOf] = field(factory=list)
    """Events that may change the result."""

    def run(self, reservation: Reservation) -> str | None:
        """Check the node, the pod and all claims."""
        self.events += (EventOf(_NODE, self.node_name), EventOf(_CSI_NODE, self.node_name))
        node: Node | None = self.cluster.get("Node", self.node_name)
        if node is None:
            return f'failed to get node "{self.node_name}"'
        current: Pod | None = self.cluster.get("Pod", self.pod.key)
        if current is None or current.uid != self.pod.uid:
            return "pod does not exist any more"
        for binding in reservation.bindings:
            outcome = self._bound(binding, node)
            if outcome is not None:
                return outcome
        for provisioning in reservation.provisionings:
            outcome = self._provisioned(provisioning, node)
            if outcome is not None:
                return outcome
        return None

    def _bound(self, binding: StaticBinding, node: Node) -> str | None:
        volume = self._volume(binding.volume_name, _written(binding.assumption))
        if volume is None:
            return f'persistentvolume "{binding.volume_name}" is gone'
        claim = self._claim(binding.claim)
        if isinstance(claim, str):
            return claim
        if _is_older(volume, binding.assumption):
            return _NOT_YET
        problem = self._access_problem(volume, node)
        if problem:
            return problem
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            return f'ClaimRef got reset for pv "{volume.name}"'
        return None if claim.is_fully_bound else _NOT_YET

    def _provisioned(self, provisioning: Provisioning, node: Node) -> str | None:
        claim = self._claim(provisioning.claim, _written(provisioning.assumption))
        if isinstance(claim, str):
            return claim
        if _is_older(claim, provisioning.assumption):
            return _NOT_YET
        if claim.metadata.annotations.get(SELECTED_NODE) != self.node_name:
            # A provisioner that fails removes the annotation.
            return f'provisioning failed for PVC "{claim.name}"'
        if claim.spec.volume_name:
            volume = self._volume(claim.spec.volume_name)
            if volume is None:
                return _NOT_YET
            problem = self._access_problem(volume, node)
            if problem:
                return problem
        return None if claim.is_fully_bound else _NOT_YET

    def _volume(self, name: str, written: PersistentVolume | None = None) -> PersistentVolume | None:
        volume: PersistentVolume | None = self.cluster.get("PersistentVolume", name)
        self.events.append(EventOf(_VOLUME, name, _newest_version(volume, written)))
        return volume

    def _claim(
        self, known: PersistentVolumeClaim, written: PersistentVolumeClaim | None = None
    ) -> PersistentVolumeClaim | str:
        claim: PersistentVolumeClaim | None = self.cluster.get("PersistentVolumeClaim", known.key)
        self.events.append(EventOf(_CLAIM, known.key, _newest_version(claim, written)))
        if claim is None or claim.uid != known.uid:
            return f'persistentvolumeclaim "{known.name}" is gone'
        return claim

    def _access_problem(self, volume: PersistentVolume, node: Node) -> str:
        """Return why the node cannot use the volume; empty if it can."""
        selector, plugin = selector_of(volume), plugin_of(volume)
        if plugin is not None and plugin.handle is not None:
            csi_node = self.cluster.get("CSINode", self.node_name)
            if plugin.name in migrated_plugins(csi_node):
                try:
                    translated = translated_affinity(plugin, volume)
                except InputError as error:
                    return f"failed to translate pv to csi: {error}"
                selector = None if translated is None else labels_selector(translated)
        if reaches(selector, node.labels):
            return ""
        return f'pv "{volume.name}" node affinity doesn\'t match node "{node.name}"'


def _is_older(
    obj: PersistentVolume | PersistentVolumeClaim,
    assumption: Assumption[PersistentVolume] | Assumption[PersistentVolumeClaim] | None,
) -> bool:
    """Return whether *obj* is older than the write of this attempt: a cluster may answer from a cache."""
    written = assumption.stored if assumption is not None else None
    return written is not None and version_of(obj) < version_of(written)


def _written(assumption: Assumption[T] | None) -> T | None:
    return None if assumption is None else assumption.stored


def _newest_version(obj: T | None, written: T | None) -> str:
    """Return the later resource version of what is stored and what was written; empty without either."""
    if written is not None and (obj is None or version_of(obj) < version_of(written)):
        obj = written
    return "" if obj is None else obj.metadata.resource_version


def note_written(storage: Storage, written: PersistentVolume | PersistentVolumeClaim) -> None:
    """Take in what :func:`bind` wrote. Core only."""
    if isinstance(written, PersistentVolume):
        storage.volumes.assumed.note_written(written)
    else:
        storage.claims.note_written(written)
