"""Which deletions wake a pod whose victims still end."""

from __future__ import annotations

from schedframe import Pod
from schedframe.framework import pods_being_preempted
from schedframe.queue import ASSIGNED_POD_DELETE
from tests.plugins.events import hint_of

from .support import Arena, running, waiting


def arena_with_victim(**details: object) -> Arena:
    """Node n with a victim that still ends, and a full node m."""
    arena = Arena({"n": 4, "m": 4})
    options = {"preempted": True, "finalizers": ("test/held",)} | details
    arena.create(running("victim", cpu=4, **options))  # type: ignore[arg-type]  # of many types
    arena.create(running("other", node="m", cpu=3))
    arena.world.delete("victim")
    return arena


def wakes(arena: Arena, pod: Pod, left: Pod) -> bool:
    """Whether the deletion of *left* makes the scheduler try *pod* again."""
    arena.world.scheduler.sync()
    return hint_of(arena.framework.plan.plugins["NodeResourcesFit"], ASSIGNED_POD_DELETE, pod, left, None)


def test_a_deletion_that_makes_no_room_does_not_wake_it() -> None:
    arena = arena_with_victim()
    assert not wakes(arena, waiting(nominated="n"), running("gone", node="m"))
    # Nor does that of the first of several victims.
    assert not wakes(arena, waiting(nominated="n"), running("gone", node="n"))
    # A pod without a nomination may preempt on m, so it is tried.
    assert wakes(arena, waiting(), running("gone", node="m"))


def test_a_deletion_that_makes_room_wakes_it() -> None:
    arena = arena_with_victim()
    assert wakes(arena, waiting(cpu=1, nominated="n"), running("gone", node="m"))


def test_the_room_of_pods_that_are_nominated_there_is_not_free() -> None:
    arena = arena_with_victim()
    arena.create(waiting("later", cpu=1, nominated="m"))
    assert not wakes(arena, waiting(cpu=1, nominated="n"), running("gone", node="m"))
    assert wakes(arena, waiting(cpu=1, priority=11, nominated="n"), running("gone", node="m"))


def test_once_the_victims_are_gone_every_deletion_wakes_it() -> None:
    arena = arena_with_victim(finalizers=())
    assert wakes(arena, waiting(nominated="n"), running("gone", node="m"))


def test_a_pod_that_ends_for_another_reason_or_is_more_important_is_no_victim() -> None:
    for details in ({"preempted": False}, {"priority": 10}):
        arena = arena_with_victim(**details)
        assert wakes(arena, waiting(nominated="n"), running("gone", node="m")), details


def test_pods_being_preempted() -> None:
    arena = arena_with_victim()
    arena.world.scheduler.sync()
    assert [pod.name for pod in pods_being_preempted(arena.handle.table, "n")] == ["victim"]
    assert pods_being_preempted(arena.handle.table, "m") == []
    assert pods_being_preempted(arena.handle.table, "unknown") == []
