"""A volume is assigned once, in any order of events."""

from __future__ import annotations

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from plugins_builtin.volume_binding.assumed import Assumption, VolumeReservation, version_of
from plugins_builtin.volume_binding.claims import Storage
from schedframe import Conflict, InMemoryCluster, NotFound, ObjectStore, OutcomeUnknown
from schedframe.api import PersistentVolume, PersistentVolumeClaim
from schedframe.cluster import WatchEvent
from tests.plugins.storage import make_claim, make_volume

NAMES = ("v0", "v1", "v2")
PODS = ("p0", "p1", "p2", "p3")


class Assignment(RuleBasedStateMachine):
    """Pods take volumes as the scheduler does; events arrive late, twice, and out of order.

    No claim gets a volume that is assumed or written for another claim.
    """

    @initialize()
    def start(self) -> None:
        self.cluster = InMemoryCluster()
        self.store = ObjectStore()
        self.storage = Storage(self.store)
        self.late: list[WatchEvent] = []
        self.seen: list[WatchEvent] = []
        for name in NAMES:
            self.store.set(self.cluster.create(make_volume(name, version="")))
        self.cluster.watch(self.late.append, ["PersistentVolume"])
        self.late.clear()
        self.held: dict[str, tuple[str, Assumption[PersistentVolume]]] = {}
        """Pod → volume and assumption of its current attempt."""

    def claim_of(self, pod: str) -> PersistentVolumeClaim:
        return make_claim(f"claim-{pod}", uid=f"uid-{pod}")

    def free(self) -> set[str]:
        """Return the volumes that look free."""
        return {
            entry[1]
            for indexed in self.storage.volumes.of_class("wait").free.values()
            for entries in indexed.usable_from({})
            for entry in entries
        }

    @rule(pod=st.sampled_from(PODS), data=st.data())
    def take(self, pod: str, data: st.DataObject) -> None:
        free = self.free()
        if pod in self.held or not free:
            return
        name = data.draw(st.sampled_from(sorted(free)))
        assumption = self.storage.volumes.assumed.assume(name, pod, VolumeReservation(self.claim_of(pod)))
        assert assumption is not None
        assert all(other != name for other, _ in self.held.values())
        self.held[pod] = (name, assumption)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), lost=st.booleans())
    def write(self, data: st.DataObject, lost: bool) -> None:
        pod = data.draw(st.sampled_from(sorted(self.held)))
        name, assumption = self.held[pod]
        if lost:
            self.cluster.fail_next("update", OutcomeUnknown("no answer"), applied=True)
        try:
            assumption.write(self.cluster, self.storage.volumes.assumed.note_written)
        except Conflict:
            # The assumption was based on late events.
            self.give_up(pod)
        except NotFound:
            self.give_up(pod)
        else:
            written = self.cluster.get("PersistentVolume", name)
            assert VolumeReservation(self.claim_of(pod)).is_applied(written)
        finally:
            self.cluster._failures.waiting.clear()

    @precondition(lambda self: self.held)
    @rule(data=st.data(), twice=st.booleans())
    def end(self, data: st.DataObject, twice: bool) -> None:
        pod = data.draw(st.sampled_from(sorted(self.held)))
        name, _ = self.held[pod]
        self.give_up(pod)
        if twice:
            self.storage.volumes.assumed.release(name, pod)

    def give_up(self, pod: str) -> None:
        name, _ = self.held.pop(pod)
        self.storage.volumes.assumed.release(name, pod)

    @rule(data=st.data())
    def an_event_arrives(self, data: st.DataObject) -> None:
        if self.late:
            event = self.late.pop(data.draw(st.integers(0, len(self.late) - 1)))
            self.seen.append(event)
            self.receive(event)

    @rule(data=st.data())
    def an_event_arrives_again(self, data: st.DataObject) -> None:
        if self.seen:
            self.receive(data.draw(st.sampled_from(self.seen)))

    def receive(self, event: WatchEvent) -> None:
        if event.new is not None:
            self.store.set(event.new)

    @rule(name=st.sampled_from(NAMES))
    def a_volume_changes(self, name: str) -> None:
        volume = self.cluster.get("PersistentVolume", name)
        labels = {"version": volume.metadata.resource_version}
        self.cluster.update(evolve(volume, metadata=evolve(volume.metadata, labels=labels)))

    @invariant()
    def taken_volumes_are_not_free(self) -> None:
        free = self.free()
        assert not free & {name for name, _ in self.held.values()}
        newest: dict[str, PersistentVolume] = {}
        for event in self.seen:
            known = newest.get(event.new.name)
            if known is None or version_of(known) < version_of(event.new):
                newest[event.new.name] = event.new
        written = self.cluster.list("PersistentVolume")
        assert not free & {volume.name for volume in written if volume.spec.claim_ref is not None}
        # The newest version that arrived counts, in any order.
        assert not free & {name for name, volume in newest.items() if volume.spec.claim_ref is not None}
        self.storage.volumes.assumed.check_invariants()


TestAssignment = Assignment.TestCase
