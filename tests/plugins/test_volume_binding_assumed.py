"""The assume cache: an assumed volume is taken until it is released or the cluster shows it."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from plugins_builtin.volume_binding.assumed import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    AssumedObjects,
    Assumption,
    NodeSelection,
    VolumeReservation,
    version_of,
)
from schedframe import Conflict, InMemoryCluster, InvariantError, NotFound, ObjectStore, OutcomeUnknown
from schedframe.api import ObjectReference, PersistentVolume, PersistentVolumeClaim
from tests.plugins.storage import make_claim, make_volume

CLAIM = make_claim("c", uid="uid-c")
OTHER = make_claim("d", uid="uid-d")


def objects_with(*objects: Any) -> ObjectStore:
    store = ObjectStore()
    for obj in objects:
        store.set(obj)
    return store


def volumes_of(*objects: Any) -> tuple[ObjectStore, AssumedObjects[PersistentVolume]]:
    store = objects_with(*objects)
    return store, AssumedObjects("PersistentVolume", store)


def reference_of(volume: PersistentVolume | None) -> str:
    assert volume is not None
    return volume.spec.claim_ref.uid if volume.spec.claim_ref is not None else ""


class TestChanges:
    def test_a_reservation_refers_to_the_claim(self) -> None:
        reserved = VolumeReservation(CLAIM).apply(make_volume())
        expected = ObjectReference("PersistentVolumeClaim", "default", "c", "uid-c", "v1")
        assert reserved.spec.claim_ref == expected
        assert reserved.metadata.annotations == {BOUND_BY_CONTROLLER: "yes"}
        assert VolumeReservation(CLAIM).is_applied(reserved)
        assert VolumeReservation(CLAIM).apply(reserved) is reserved

    def test_a_volume_that_the_user_pre_bound_is_not_annotated(self) -> None:
        reserved = VolumeReservation(CLAIM).apply(make_volume(claim=CLAIM, claim_uid=False))
        assert reference_of(reserved) == "uid-c"
        assert reserved.metadata.annotations == {}

    @pytest.mark.parametrize(
        "other", [OTHER, make_claim("c", uid="namesake"), make_claim("c", namespace="x")]
    )
    def test_a_volume_of_another_claim_is_not_changed(self, other: PersistentVolumeClaim) -> None:
        volume = make_volume(claim=other)
        assert VolumeReservation(CLAIM).apply(volume) is volume
        assert not VolumeReservation(CLAIM).is_applied(volume)

    def test_claims_without_uids_are_distinguished_by_name(self) -> None:
        named = (make_claim("c"), make_claim("d"))
        one, two = (evolve(each, metadata=evolve(each.metadata, uid="")) for each in named)
        volume = VolumeReservation(one).apply(make_volume())
        assert VolumeReservation(one).is_applied(volume)
        assert not VolumeReservation(two).is_applied(volume)

    def test_a_node_selection_annotates_the_claim(self) -> None:
        sent = NodeSelection("n").apply(make_claim(annotations={"x": "y"}))
        assert sent.metadata.annotations == {"x": "y", SELECTED_NODE: "n"}
        assert NodeSelection("n").is_applied(sent)
        assert NodeSelection("n").apply(sent) is sent
        assert NodeSelection("m").apply(sent) is sent
        assert not NodeSelection("m").is_applied(sent)
        bound = make_claim(volume="v")
        assert NodeSelection("n").apply(bound) is bound

    def test_a_claim_is_bound_if_both_sides_confirm(self) -> None:
        assert make_claim(volume="v").is_fully_bound
        assert not make_claim(volume="v", bound=False).is_fully_bound
        assert not make_claim(annotations={"pv.kubernetes.io/bind-completed": "yes"}).is_fully_bound

    def test_versions_compare_as_numbers(self) -> None:
        assert version_of(make_volume(version="12")) == 12
        assert version_of(make_volume(version="")) == version_of(make_volume(version="x1")) == 0


class TestAssumedObjects:
    def test_an_assumed_volume_is_taken(self) -> None:
        _, volumes = volumes_of(make_volume("v"))
        assumption = volumes.assume("v", "pod", VolumeReservation(CLAIM))
        assert assumption is not None
        assert reference_of(volumes.get("v")) == "uid-c"
        with pytest.raises(Conflict, match="another"):
            volumes.assume("v", "another", VolumeReservation(OTHER))
        volumes.check_invariants()

    def test_releasing_is_idempotent(self) -> None:
        store, volumes = volumes_of(make_volume("v"))
        volumes.assume("v", "pod", VolumeReservation(CLAIM))
        for _ in range(2):
            volumes.release("v", "pod")
            assert volumes.get("v") is store.get("PersistentVolume", "v")
        volumes.assume("v", "another", VolumeReservation(OTHER))
        volumes.release("v", "pod")
        assert reference_of(volumes.get("v")) == "uid-d"

    def test_pods_that_share_a_claim_share_the_assumption(self) -> None:
        _, volumes = volumes_of(make_volume("v"))
        first = volumes.assume("v", "one", VolumeReservation(CLAIM))
        assert volumes.assume("v", "two", VolumeReservation(CLAIM)) is first
        volumes.release("v", "one")
        assert reference_of(volumes.get("v")) == "uid-c"
        volumes.release("v", "two")
        assert reference_of(volumes.get("v")) == ""

    def test_an_object_with_the_change_needs_no_assumption(self) -> None:
        _, volumes = volumes_of(make_volume("v", claim=CLAIM))
        assert volumes.assume("v", "pod", VolumeReservation(CLAIM)) is None
        volumes.release("v", "pod")
        with pytest.raises(Conflict, match="gone"):
            volumes.assume("unknown", "pod", VolumeReservation(CLAIM))

    def test_an_assumption_applies_to_newer_versions(self) -> None:
        store, volumes = volumes_of(make_volume("v"))
        volumes.assume("v", "pod", VolumeReservation(CLAIM))
        store.set(make_volume("v", labels={"new": "yes"}, version="5"))
        present = volumes.get("v")
        assert present is not None
        assert (present.labels, reference_of(present)) == ({"new": "yes"}, "uid-c")
        assert present.metadata.resource_version == "5"

    def test_an_older_version_that_arrives_late_is_ignored(self) -> None:
        store, volumes = volumes_of(make_volume("v", version="7", claim=CLAIM))
        assert reference_of(volumes.get("v")) == "uid-c"
        store.set(make_volume("v", version="3"))
        assert reference_of(volumes.get("v")) == "uid-c"
        store.set(make_volume("v", version="8"))
        assert reference_of(volumes.get("v")) == ""

    @pytest.mark.parametrize("successor", [None, "namesake"])
    def test_an_assumption_ends_with_its_volume(self, successor: str | None) -> None:
        store, volumes = volumes_of(make_volume("v"))
        volumes.assume("v", "pod", VolumeReservation(CLAIM))
        store.remove("PersistentVolume", "v")
        if successor is not None:
            assert volumes.get("v") is None
            fresh = make_volume("v")
            store.set(evolve(fresh, metadata=evolve(fresh.metadata, uid=successor)))
            assert reference_of(volumes.get("v")) == ""
        else:
            assert volumes.get("v") is None
        volumes.release("v", "pod")
        volumes.check_invariants()

    def test_a_recreated_volume_in_one_event(self) -> None:
        store, volumes = volumes_of(make_volume("v", version="9"))
        volumes.assume("v", "pod", VolumeReservation(CLAIM))
        fresh = make_volume("v", version="2")
        store.set(evolve(fresh, metadata=evolve(fresh.metadata, uid="namesake")))
        assert reference_of(volumes.get("v")) == ""

    def test_more_changes_than_the_log_holds(self) -> None:
        store, volumes = volumes_of(make_volume("v"), make_volume("w"))
        volumes.assume("v", "pod", VolumeReservation(CLAIM))
        for i in range(10_000):
            store.set(make_volume("x", version=str(i + 1)))
        store.remove("PersistentVolume", "w")
        assert volumes.get("w") is None
        assert reference_of(volumes.get("v")) == "uid-c"

    def test_the_callback_gets_every_change(self) -> None:
        store, heard = objects_with(make_volume("v")), []
        volumes = AssumedObjects[PersistentVolume]("PersistentVolume", store, heard.append)
        volumes.sync()
        volumes.assume("v", "pod", VolumeReservation(CLAIM))
        volumes.release("v", "pod")
        volumes.release("v", "pod")
        store.remove("PersistentVolume", "v")
        volumes.sync()
        assert heard == ["v"] * 4


class TestWriting:
    def prepared(self) -> tuple[InMemoryCluster, ObjectStore, AssumedObjects[PersistentVolume]]:
        cluster = InMemoryCluster()
        volume = cluster.create(make_volume("v", version=""))
        store, volumes = volumes_of(volume)
        return cluster, store, volumes

    def assume(self, volumes: AssumedObjects[PersistentVolume]) -> Assumption[PersistentVolume]:
        assumption = volumes.assume("v", "pod", VolumeReservation(CLAIM))
        assert assumption is not None
        return assumption

    def written(
        self, volumes: AssumedObjects[PersistentVolume], cluster: InMemoryCluster
    ) -> PersistentVolume:
        assumption = self.assume(volumes)
        assert assumption.write(cluster, volumes.note_written) is None
        assert assumption.written is assumption.stored is not None
        return assumption.written

    def test_a_written_change_stays_assumed_until_an_event_shows_it(self) -> None:
        cluster, store, volumes = self.prepared()
        written = self.written(volumes, cluster)
        volumes.release("v", "pod")
        assert volumes.get("v") is written
        volumes.check_invariants()
        store.set(written)
        assert volumes.get("v") is written
        freed = cluster.update(evolve(written, spec=evolve(written.spec, claim_ref=None)))
        store.set(freed)
        assert volumes.get("v") is freed

    def test_it_is_written_once(self) -> None:
        cluster, _, volumes = self.prepared()
        assert self.written(volumes, cluster) is self.written(volumes, cluster)

    def test_the_event_can_arrive_before_the_answer(self) -> None:
        cluster, store, volumes = self.prepared()
        assumption = self.assume(volumes)
        cluster.watch(lambda event: store.set(event.new), ["PersistentVolume"])
        assumption.write(cluster, volumes.note_written)
        assert reference_of(volumes.get("v")) == "uid-c"
        volumes.release("v", "pod")
        assert volumes.get("v") is cluster.get("PersistentVolume", "v")

    def test_a_lost_answer_is_looked_up(self) -> None:
        cluster, _, volumes = self.prepared()
        cluster.fail_next("update", OutcomeUnknown("timeout"), applied=True)
        assert reference_of(self.written(volumes, cluster)) == "uid-c"

    def test_a_lost_request_is_a_failure(self) -> None:
        cluster, _, volumes = self.prepared()
        cluster.fail_next("update", OutcomeUnknown("timeout"))
        assumption = self.assume(volumes)
        with pytest.raises(OutcomeUnknown):
            assumption.write(cluster, volumes.note_written)
        volumes.release("v", "pod")
        assert reference_of(volumes.get("v")) == ""

    def test_another_client_was_faster(self) -> None:
        cluster, store, volumes = self.prepared()
        assumption = self.assume(volumes)
        cluster.update(VolumeReservation(OTHER).apply(cluster.get("PersistentVolume", "v")))
        with pytest.raises(Conflict):
            assumption.write(cluster, volumes.note_written)
        store.set(cluster.get("PersistentVolume", "v"))
        assert reference_of(volumes.get("v")) == "uid-d"
        with pytest.raises(Conflict, match="taken"):
            assumption.write(cluster, volumes.note_written)

    def test_another_client_wrote_the_same(self) -> None:
        cluster, _, volumes = self.prepared()
        assumption = self.assume(volumes)
        cluster.update(VolumeReservation(CLAIM).apply(cluster.get("PersistentVolume", "v")))
        assert assumption.write(cluster, volumes.note_written) is None
        assert reference_of(assumption.written) == "uid-c"

    def test_the_volume_was_deleted(self) -> None:
        cluster, _, volumes = self.prepared()
        assumption = self.assume(volumes)
        cluster.delete("PersistentVolume", "v")
        with pytest.raises(NotFound):
            assumption.write(cluster, volumes.note_written)


def test_check_invariants_reports_an_inconsistent_cache() -> None:
    _, volumes = volumes_of(make_volume("v"), make_volume("w"))
    assumption = volumes.assume("v", "pod", VolumeReservation(CLAIM))
    assert assumption is not None
    assumption.holders.clear()
    with pytest.raises(InvariantError, match="neither held nor written"):
        volumes.check_invariants()
    assumption.holders.add("pod")
    volumes._assumptions["w"] = volumes._assumptions.pop("v")
    with pytest.raises(InvariantError, match="has a version of"):
        volumes.check_invariants()
