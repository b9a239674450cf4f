"""The cluster in memory as an API server: identity, versions, preconditions, deletion, binding."""

from __future__ import annotations

import pytest
from attrs import evolve

from schedframe.api import Node, ObjectMeta, Pod, PodCondition, PodSpec, PodStatus
from schedframe.cluster import (
    BindConflict,
    BindNotFound,
    BindRefused,
    ClusterPort,
    Conflict,
    InMemoryCluster,
    NotFound,
    OutcomeUnknown,
    WatchEvent,
)
from schedframe.errors import ClusterError, InputError

NOW = 1_700_000_000.0


@pytest.fixture
def cluster() -> InMemoryCluster:
    return InMemoryCluster(clock=lambda: NOW)


def pod(name: str = "p", **meta: object) -> Pod:
    return Pod(ObjectMeta(name=name, namespace="default", **meta))  # type: ignore[arg-type]  # fields of ObjectMeta


def condition(status: str = "False", reason: str = "Unschedulable") -> PodCondition:
    return PodCondition("PodScheduled", status, reason)


class TestWriting:
    def test_it_is_a_cluster_port(self, cluster: InMemoryCluster) -> None:
        assert isinstance(cluster, ClusterPort)

    def test_created_objects_get_identity_version_and_time(self, cluster: InMemoryCluster) -> None:
        first, second = cluster.create(pod("a")), cluster.create(pod("b"))
        assert first.uid
        assert first.metadata.uid == first.uid != second.uid
        assert int(first.metadata.resource_version) < int(second.metadata.resource_version)
        assert first.metadata.creation_timestamp == NOW
        cluster.check_invariants()

    def test_identity_and_time_that_are_there_stay(self, cluster: InMemoryCluster) -> None:
        stored = cluster.create(pod(uid="u", creation_timestamp=5.0))
        assert (stored.uid, stored.metadata.creation_timestamp) == ("u", 5.0)

    def test_manifests_are_taken_too(self) -> None:
        cluster = InMemoryCluster([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}])
        assert isinstance(cluster.get("Node", "n"), Node)
        assert cluster.list("Node") == [cluster.get("Node", "n")]

    def test_a_taken_key_is_a_conflict(self, cluster: InMemoryCluster) -> None:
        cluster.create(pod())
        with pytest.raises(Conflict, match="default/p is there already"):
            cluster.create(pod())

    def test_names_are_generated_or_required(self, cluster: InMemoryCluster) -> None:
        names = {cluster.create(Pod(ObjectMeta(generate_name="web-"))).name for _ in range(3)}
        assert len(names) == 3
        assert all(name.startswith("web-") for name in names)
        with pytest.raises(InputError, match=r"metadata\.name"):
            cluster.create(Pod())

    def test_update_keeps_identity_and_gives_a_new_version(self, cluster: InMemoryCluster) -> None:
        stored = cluster.create(pod())
        updated = cluster.update(pod(labels={"a": "b"}))
        assert updated.labels == {"a": "b"}
        assert updated.uid == stored.uid
        assert updated.metadata.creation_timestamp == NOW
        assert int(updated.metadata.resource_version) > int(stored.metadata.resource_version)
        assert cluster.get("Pod", "default/p") is updated

    def test_update_checks_presence_uid_and_version(self, cluster: InMemoryCluster) -> None:
        with pytest.raises(NotFound):
            cluster.update(pod())
        stored = cluster.create(pod())
        with pytest.raises(Conflict, match="deleted and created again"):
            cluster.update(pod(uid="other"))
        cluster.update(stored)
        with pytest.raises(Conflict, match="read it again"):
            cluster.update(stored)

    def test_apply_creates_updates_and_replaces(self, cluster: InMemoryCluster) -> None:
        events: list[WatchEvent] = []
        cluster.watch(events.append)
        first = cluster.apply(pod())
        assert cluster.apply(pod(resource_version="77")).uid == first.uid
        assert cluster.apply(pod(uid="new")).uid == "new"
        assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
        cluster.check_invariants()

    def test_list_is_in_order_of_creation(self, cluster: InMemoryCluster) -> None:
        for name in "cab":
            cluster.create(pod(name))
        cluster.update(pod("c"))
        cluster.delete("Pod", "default/a")
        cluster.create(pod("a"))
        assert [stored.name for stored in cluster.list("Pod")] == ["c", "b", "a"]
        assert cluster.list("Node") == []
        assert cluster.get("Node", "n") is None


class TestDeleting:
    def test_delete_checks_presence_and_uid(self, cluster: InMemoryCluster) -> None:
        with pytest.raises(NotFound):
            cluster.delete(pod())
        with pytest.raises(NotFound):
            cluster.delete("Pod", "default/p")
        stored = cluster.create(pod())
        with pytest.raises(Conflict):
            cluster.delete(pod(uid="other"))
        cluster.update(stored)
        cluster.delete(stored)
        assert cluster.list("Pod") == []

    def test_finalizers_hold_the_object_until_the_last_is_gone(self, cluster: InMemoryCluster) -> None:
        cluster.create(pod(finalizers=("a", "b")))
        cluster.delete(pod())
        marked = cluster.get("Pod", "default/p")
        assert marked is not None
        assert marked.metadata.deletion_timestamp == NOW
        cluster.delete(pod())
        assert cluster.get("Pod", "default/p") is marked, "deleting twice changes nothing"
        cluster.update(pod(finalizers=("a",)))
        assert cluster.get("Pod", "default/p").metadata.deletion_timestamp == NOW, (
            "a mark cannot be taken back"
        )
        cluster.update(pod())
        assert cluster.get("Pod", "default/p") is None

    def test_graceful_deletion_of_pods_on_nodes_takes_two_steps(self) -> None:
        cluster = InMemoryCluster(clock=lambda: NOW, graceful=True)
        running, waiting = cluster.create(pod("r")), cluster.create(pod("w"))
        cluster.bind(running, "n")
        cluster.delete(running)
        cluster.delete(waiting)
        assert [stored.name for stored in cluster.list("Pod")] == ["r"]
        assert cluster.list("Pod")[0].is_terminating
        cluster.update(pod("r", labels={"still": "here"}))
        cluster.check_invariants()
        cluster.finish_deletion("default/r")
        assert cluster.list("Pod") == []
        with pytest.raises(NotFound):
            cluster.finish_deletion("default/r")

    def test_graceful_deletion_with_finalizers_waits_for_both(self) -> None:
        cluster = InMemoryCluster(graceful=True)
        cluster.bind(cluster.create(pod(finalizers=("f",))), "n")
        cluster.delete(pod())
        cluster.finish_deletion("default/p")
        assert cluster.get("Pod", "default/p") is not None
        cluster.update(evolve(pod(), spec=PodSpec(node_name="n")))
        assert cluster.get("Pod", "default/p") is None


class TestBinding:
    def test_bind_sets_the_node_and_tells(self, cluster: InMemoryCluster) -> None:
        stored = cluster.create(pod())
        events: list[WatchEvent] = []
        cluster.watch(events.append, ["Pod"])
        cluster.bind(stored, "nowhere")
        bound = cluster.get("Pod", "default/p")
        assert bound is not None
        assert bound.node_name == "nowhere"
        assert bound.spec.memo is stored.spec.memo
        assert bound.metadata.resource_version != stored.metadata.resource_version
        assert events[1:] == [WatchEvent("MODIFIED", "Pod", stored, bound)]
        cluster.check_invariants()

    def test_bind_refusals(self, cluster: InMemoryCluster) -> None:
        with pytest.raises(BindNotFound) as gone:
            cluster.bind(pod(uid="u"), "n")
        assert isinstance(gone.value, NotFound)
        stored = cluster.create(pod())
        with pytest.raises(BindRefused, match="without a name"):
            cluster.bind(stored, "")
        with pytest.raises(BindConflict, match="deleted and created again"):
            cluster.bind(pod(uid="other"), "n")
        cluster.bind(stored, "n")
        with pytest.raises(BindConflict, match="on n already") as elsewhere:
            cluster.bind(stored, "m")
        assert isinstance(elsewhere.value, Conflict)
        gated = cluster.create(evolve(pod("g"), spec=PodSpec(scheduling_gates=("wait",))))
        with pytest.raises(BindConflict, match="scheduling gates"):
            cluster.bind(gated, "n")
        leaving = cluster.create(pod("l", finalizers=("f",)))
        cluster.delete(leaving)
        with pytest.raises(BindConflict, match="being deleted"):
            cluster.bind(leaving, "n")

    def test_binding_again_to_the_same_node_does_nothing(self, cluster: InMemoryCluster) -> None:
        stored = cluster.create(pod())
        cluster.bind(stored, "n")
        bound = cluster.get("Pod", "default/p")
        cluster.bind(stored, "n")
        assert cluster.get("Pod", "default/p") is bound
        with pytest.raises(BindConflict):
            cluster.bind(pod(uid="other"), "n")


class TestStatusAndEviction:
    def test_patch_sets_one_condition_and_leaves_the_rest(self, cluster: InMemoryCluster) -> None:
        other = PodCondition("Other", "True")
        stored = cluster.create(evolve(pod(), status=PodStatus(conditions=(other,), nominated_node_name="n")))
        cluster.patch_pod_status(stored, condition=condition())
        status = cluster.get("Pod", "default/p").status
        assert status.conditions == (other, evolve(condition(), last_transition_time=NOW))
        assert status.nominated_node_name == "n"
        cluster.patch_pod_status(stored, nominated_node_name="")
        assert cluster.get("Pod", "default/p").status.nominated_node_name == ""

    def test_transition_time_moves_with_the_status_only(self) -> None:
        now = [1.0]
        cluster = InMemoryCluster(clock=lambda: now[0])
        stored = cluster.create(pod())
        cluster.patch_pod_status(stored, condition=condition())
        now[0] = 2.0
        cluster.patch_pod_status(stored, condition=condition(reason="SchedulerError"))
        (first,) = cluster.get("Pod", "default/p").status.conditions
        assert (first.reason, first.last_transition_time) == ("SchedulerError", 1.0)
        cluster.patch_pod_status(stored, condition=condition(status="True"))
        (second,) = cluster.get("Pod", "default/p").status.conditions
        assert second.last_transition_time == 2.0

    def test_a_patch_without_change_writes_nothing(self, cluster: InMemoryCluster) -> None:
        stored = cluster.create(pod())
        cluster.patch_pod_status(stored, condition=condition(), nominated_node_name="n")
        patched = cluster.get("Pod", "default/p")
        cluster.patch_pod_status(stored, condition=condition(), nominated_node_name="n")
        cluster.patch_pod_status(stored)
        assert cluster.get("Pod", "default/p") is patched

    def test_patch_and_evict_check_presence_and_uid(self, cluster: InMemoryCluster) -> None:
        for call in (cluster.patch_pod_status, cluster.evict):
            with pytest.raises(NotFound):
                call(pod())
        cluster.create(pod())
        for call in (cluster.patch_pod_status, cluster.evict):
            with pytest.raises(Conflict):
                call(pod(uid="other"))

    def test_evict_says_why_and_deletes(self, cluster: InMemoryCluster) -> None:
        why = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler")
        stored = cluster.create(pod())
        events: list[WatchEvent] = []
        cluster.watch(events.append)
        cluster.evict(stored, condition=why)
        assert [event.type for event in events[1:]] == ["MODIFIED", "DELETED"]
        assert events[2].old is events[1].new
        assert events[2].old.status.condition("DisruptionTarget").reason == "PreemptionByScheduler"
        assert cluster.list("Pod") == []

    def test_evicting_what_is_being_deleted_does_nothing(self) -> None:
        cluster = InMemoryCluster(graceful=True)
        stored = cluster.create(pod())
        cluster.bind(stored, "n")
        cluster.evict(stored)
        leaving = cluster.get("Pod", "default/p")
        assert leaving.is_terminating
        assert leaving.status.condition("DisruptionTarget").status == "True"
        cluster.evict(stored)
        assert cluster.get("Pod", "default/p") is leaving


class TestRecording:
    def test_the_latest_events_are_kept(self) -> None:
        cluster = InMemoryCluster(clock=lambda: NOW, event_capacity=2)
        for reason in "abc":
            cluster.record_event(pod(uid="u"), "Normal", reason, "text", "Binding")
        assert [event.reason for event in cluster.events] == ["b", "c"]
        assert cluster.events[0].key == "default/p"
        assert cluster.events[0].time == NOW

    def test_none_are_kept_if_not_wanted(self) -> None:
        cluster = InMemoryCluster(event_capacity=0)
        cluster.record_event(pod(), "Warning", "r", "m")
        assert cluster.events == ()


class TestFailures:
    def test_calls_fail_as_often_as_ordered_and_do_nothing(self, cluster: InMemoryCluster) -> None:
        stored = cluster.create(pod())
        cluster.fail_next("bind", BindRefused("no"), times=2)
        for _ in range(2):
            with pytest.raises(BindRefused, match="no"):
                cluster.bind(stored, "n")
        assert cluster.get("Pod", "default/p") is stored
        cluster.bind(stored, "n")

    def test_only_matching_calls_fail(self, cluster: InMemoryCluster) -> None:
        a, b = cluster.create(pod("a")), cluster.create(pod("b"))
        cluster.fail_next("evict", ClusterError, match=lambda subject: subject.name == "b")
        cluster.evict(a)
        with pytest.raises(ClusterError):
            cluster.evict(b)

    def test_an_answer_can_be_lost_after_the_fact(self, cluster: InMemoryCluster) -> None:
        stored = cluster.create(pod())
        cluster.fail_next("bind", OutcomeUnknown("timed out"), applied=True)
        with pytest.raises(OutcomeUnknown):
            cluster.bind(stored, "n")
        assert cluster.get("Pod", "default/p").node_name == "n"

    def test_every_operation_can_fail(self, cluster: InMemoryCluster) -> None:
        stored = cluster.create(pod())
        calls = {
            "get": lambda: cluster.get("Pod", "k"),
            "list": lambda: cluster.list("Pod"),
            "watch": lambda: cluster.watch(print),
            "create": lambda: cluster.create(pod("x")),
            "update": lambda: cluster.update(stored),
            "apply": lambda: cluster.apply(stored),
            "delete": lambda: cluster.delete(stored),
            "bind": lambda: cluster.bind(stored, "n"),
            "patch_pod_status": lambda: cluster.patch_pod_status(stored),
            "evict": lambda: cluster.evict(stored),
            "record_event": lambda: cluster.record_event(stored, "Normal", "r", "m"),
        }
        for operation, call in calls.items():
            cluster.fail_next(operation, ClusterError(operation))
            with pytest.raises(ClusterError, match=operation):
                call()
        assert cluster.list("Pod") == [stored]

    def test_orders_are_checked(self, cluster: InMemoryCluster) -> None:
        with pytest.raises(ValueError, match="no operation 'bond'"):
            cluster.fail_next("bond", ClusterError)
        with pytest.raises(ValueError, match="times is 0"):
            cluster.fail_next("bind", ClusterError, times=0)
