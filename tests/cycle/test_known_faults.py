"""The ways in which schedulers are known to have lost, stuck or doubled pods, one by one.

Those that concern the queue alone are in ``tests/queue/test_known_faults.py``, those of binding
in ``test_known_faults_of_binding.py``, those of preemption in ``test_preemption_known_faults.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from attrs import evolve

from schedframe import (
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Pod,
    Status,
)

from .build import World, make_node, make_pod, plugin_class
from .executors import ManualExecutor
from .flaky import assert_agrees, flaky_world

# ---- events ----------------------------------------------------------------------------------------------


def test_in_flight_marker_removed_so_that_concurrent_events_are_missed() -> None:
    # What happens while a pod waits in permit counts when it is turned down.
    answers = iter([Status.wait(10)])
    world = World({"X": plugin_class(permit=lambda self: next(answers, None), events_to_register=_nodes)})
    world.create(make_node(), make_pod())
    world.settle()
    assert world.where() == "waiting"
    world.create(make_node("other"))
    world.settle()
    world.clock.advance(10)
    world.settle()
    assert world.where() == "placed"


def _nodes(self: Any) -> Sequence[EventRegistration]:
    return (EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD)),)


@pytest.mark.parametrize("then", ["deleted", "changed"])
@pytest.mark.parametrize("where", ["placed", "pending"])
def test_the_end_of_a_pod_is_missed(where: str, then: str) -> None:
    # The event that it ended is lost; all that comes later speaks of a pod that has ended already.
    world, watch = flaky_world()
    world.create(make_node(cpu=1))
    world.create(make_pod(cpu=1 if where == "placed" else 2))
    watch.deliver()
    world.settle()
    watch.deliver()
    world.settle()
    assert world.where() == ("placed" if where == "placed" else "unschedulable")
    pod = world.cluster.get("Pod", "default/p")
    ended = world.cluster.update(evolve(pod, status=evolve(pod.status, phase="Succeeded")))
    watch.drop(0)
    if then == "deleted":
        world.cluster.delete("Pod", "default/p")
    else:
        world.cluster.update(evolve(ended, metadata=evolve(ended.metadata, labels={"a": "b"})))
    watch.deliver()
    world.settle()
    core = world.scheduler.core
    assert (dict(core.pending), core.cache.pod_count, len(core.queue)) == ({}, 0, 0)


def test_an_update_of_a_waiting_pod_is_missed() -> None:
    def toleration_added(pod: Pod, old: Any, new: Any) -> bool:
        return isinstance(new, Pod) and new.uid == pod.uid and "fixed" in new.labels

    def events(self: Any) -> Sequence[EventRegistration]:
        changed = ClusterEvent(EventResource.POD, Action.UPDATE_POD_LABEL)
        return (EventRegistration(changed, toleration_added),)

    answers = iter([Status.wait(10)])
    world = World({"X": plugin_class(permit=lambda self: next(answers, None), events_to_register=events)})
    world.create(make_node(), make_pod())
    world.settle()
    world.change_pod("p", labels={"fixed": "yes"})
    world.settle()
    world.clock.advance(10)
    world.settle()
    assert world.where() == "placed"


def test_an_event_of_the_pod_itself_while_it_is_assumed_queues_it_again() -> None:
    world, watch = flaky_world()
    world.create(make_node(), make_pod())
    watch.deliver()
    world.change_pod("p", labels={"late": "news"})
    world.cycle()
    assert world.where() == "assumed"
    watch.deliver(1)
    world.sync()
    assert world.where() == "assumed"
    assert len(world.scheduler.core.queue) == 0
    watch.deliver()
    world.settle()
    assert_agrees(world)


def test_delete_and_create_merged_into_an_update() -> None:
    world, watch = flaky_world()
    world.create(make_node(cpu=2), make_pod(cpu=2))
    watch.deliver()
    world.settle()
    assert world.node_of() == "n"
    watch.deliver()
    world.settle()
    world.delete("p")
    world.create(make_pod(cpu=1))
    watch.relist()
    # One event tells both: the room of the old pod is free, the new one is pending.
    assert world.settle() == 1
    watch.deliver()
    world.settle()
    assert world.node_of() == "n"
    assert_agrees(world)
    assert world.scheduler.core.cache.table.requested("cpu")[0] == 1000


def test_node_delete_and_create_merged_into_an_update() -> None:
    world, watch = flaky_world()
    world.create(make_node(cpu=1, labels={"old": "yes"}), make_pod(cpu=2))
    watch.deliver()
    world.settle()
    assert world.where() == "unschedulable"
    world.cluster.delete(make_node())
    world.create(make_node(cpu=4))
    watch.relist()
    assert world.pass_time(2) == 1
    assert world.node_of() == "n"


@pytest.mark.parametrize("placed", [True, False])
def test_final_state_only_known_by_relist(placed: bool) -> None:
    # The pod was bound by another scheduler and then deleted, and the watcher saw neither.
    world, watch = flaky_world()
    world.create(make_node(cpu=2), make_pod(cpu=2, gates=("held",)))
    watch.deliver()
    world.settle()
    if placed:
        freed = evolve(world.pod(), spec=evolve(world.pod().spec, scheduling_gates=()))
        world.cluster.update(freed.with_node_name("n"))
    world.delete("p")
    watch.relist()
    world.settle()
    core = world.scheduler.core
    assert not core.pending
    assert (len(core.queue), core.cache.pod_count, len(core.queue.nominator)) == (0, 0, 0)
    assert_agrees(world)


def test_missed_delete() -> None:
    world, watch = flaky_world()
    world.create(make_node(cpu=2), make_pod(cpu=2))
    for _ in range(2):
        watch.deliver()
        world.settle()
    world.create(make_pod("next", cpu=2))
    watch.deliver()
    world.settle()
    assert world.where("next") == "unschedulable"
    world.delete("p")
    watch.drop()
    world.settle()
    assert world.scheduler.core.cache.pod_count == 1
    watch.relist()
    world.pass_time(2)
    watch.deliver()
    world.settle()
    assert world.node_of("next") == "n"
    assert_agrees(world)


def test_a_node_add_dropped_and_its_later_update_hinted_skip() -> None:
    # The plugin heard of an update of a node that it never heard of; for the watcher the node is added then.
    def only_additions(pod: Pod, old: Any, new: Any) -> bool:
        return old is None

    def events(self: Any) -> Sequence[EventRegistration]:
        event = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return (EventRegistration(event, only_additions),)

    def wants_good_nodes(self: Any, node_info: Any) -> Status | None:
        return None if node_info.node.labels.get("good") else Status.unschedulable("not good")

    plugin = plugin_class(filter=wants_good_nodes, events_to_register=events)
    world, watch = flaky_world(plugins={"X": plugin})
    world.create(make_node("bad"), make_pod())
    watch.deliver()
    world.settle()
    watch.deliver()
    world.settle()
    assert world.where() == "unschedulable"
    world.create(make_node("good"))
    watch.drop()
    world.cluster.update(make_node("good", labels={"good": "yes"}))
    watch.deliver()
    world.pass_time(2)
    assert world.node_of() == "good"


def test_events_that_come_twice_change_nothing_twice() -> None:
    world, watch = flaky_world()
    world.create(make_node(cpu=4), make_pod(cpu=3))
    for index in (1, 0):
        watch.duplicate(index)
    watch.deliver()
    assert world.settle() == 1
    watch.duplicate()
    watch.deliver()
    world.settle()
    assert_agrees(world)
    assert world.scheduler.core.cache.table.requested("cpu")[0] == 3000


def test_a_pod_is_known_before_its_node() -> None:
    world, watch = flaky_world()
    world.create(make_node(cpu=4), make_pod(cpu=3), make_pod("runs", cpu=3, node_name="n"))
    watch.shuffle(Random(1))
    while watch.pending:
        watch.move(len(watch.pending) - 1, 0)
        watch.deliver(1)
        world.settle()
    assert world.where() in ("unschedulable", "error_backoff")
    assert_agrees(world)


# ---- attempts --------------------------------------------------------------------------------------------


def test_stale_unschedulable_plugins_after_an_error() -> None:
    answers = iter([Status.unschedulable("no"), Status.from_error("broken")])
    plugin = plugin_class(filter=lambda self: next(answers, None), events_to_register=lambda self: ())
    world = World({"X": plugin})
    world.create(make_node(), make_pod())
    world.settle()
    assert world.where() == "unschedulable"
    world.scheduler.core.queue.activate([world.pod()])
    world.settle()
    # After an error no plugin's events decide: time does.
    assert world.where() == "error_backoff"
    world.pass_time(2)
    assert world.node_of() == "n"


def test_a_skipped_pod_never_marked_done() -> None:
    world = World()
    world.create(make_node(cpu=1), make_pod(cpu=2, finalizers=("test/held",)))
    world.settle()
    world.delete("p")
    world.scheduler.core.queue.activate([world.pod()])
    world.settle()
    queue = world.scheduler.core.queue
    assert len(queue.in_flight) == 0
    # With no attempt in flight no event is kept.
    world.create(make_node("other"))
    world.settle()
    queue.check_invariants()
    assert list(queue.in_flight.log()) == []


def test_a_pod_that_the_cache_has_is_not_placed_again() -> None:
    world = World()
    world.create(make_node(), make_pod(), make_pod("other"))
    world.settle()
    core = world.scheduler.core
    core.queue.add(world.pod().with_node_name(""))
    core.queue.add(world.pod("other").with_node_name(""))
    assert world.settle() == 0
    assert len(core.queue.in_flight) == 0
    assert core.cache.pod_count == 2


def test_pod_recreated_during_failure_handling_and_done_called_with_the_new_uid() -> None:
    executor = ManualExecutor()
    world = World(executor=executor)
    world.create(make_node(cpu=2), make_pod(cpu=2))
    world.cycle()
    old = world.pod().uid
    world.delete("p")
    world.create(make_pod(cpu=2))
    world.sync()
    assert world.where() == "active"
    world.cycle()
    assert world.where() == "binding"
    assert set(world.scheduler.core.binding) == {old, world.pod().uid}
    executor.finish_all()
    world.sync()
    assert world.node_of() == "n"
    world.settle()
    assert_agrees(world)
    assert len(world.scheduler.core.queue.in_flight) == 0


def test_one_pods_broken_reference_blocking_all_others() -> None:
    # A plugin that cannot resolve what one pod refers to, at whichever point: the others go on.
    def fail_for_broken(self: Any, pod: Pod) -> None:
        if pod.name == "broken":
            raise LookupError("there is no such claim")

    points = ("pre_enqueue", "pod_signature", "pre_filter", "filter", "reserve", "permit", "pre_bind")
    for point in points:
        world = World({"X": plugin_class(**{point: fail_for_broken})})
        world.create(make_node(), make_pod("broken", priority=100), *(make_pod(f"p{i}") for i in range(3)))
        world.settle()
        assert [world.node_of(f"p{i}") for i in range(3)] == ["n"] * 3, point
        world.pass_time(20)


def test_10000_gated_pods_scanned_at_every_delete() -> None:
    asked: list[str] = []

    def count(self: Any, pod: Pod) -> Status | None:
        asked.append(pod.name)
        return Status.unresolvable("held") if pod.name.startswith("gated") else None

    world = World({"Gate": plugin_class(pre_enqueue=count, events_to_register=_nodes)})
    world.create(make_node(pods=1000))
    world.create(*(make_pod(f"gated{i}") for i in range(10_000)))
    world.create(*(make_pod(f"p{i}") for i in range(20)))
    world.scheduler.run_until_idle()
    asked.clear()
    for i in range(20):
        world.delete(f"p{i}")
        world.scheduler.run_until_idle()
    assert not asked
