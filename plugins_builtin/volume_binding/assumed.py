"""The assume cache: volumes and claims with the decisions about them that the cluster does not show yet.

Decisions are faster than the events that confirm them, so a volume that one claim was given must not look
free to the next pod. Invariant: an assumption lasts as long as an attempt holds it and, once it is written,
until an event shows a version at least as new.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from attrs import define, evolve, field, frozen

from schedframe import ClusterPort, Conflict, InvariantError, ObjectStore, OutcomeUnknown
from schedframe.api import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    version_number,
)

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


def version_of(obj: PersistentVolume | PersistentVolumeClaim) -> int:
    """Return the resource version as a number; 0 if it is not numeric."""
    return version_number(obj.metadata.resource_version) or 0


class Change(Protocol[T]):
    """A change of an object."""

    def apply(self, obj: T) -> T:
        """Return *obj* with the change; *obj* itself if it has it already or cannot have it."""
        ...

    def is_applied(self, obj: T) -> bool:
        """Return whether *obj* has the change."""
        ...


@frozen
class VolumeReservation:
    """Change of a volume: its claim reference becomes this claim."""

    claim: PersistentVolumeClaim

    def apply(self, obj: PersistentVolume) -> PersistentVolume:
        """Return the volume with a reference to the claim, unless it refers to another one."""
        claim, reference, metadata = self.claim, obj.spec.claim_ref, obj.metadata
        if reference is None:
            if BOUND_BY_CONTROLLER not in metadata.annotations:
                metadata = evolve(metadata, annotations={**metadata.annotations, BOUND_BY_CONTROLLER: "yes"})
        elif reference.uid or not obj.is_reserved_for(claim):
            return obj
        reference = ObjectReference(claim.KIND, claim.namespace, claim.name, claim.uid, claim.API_VERSION)
        return evolve(obj, metadata=metadata, spec=evolve(obj.spec, claim_ref=reference))

    def is_applied(self, obj: PersistentVolume) -> bool:
        """Return whether the volume refers to the claim, uid included."""
        reference = obj.spec.claim_ref
        return reference is not None and reference.uid == self.claim.uid and obj.is_reserved_for(self.claim)


@frozen
class NodeSelection:
    """Change of a claim: its volume is to be provisioned for this node."""

    node_name: str

    def apply(self, obj: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Return the claim annotated with the node, unless it has a volume or another node."""
        metadata = obj.metadata
        if obj.spec.volume_name or SELECTED_NODE in metadata.annotations:
            return obj
        annotations = {**metadata.annotations, SELECTED_NODE: self.node_name}
        return evolve(obj, metadata=evolve(metadata, annotations=annotations))

    def is_applied(self, obj: PersistentVolumeClaim) -> bool:
        """Return whether the claim is annotated with the node."""
        return obj.metadata.annotations.get(SELECTED_NODE) == self.node_name


@define(eq=False)
class Assumption(Generic[T]):
    """The assumed version of one object, and the attempts that rely on it."""

    change: Change[T]
    changed: T
    """The newest known version, with the change."""
    holders: set[str]
    """Uids of the pods whose attempts rely on it."""
    written: T | None = None
    """The version that the cluster stored, as the core knows it: by a report."""
    stored: T | None = None
    """The same as soon as it is written, for the threads that write."""

    def write(self, cluster: ClusterPort, report: Callable[[T], object]) -> Awaitable[None] | None:
        """Write the change, set ``stored`` and report it. Any thread; idempotent.

        Return what is to be awaited on the thread of a remote cluster's loop, ``None`` in any other one. If
        the cluster has the change already (written by another client, or in a call whose answer was lost),
        that version counts as written. Raises what the cluster raises, and :class:`Conflict` if the object
        now belongs to another claim or node.
        """
        if self.stored is not None:
            return None
        changed = self.changed
        if not self.change.is_applied(changed):
            raise Conflict(f"{changed.KIND} {changed.key} was taken for another claim or node")
        with self._reading_back(cluster, changed):
            answer: Any = cluster.update(changed)
            if inspect.isawaitable(answer):
                return self._awaited(cluster, changed, answer, report)
            self.stored = answer
        self._report(report)
        return None

    async def _awaited(
        self, cluster: ClusterPort, changed: T, answer: Awaitable[T], report: Callable[[T], object]
    ) -> None:
        with self._reading_back(cluster, changed):
            self.stored = await answer
        self._report(report)

    def _report(self, report: Callable[[T], object]) -> None:
        assert self.stored is not None  # the write did not fail
        report(self.stored)

    @contextmanager
    def _reading_back(self, cluster: ClusterPort, changed: T) -> Iterator[None]:
        """Let a failed write pass if the cluster has the change."""
        try:
            yield
        except (Conflict, OutcomeUnknown):
            stored: T | None = cluster.get(changed.KIND, changed.key)
            if stored is None or stored.uid != changed.uid or not self.change.is_applied(stored):
                raise
            self.stored = stored


@define(eq=False)
class AssumedObjects(Generic[T]):
    """The newest versions of the objects of one kind, with the assumptions about them.

    Versions that arrive late or twice are ignored. Every operation is O(1), and O(objects changed by events
    since the last one).
    """

    kind: str
    objects: ObjectStore
    on_change: Callable[[str], None] = lambda key: None
    """Callback with the key of each object that may have changed."""
    _newest: dict[str, T] = field(factory=dict)
    _assumptions: dict[str, Assumption[T]] = field(factory=dict)
    _version: int = 0
    _reverts: int = 0

    def get(self, key: str) -> T | None:
        """Return the object as assumed; ``None`` if it does not exist."""
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
        self.save()
        del self._assumptions[key]
        return newest

    def assume(self, key: str, holder: str, change: Change[T]) -> Assumption[T] | None:
        """Assume *change* for the pod of uid *holder*; return ``None`` if the stored object has it already.

        Pods that need the same change share the assumption. Raises :class:`Conflict` if the object does not
        exist or cannot have the change.
        """
        present = self.get(key)
        if present is None:
            raise Conflict(f"{self.kind} {key} is gone")
        assumption = self._assumptions.get(key)
        self.save()
        changed = change.apply(present)
        if not change.is_applied(changed):
            raise Conflict(f"{self.kind} {key} is assumed for another claim or node")
        if changed is present:
            if assumption is not None:
                assumption.holders.add(holder)
            return assumption
        assumption = self._assumptions[key] = Assumption(change, changed, {holder})
        self.on_change(key)
        return assumption

    def note_written(self, obj: T) -> None:
        """Take in the version of an object that the cluster stored with the assumed change."""
        assumption = self._assumptions.get(obj.key)
        if assumption is not None and assumption.changed.uid == obj.uid and assumption.change.is_applied(obj):
            assumption.written = obj

    def release(self, key: str, holder: str) -> None:
        """Release the assumption of the pod of uid *holder*; idempotent.

        A written change stays assumed until events show it.
        """
        assumption = self._assumptions.get(key)
        if assumption is None or holder not in assumption.holders:
            return
        self.save()
        assumption.holders.discard(holder)
        if not assumption.holders and assumption.written is None:
            del self._assumptions[key]
            self.on_change(key)

    def assumed(self) -> list[T]:
        """Return the objects with assumptions, as they will be; O(assumptions)."""
        self.sync()
        return [each.changed if each.written is None else each.written for each in self._assumptions.values()]

    def sync(self) -> None:
        """Apply the changes that events brought since the last call."""
        version = self.objects.version(self.kind)
        if version == self._version:
            return
        keys = self.objects.changed_since(self.kind, self._version)
        reverts = self.objects.reverts(self.kind)
        self._version = version
        if keys is None or reverts != self._reverts:
            keys = [*self._newest, *(obj.key for obj in self.objects.list(self.kind))]
        if reverts != self._reverts:
            self._reverts = reverts
            self._begin_again()
        for key in dict.fromkeys(keys):
            self._update(key)

    def _begin_again(self) -> None:
        """Forget the versions that a trial has taken back, and what it wrote."""
        self._newest.clear()
        for key, assumption in list(self._assumptions.items()):
            assumption.written = None
            if not assumption.holders:
                del self._assumptions[key]

    def save(self) -> None:
        """Let a trial take back what follows; O(assumptions), once for each trial."""
        undo = self.objects.undo
        if undo.marks and not undo.is_saved(id(self)):
            before = {key: (each, set(each.holders)) for key, each in self._assumptions.items()}
            undo.save(id(self), (self._set_back, before))

    def _set_back(self, assumptions: dict[str, tuple[Assumption[T], set[str]]]) -> None:
        self._assumptions = {key: each for key, (each, _) in assumptions.items()}
        for each, holders in assumptions.values():
            each.holders, each.written = holders, None
        self._version = self._reverts = -1  # all versions are read again

    def _update(self, key: str) -> None:
        if key in self._assumptions:
            self.save()
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
                self._rebase(key, self._assumptions[key], stored)
        self.on_change(key)

    def _rebase(self, key: str, assumption: Assumption[T], stored: T) -> None:
        """Apply an assumption to a newer version, or drop it if that version shows it."""
        written = assumption.written
        if stored.uid != assumption.changed.uid:
            del self._assumptions[key]
        elif written is None:
            assumption.changed = assumption.change.apply(stored)
        elif version_of(stored) >= version_of(written):
            del self._assumptions[key]

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if an assumption is neither held nor written; O(assumptions)."""
        for key, assumption in self._assumptions.items():
            if not assumption.holders and assumption.written is None:
                raise InvariantError(f"the assumption about {self.kind} {key} is neither held nor written")
            if assumption.changed.key != key:
                raise InvariantError(
                    f"the assumption about {self.kind} {key} has a version of {assumption.changed.key}"
                )
