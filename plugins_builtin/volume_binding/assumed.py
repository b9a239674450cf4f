"""The assume cache: volumes and claims as they will be once what was decided about them has been written.

Decisions are made much faster than the cluster hears of them, so a volume promised to one claim must not
look free to the next pod. A promise stands for as long as an attempt holds it and, once it was written,
until events have caught up with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from attrs import define, evolve, field, frozen

from schedframe import (
    ClusterPort,
    Conflict,
    InvariantError,
    ObjectStore,
    OutcomeUnknown,
    PersistentVolume,
    PersistentVolumeClaim,
)
from schedframe.api import ObjectReference

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"


def is_meant_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is reserved for this claim, by name and, if it says so, by uid."""
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and reference.name == claim.name
        and reference.namespace == claim.namespace
        and reference.uid in ("", claim.uid)
    )


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim has its volume, and both sides agree on it."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def version_of(obj: PersistentVolume | PersistentVolumeClaim) -> int:
    """The resource version as a number; 0 where it is none."""
    text = obj.metadata.resource_version
    return int(text) if text.isdecimal() else 0


class Change(Protocol[T]):
    """Something to be done to an object."""

    def made(self, obj: T) -> T:
        """*obj* with the change; the same object if it has it, or cannot have it any more."""
        ...

    def holds(self, obj: T) -> bool:
        """Whether *obj* is as it should be."""
        ...


@frozen
class Promise:
    """The volume is for this claim."""

    claim: PersistentVolumeClaim

    def made(self, obj: PersistentVolume) -> PersistentVolume:
        """Reserved for the claim, unless it is somebody else's."""
        claim, reference, metadata = self.claim, obj.spec.claim_ref, obj.metadata
        if reference is None:
            if BOUND_BY_CONTROLLER not in metadata.annotations:
                metadata = evolve(metadata, annotations={**metadata.annotations, BOUND_BY_CONTROLLER: "yes"})
        elif reference.uid or not is_meant_for(obj, claim):
            return obj
        reference = ObjectReference(claim.KIND, claim.namespace, claim.name, claim.uid, claim.API_VERSION)
        return evolve(obj, metadata=metadata, spec=evolve(obj.spec, claim_ref=reference))

    def holds(self, obj: PersistentVolume) -> bool:
        """Whether the volume names the claim, uid included."""
        reference = obj.spec.claim_ref
        return reference is not None and reference.uid == self.claim.uid and is_meant_for(obj, self.claim)


@frozen
class Selection:
    """The claim's volume is to be made for this node."""

    node_name: str

    def made(self, obj: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Annotated with the node, unless the claim has a volume or goes elsewhere."""
        metadata = obj.metadata
        if obj.spec.volume_name or SELECTED_NODE in metadata.annotations:
            return obj
        annotations = {**metadata.annotations, SELECTED_NODE: self.node_name}
        return evolve(obj, metadata=evolve(metadata, annotations=annotations))

    def holds(self, obj: PersistentVolumeClaim) -> bool:
        """Whether the claim names the node."""
        return obj.metadata.annotations.get(SELECTED_NODE) == self.node_name


@define(eq=False)
class Assumption(Generic[T]):
    """What one object will be like, and for whom."""

    change: Change[T]
    changed: T
    """The newest version known, with the change."""
    holders: set[str]
    """Uids of the pods whose attempts count on it."""
    written: T | None = None
    """As the cluster has it. Set by whoever writes, in any thread; all else belongs to the core."""

    def write(self, cluster: ClusterPort) -> T:
        """See to it that the cluster has the change; the object as stored there. Any thread.

        A change that somebody else made meanwhile will do, as will one of which only the answer got lost.
        Raises what the cluster raises, and :class:`Conflict` if the object went to somebody else.
        """
        if self.written is None:
            changed = self.changed
            if not self.change.holds(changed):
                raise Conflict(f"{changed.KIND} {changed.key} was taken by somebody else")
            try:
                self.written = cluster.update(changed)
            except (Conflict, OutcomeUnknown):
                found: T | None = cluster.get(changed.KIND, changed.key)
                if found is None or found.uid != changed.uid or not self.change.holds(found):
                    raise
                self.written = found
        assert self.written is not None
        return self.written


@define(eq=False)
class AssumedObjects(Generic[T]):
    """The objects of one kind in their newest versions, those with an assumption as assumed.

    Versions that come late, or again, are not believed. Every operation is O(1), and O(changes) for what
    events told since the last one.
    """

    kind: str
    objects: ObjectStore
    on_change: Callable[[str], None] = lambda key: None
    """Told the key of every object that may look different from now on."""
    _newest: dict[str, T] = field(factory=dict)
    _assumptions: dict[str, Assumption[T]] = field(factory=dict)
    _version: int = 0

    def get(self, key: str) -> T | None:
        """The object as assumed; ``None`` if it is not there."""
        self.sync()
        newest = self._newest.get(key)
        assumption = self._assumptions.get(key)
        if assumption is None or newest is None:
            return newest
        written = assumption.written
        if written is None:
            return assumption.changed
        if version_of(newest) < version_of(written):
            return written
        del self._assumptions[key]
        return newest

    def assume(self, key: str, holder: str, change: Change[T]) -> Assumption[T] | None:
        """Make *change* for the pod of uid *holder*; ``None`` if the object is so already.

        Pods that want the same hold it together. Raises :class:`Conflict` if the object is gone or cannot be
        changed like this.
        """
        present = self.get(key)
        if present is None:
            raise Conflict(f"{self.kind} {key} is gone")
        assumption = self._assumptions.get(key)
        changed = change.made(present)
        if not change.holds(changed):
            raise Conflict(f"{self.kind} {key} is promised to somebody else")
        if changed is present:
            if assumption is not None:
                assumption.holders.add(holder)
            return assumption
        assumption = self._assumptions[key] = Assumption(change, changed, {holder})
        self.on_change(key)
        return assumption

    def release(self, key: str, holder: str) -> None:
        """The pod of uid *holder* does not count on its change any more; idempotent.

        What was written stays assumed until events tell.
        """
        assumption = self._assumptions.get(key)
        if assumption is None or holder not in assumption.holders:
            return
        assumption.holders.discard(holder)
        if not assumption.holders and assumption.written is None:
            del self._assumptions[key]
            self.on_change(key)

    def sync(self) -> None:
        """Take in what events told."""
        version = self.objects.version(self.kind)
        if version == self._version:
            return
        keys = self.objects.changed_since(self.kind, self._version)
        self._version = version
        if keys is None:
            keys = [*self._newest, *(obj.key for obj in self.objects.list(self.kind))]
        for key in dict.fromkeys(keys):
            self._take(key)

    def _take(self, key: str) -> None:
        stored: T | None = self.objects.get(self.kind, key)
        known = self._newest.get(key)
        if stored is None:
            self._newest.pop(key, None)
            self._assumptions.pop(key, None)
        elif known is not None and known.uid == stored.uid and version_of(stored) < version_of(known):
            return
        else:
            self._newest[key] = stored
            if key in self._assumptions:
                self._settle(key, self._assumptions[key], stored)
        self.on_change(key)

    def _settle(self, key: str, assumption: Assumption[T], stored: T) -> None:
        """Carry an assumption over to a newer version, or drop it if that version is ahead of it."""
        written = assumption.written
        if stored.uid != assumption.changed.uid:
            del self._assumptions[key]
        elif written is None:
            assumption.changed = assumption.change.made(stored)
        elif version_of(stored) >= version_of(written):
            del self._assumptions[key]

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if an assumption is held by nobody and written by nobody; O(n)."""
        for key, assumption in self._assumptions.items():
            if not assumption.holders and assumption.written is None:
                raise InvariantError(f"nobody holds what is assumed of {self.kind} {key}")
            if assumption.changed.key != key:
                raise InvariantError(
                    f"what is assumed of {self.kind} {key} is about {assumption.changed.key}"
                )
