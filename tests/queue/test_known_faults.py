"""Faults that schedulers are known to have had, by name: this queue must not have them."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Action, ClusterEvent
from schedframe.api import Pod
from schedframe.queue import ASSIGNED_POD_DELETE, Pool, PriorityQueue
from schedframe.queue.unschedulable import UnschedulablePods

from .support import (
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    ManualClock,
    fail,
    node,
    on,
    pod,
    pool_of,
    queue,
)

POD_DELETE = ClusterEvent("Pod", Action.DELETE)


def test_in_flight_marker_removed_so_that_concurrent_events_are_missed(clock: ManualClock) -> None:
    """Ending one flight must not lose events that another pod in flight still needs."""
    pending = queue(clock, {"P": (on(NODE_ADD),)})
    pending.add(pod("first"))
    pending.add(pod("second"))
    first, second = pending.pop(), pending.pop()
    assert first is not None
    assert second is not None
    pending.move_all(NODE_ADD, None, node())
    pending.done(first.uid)
    pending.add(pod("third"))
    third = pending.pop()
    assert third is not None
    pending.done(third.uid)
    outcome = pending.add_unschedulable(second, second.pod, unschedulable_plugins=["P"])
    assert outcome.pool is Pool.BACKOFF


def test_the_same_pod_popped_twice_keeps_the_first_marker(clock: ManualClock) -> None:
    """Overwriting the marker would lose the events since the first pop, and leak it."""
    pending = queue(clock, {"P": (on(NODE_ADD),)})
    pending.add(pod())
    info = pending.pop()
    assert info is not None
    pending.move_all(NODE_ADD, None, node())
    pending.add(pod(version="2"))
    assert pending.pop() is None
    assert pending.add_unschedulable(info, pod(version="2"), unschedulable_plugins=["P"]).pool is Pool.BACKOFF
    assert pending.counts()[Pool.IN_FLIGHT] == 0


def test_stale_unschedulable_plugins_after_an_error(clock: ManualClock) -> None:
    """After an error the rejectors of the attempt before must not decide where the pod waits, or for what."""
    pending = queue(clock, {"P": (on(NODE_ADD),)})
    pending.add(pod())
    fail(pending, "P", pending_plugins=("Q",))
    pending.activate([pod()])
    info = fail(pending)
    assert (info.unschedulable_plugins, info.pending_plugins) == (frozenset(), frozenset())
    assert pool_of(pending, "p") == "error_backoff"


class TestPushWithoutWaking:
    """Every change that makes a pod poppable must call on_ready."""

    @pytest.fixture
    def calls(self) -> list[str]:
        return []

    @pytest.fixture
    def pending(self, clock: ManualClock, calls: list[str]) -> PriorityQueue:
        return queue(
            clock,
            {"P": (on(NODE_ADD), on(ClusterEvent("UnschedulablePod", Action.UPDATE_POD_LABEL)))},
            {"G": lambda pod: pod.labels.get("gate")},
            on_ready=lambda: calls.append("ready"),
        )

    def test_add(self, pending: PriorityQueue, calls: list[str]) -> None:
        pending.add(pod())
        assert calls == ["ready"]
        pending.add(pod("q", labels={"gate": "shut"}))
        assert calls == ["ready"]

    def test_update_of_an_unknown_pod(self, pending: PriorityQueue, calls: list[str]) -> None:
        pending.update(pod(), pod(version="2"))
        assert calls == ["ready"]

    def test_update_that_helps(self, pending: PriorityQueue, calls: list[str]) -> None:
        pending.add(pod())
        fail(pending, "P")
        calls.clear()
        pending.update(pod(), pod(version="2"))
        assert calls == []
        pending.update(pod(version="2"), pod(version="3", labels={"a": "b"}))
        assert (calls, pool_of(pending, "p")) == (["ready"], "backoff")

    def test_an_event_once_for_all_its_pods(self, pending: PriorityQueue, calls: list[str]) -> None:
        for name in "abc":
            pending.add(pod(name))
        for _ in range(3):
            fail(pending, "P")
        calls.clear()
        pending.move_all(NODE_LABEL, node(), node())
        assert calls == []
        pending.move_all(NODE_ADD, None, node())
        assert calls == ["ready"]

    def test_a_failed_attempt_that_is_queued_at_once(self, pending: PriorityQueue, calls: list[str]) -> None:
        pending.add(pod())
        calls.clear()
        fail(pending)
        assert calls == ["ready"]

    def test_activation_and_time(self, pending: PriorityQueue, calls: list[str], clock: ManualClock) -> None:
        pending.add(pod())
        fail(pending, "P")
        calls.clear()
        pending.activate([pod()])
        assert calls == ["ready"]
        fail(pending)
        calls.clear()
        clock.advance(3)
        pending.flush()
        assert calls == ["ready"]
        fail(pending, "P")
        calls.clear()
        clock.advance(301)
        pending.flush()
        assert calls == ["ready"]


class TestRecreatedPod:
    def test_while_its_failure_is_handled(self, clock: ManualClock) -> None:
        """Done must be for the uid that was popped, not for that of the pod which took its name."""
        pending = queue(clock, {"P": (on(NODE_ADD),)})
        pending.add(pod(uid="old"))
        info = pending.pop()
        assert info is not None
        pending.delete(pod(uid="old"))
        pending.add(pod(uid="new"))
        successor = pending.pop()
        assert successor is not None
        outcome = pending.add_unschedulable(info, pod(uid="new"), unschedulable_plugins=["P"])
        assert outcome.pool is None
        assert [flying.uid for flying in pending.in_pool(Pool.IN_FLIGHT)] == ["new"]
        pending.move_all(NODE_ADD, None, node())
        assert (
            pending.add_unschedulable(successor, successor.pod, unschedulable_plugins=["P"]).pool
            is Pool.BACKOFF
        )

    def test_delete_and_create_merged_into_an_update(self, clock: ManualClock) -> None:
        """The new pod starts from nothing: no attempts, no backoff, no rejectors, no nomination."""
        pending = queue(clock)
        pending.add(pod(uid="old"))
        fail(pending, "P")
        pending.nominator.add(pod(uid="old"), "n")
        clock.advance(1)
        pending.update(pod(uid="old"), pod(uid="new", version="9"))
        info = pending.get("default/p")
        assert info is not None
        assert (info.uid, info.pool, info.attempts, info.timestamp) == ("new", Pool.ACTIVE, 0, clock())
        assert not info.unschedulable_plugins
        assert not pending.nominator
        pending.check_invariants()

    def test_merged_into_an_update_in_flight(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod(uid="old"))
        info = pending.pop()
        assert info is not None
        pending.update(pod(uid="old"), pod(uid="new"))
        assert pool_of(pending, "p") == "active"
        assert pending.add_unschedulable(info, pod(uid="new")).pool is None

    def test_created_again_with_the_same_uid_while_in_flight(self, clock: ManualClock) -> None:
        """A relist may report a deletion that did not happen."""
        pending = queue(clock)
        pending.add(pod())
        info = pending.pop()
        assert info is not None
        pending.delete(pod())
        pending.add(pod())
        assert pending.add_unschedulable(info, pod(), unschedulable_plugins=["P"]).pool is Pool.UNSCHEDULABLE


class TestDeletedPodLeftInTheNominator:
    def test_deleted_while_waiting(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod(nominated="n"))
        pending.delete(pod())
        assert not pending.nominator

    def test_nominated_after_its_deletion(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod())
        info = pending.pop()
        assert info is not None
        pending.delete(pod())
        pending.nominator.add(info.pod, "n")
        assert not pending.nominator
        assert pending.add_unschedulable(info, info.pod, unschedulable_plugins=["P"]).pool is None
        assert not pending.nominator


def test_gated_pods_skipping_a_second_gate(clock: ManualClock) -> None:
    """A pod let through by the gate that held it must still pass the others, on every way in."""
    shut = {"G", "H"}
    pending = queue(
        clock,
        {"G": (on(NODE_ADD),), "H": (on(NODE_LABEL),)},
        {"G": lambda pod: "G" if "G" in shut else None, "H": lambda pod: "H" if "H" in shut else None},
    )
    pending.add(pod())
    shut.remove("G")
    pending.move_all(NODE_ADD, None, node())
    info = pending.get("default/p")
    assert info is not None
    assert (info.pool, info.gating_plugin) == (Pool.GATED, "H")
    pending.activate([pod()])
    assert pool_of(pending, "p") == "gated"
    shut.clear()
    pending.move_all(NODE_ADD, None, node())
    assert pool_of(pending, "p") == "gated"
    pending.move_all(NODE_LABEL, node(), node())
    assert pool_of(pending, "p") == "active"


class TestPodsThatAnEventDoesNotConcern:
    class Untouchable(dict[str, Any]):
        """A group of pods that must not be iterated over."""

        def values(self) -> Any:
            raise AssertionError("pods were scanned")

        __iter__ = items = values

    def guard(self, pending: PriorityQueue) -> None:
        waiting: UnschedulablePods = pending._pools.waiting
        for group in waiting.groups():
            group.pods = self.Untouchable(group.pods)

    def test_10000_gated_pods_scanned_at_every_delete(self, clock: ManualClock) -> None:
        pending = queue(clock, {"G": (on(NODE_ADD),), "P": (on(POD_DELETE),)}, {"G": lambda pod: "shut"})
        for number in range(10_000):
            pending.add(pod(f"p{number}"))
        self.guard(pending)
        pending.move_all(ASSIGNED_POD_DELETE, pod("gone", node_name="n"), None)
        with pytest.raises(AssertionError, match="scanned"):
            pending.move_all(NODE_ADD, None, node())

    def test_rejected_pods_scanned_at_events_that_their_rejectors_did_not_register(
        self, clock: ManualClock
    ) -> None:
        pending = queue(clock, {"P": (on(POD_DELETE),), "Q": (on(NODE_ADD),)})
        for number in range(100):
            pending.add(pod(f"p{number}"))
        for _ in range(100):
            fail(pending, "P")
        self.guard(pending)
        pending.move_all(NODE_ADD, None, node())
        assert pending.counts()[Pool.UNSCHEDULABLE] == 100


def test_a_node_add_dropped_and_its_later_update_hinted_skip(clock: ManualClock) -> None:
    """A plugin that registered Node/Add gets the taint update by which a new node becomes usable."""
    hinted: list[str] = []

    def never(pod: Pod, old: Any, new: Any) -> bool:
        hinted.append("asked")
        return False

    pending = queue(clock, {"P": (on(NODE_ADD, never),)})
    pending.add(pod())
    fail(pending, "P")
    pending.move_all(NODE_ADD, None, node())
    assert (pool_of(pending, "p"), hinted) == ("unschedulable", ["asked"])
    pending.move_all(NODE_TAINT, node(), node())
    assert (pool_of(pending, "p"), hinted) == ("backoff", ["asked"])
