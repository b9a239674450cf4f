"""Watches that go wrong: whatever is lost or mixed up, a relist brings the watcher back to the truth."""

from __future__ import annotations

from random import Random

import pytest

from schedframe.api import Node, ObjectMeta, Pod
from schedframe.cluster import ClusterPort, FlakyCluster, FlakyWatch, InMemoryCluster, NotFound, WatchEvent


def pod(name: str, **labels: str) -> Pod:
    return Pod(ObjectMeta(name=name, namespace="default", labels=labels))


def told(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, (event.new or event.old).name) for event in events]


@pytest.fixture
def cluster() -> InMemoryCluster:
    return InMemoryCluster([pod("a")])


@pytest.fixture
def events() -> list[WatchEvent]:
    return []


@pytest.fixture
def watch(cluster: InMemoryCluster, events: list[WatchEvent]) -> FlakyWatch:
    return FlakyWatch(cluster, events.append)


def test_later_events_wait_until_delivered(
    cluster: InMemoryCluster, watch: FlakyWatch, events: list[WatchEvent]
) -> None:
    cluster.create(pod("b"))
    cluster.create(pod("c"))
    assert told(events) == [("ADDED", "a")]
    watch.deliver(1)
    assert told(events) == [("ADDED", "a"), ("ADDED", "b")]
    watch.deliver()
    assert told(events)[2:] == [("ADDED", "c")]
    watch.deliver()
    assert len(events) == 3


def test_a_deletion_that_got_lost_is_learned_from_a_list(
    cluster: InMemoryCluster, watch: FlakyWatch, events: list[WatchEvent]
) -> None:
    cluster.update(pod("a", version="2"))
    cluster.delete(pod("a"))
    watch.drop()
    watch.drop()
    watch.relist()
    assert events[1:] == [WatchEvent("DELETED", "Pod", events[0].new, None, old_is_stale=True)]


def test_deleted_and_created_again_is_one_change_with_two_uids(
    cluster: InMemoryCluster, watch: FlakyWatch, events: list[WatchEvent]
) -> None:
    cluster.delete(pod("a"))
    again = cluster.create(pod("a"))
    watch.relist()
    assert watch.pending == []
    assert events[1:] == [WatchEvent("MODIFIED", "Pod", events[0].new, again)]
    assert events[1].old.uid != events[1].new.uid


def test_relist_tells_only_what_differs_unless_asked(
    cluster: InMemoryCluster, watch: FlakyWatch, events: list[WatchEvent]
) -> None:
    cluster.create(pod("b"))
    watch.relist()
    assert told(events)[1:] == [("ADDED", "b")]
    watch.relist(resync=True)
    assert told(events)[2:] == [("MODIFIED", "a"), ("MODIFIED", "b")]
    assert events[2].old is events[2].new


def test_relist_finds_kinds_that_are_new(
    cluster: InMemoryCluster, watch: FlakyWatch, events: list[WatchEvent]
) -> None:
    cluster.create(Node(ObjectMeta(name="n")))
    watch.relist()
    assert told(events)[1:] == [("ADDED", "n")]


def test_duplicates_and_overtaking_still_make_a_story(
    cluster: InMemoryCluster, watch: FlakyWatch, events: list[WatchEvent]
) -> None:
    cluster.create(pod("b"))
    watch.duplicate()
    cluster.delete(pod("b"))
    watch.duplicate(2)
    watch.deliver()
    assert told(events)[1:] == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "b")]
    cluster.update(pod("a", version="2"))
    cluster.delete(pod("a"))
    watch.move(1, 0)
    watch.deliver()
    assert told(events)[4:] == [("DELETED", "a"), ("ADDED", "a")]
    watch.relist()
    assert told(events)[6:] == [("DELETED", "a")]


def test_shuffling_keeps_the_order_within_a_kind(cluster: InMemoryCluster, watch: FlakyWatch) -> None:
    for number in range(6):
        cluster.create(pod(f"p{number}"))
        cluster.create(Node(ObjectMeta(name=f"n{number}")))
    before = [event.new.key for event in watch.pending]
    watch.shuffle(Random(3))
    after = [event.new.key for event in watch.pending]
    assert after != before
    for prefix in ("default/p", "n"):
        assert [key for key in after if key.startswith(prefix)] == [
            f"{prefix}{number}" for number in range(6)
        ]


def test_a_closed_watch_is_silent(
    cluster: InMemoryCluster, watch: FlakyWatch, events: list[WatchEvent]
) -> None:
    cluster.create(pod("b"))
    watch.close()
    cluster.create(pod("c"))
    watch.deliver()
    watch.relist()
    assert told(events) == [("ADDED", "a")]


def test_a_flaky_cluster_is_the_same_cluster_but_for_its_watches(cluster: InMemoryCluster) -> None:
    flaky = FlakyCluster(cluster)
    assert isinstance(flaky, ClusterPort)
    events: list[WatchEvent] = []
    subscription = flaky.watch(events.append, ["Pod"])
    stored = flaky.get("Pod", "default/a")
    assert flaky.list("Pod") == [stored]
    flaky.bind(stored, "n")
    flaky.patch_pod_status(stored, nominated_node_name="n")
    flaky.record_event(stored, "Normal", "Scheduled", "assigned")
    assert [event.reason for event in cluster.events] == ["Scheduled"]
    flaky.evict(stored)
    with pytest.raises(NotFound):
        flaky.evict(stored)
    assert told(events) == [("ADDED", "a")]
    (watch,) = flaky.watches
    watch.deliver()
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]
    subscription.close()
    assert watch.closed
