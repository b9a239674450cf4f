"""Watchers receive every event, in one order, from whichever thread or handler the cluster is changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from schedframe.api import Node, ObjectMeta, Pod
from schedframe.cluster import BindConflict, InMemoryCluster, WatchEvent


def pod(name: str = "p") -> Pod:
    return Pod(ObjectMeta(name=name, namespace="default"))


def node(name: str = "n") -> Node:
    return Node(ObjectMeta(name=name))


def told(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, (event.new or event.old).name) for event in events]


def test_the_present_state_comes_first_then_changes() -> None:
    cluster = InMemoryCluster([node(), pod("a")])
    events: list[WatchEvent] = []
    cluster.watch(events.append)
    cluster.create(pod("b"))
    cluster.update(pod("a"))
    cluster.delete(pod("b"))
    assert told(events) == [
        ("ADDED", "n"),
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("DELETED", "b"),
    ]
    assert events[3].old is events[1].new
    assert events[4] == WatchEvent("DELETED", "Pod", events[2].new, None)


def test_kinds_select_and_order_what_is_told() -> None:
    cluster = InMemoryCluster([pod(), node()])
    events: list[WatchEvent] = []
    cluster.watch(events.append, ["Node", "Pod"])
    assert [event.kind for event in events] == ["Node", "Pod"]
    only_nodes: list[WatchEvent] = []
    cluster.watch(only_nodes.append, iter(["Node"]))
    cluster.update(pod())
    cluster.update(node())
    assert told(only_nodes) == [("ADDED", "n"), ("MODIFIED", "n")]


def test_a_closed_watch_is_told_nothing_more() -> None:
    cluster = InMemoryCluster()
    first: list[WatchEvent] = []
    second: list[WatchEvent] = []
    watch = cluster.watch(first.append)
    cluster.watch(second.append)
    cluster.create(pod("a"))
    watch.close()
    watch.close()
    cluster.create(pod("b"))
    assert told(first) == [("ADDED", "a")]
    assert told(second) == [("ADDED", "a"), ("ADDED", "b")]


def test_closing_from_the_handler_stops_at_once() -> None:
    cluster = InMemoryCluster([pod("a"), pod("b")])
    events: list[WatchEvent] = []

    def once(event: WatchEvent) -> None:
        events.append(event)
        if event.new.name == "c":
            watch.close()

    watch = cluster.watch(once)
    cluster.create(pod("c"))
    cluster.create(pod("d"))
    assert told(events)[2:] == [("ADDED", "c")]


def test_what_a_handler_does_is_told_to_everybody_in_the_same_order() -> None:
    cluster = InMemoryCluster()
    seen_by: dict[str, list[tuple[str, str]]] = {"first": [], "second": []}

    def first(event: WatchEvent) -> None:
        seen_by["first"].extend(told([event]))
        if event.type == "ADDED" and event.new.name == "a":
            cluster.create(pod("b"))
            cluster.delete(pod("a"))

    def second(event: WatchEvent) -> None:
        seen_by["second"].extend(told([event]))

    cluster.watch(first)
    cluster.watch(second)
    cluster.create(pod("a"))
    assert seen_by["first"] == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert seen_by["second"] == seen_by["first"]


def test_a_watch_opened_by_a_handler_joins_at_its_place() -> None:
    cluster = InMemoryCluster([pod("a")])
    late: list[WatchEvent] = []

    def opener(event: WatchEvent) -> None:
        if event.type == "ADDED" and event.new.name == "b":
            cluster.watch(late.append)
            assert late == [], "its first events come after the one under way"
            cluster.update(pod("a"))

    cluster.watch(opener)
    cluster.create(pod("b"))
    assert told(late) == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a")]
    assert late[2].old is late[0].new


def test_errors_of_handlers_surface_when_everybody_was_told() -> None:
    cluster = InMemoryCluster()
    events: list[WatchEvent] = []

    def broken(event: WatchEvent) -> None:
        raise RuntimeError(event.new.name)

    cluster.watch(broken)
    cluster.watch(events.append)
    with pytest.raises(RuntimeError, match="a"):
        cluster.create(pod("a"))
    assert told(events) == [("ADDED", "a")]
    assert cluster.get("Pod", "default/a") is not None


def test_several_errors_surface_in_a_group() -> None:
    cluster = InMemoryCluster()
    for error in (RuntimeError, KeyError):
        cluster.watch(raising(error))
    with pytest.raises(ExceptionGroup) as several:
        cluster.create(pod())
    assert [type(error) for error in several.value.exceptions] == [RuntimeError, KeyError]


def test_a_watch_whose_first_events_fail_is_not_opened() -> None:
    cluster = InMemoryCluster([pod("a")])
    with pytest.raises(RuntimeError):
        cluster.watch(raising(RuntimeError))
    cluster.create(pod("b"))


def raising(error: type[Exception]) -> Callable[[WatchEvent], None]:
    def handler(event: WatchEvent) -> None:
        raise error

    return handler


class Follower:
    """Apply each event to a copy of the state, and fail if it does not follow from that state."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}
        self.versions: list[int] = []

    def __call__(self, event: WatchEvent) -> None:
        if event.type == "ADDED":
            assert event.old is None
            assert event.new.key not in self.state
        else:
            assert self.state[event.old.key] is event.old
        if event.new is None:
            del self.state[event.old.key]
        else:
            self.state[event.new.key] = event.new
            self.versions.append(int(event.new.metadata.resource_version))


def in_threads(count: int, work: Callable[[int], None]) -> None:
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_watchers_that_join_while_threads_write_follow_to_the_end() -> None:
    cluster = InMemoryCluster()
    followers: list[Follower] = []
    early = Follower()
    cluster.watch(early)

    def work(number: int) -> None:
        for step in range(100):
            created = cluster.create(pod(f"{number}-{step}"))
            if step % 10 == 0:
                follower = Follower()
                followers.append(follower)
                cluster.watch(follower)
            cluster.bind(created, "n")
            if step % 3 == 0:
                cluster.delete(created)

    in_threads(4, work)
    cluster.create(pod("last"))
    stored = {obj.key: obj for obj in cluster.list("Pod")}
    assert early.versions == sorted(early.versions)
    assert early.state == stored
    assert len(followers) == 40
    assert all(follower.state == stored for follower in followers)
    cluster.check_invariants()


def test_threads_that_race_to_bind_agree_on_one_winner() -> None:
    cluster = InMemoryCluster()
    stored = cluster.create(pod())
    won: list[int] = []

    def work(number: int) -> None:
        try:
            cluster.bind(stored, f"n{number}")
        except BindConflict:
            return
        won.append(number)

    in_threads(8, work)
    assert [cluster.get("Pod", "default/p").node_name] == [f"n{number}" for number in won]


def test_objects_in_events_are_the_stored_ones() -> None:
    cluster = InMemoryCluster()
    events: list[WatchEvent] = []
    cluster.watch(events.append)
    stored = cluster.create(evolve(node(), metadata=ObjectMeta(name="n", labels={"a": "b"})))
    assert events[0].new is stored
