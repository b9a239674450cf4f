"""The scheduling queue: pods that change or go, gates, and time."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Action, ClusterEvent
from schedframe.api import Pod
from schedframe.queue import WILDCARD, Pool

from .support import (
    EPOCH,
    NODE_ADD,
    NODE_LABEL,
    ManualClock,
    fail,
    node,
    on,
    pod,
    pool_of,
    popped,
    queue,
)

POD_LABEL = ClusterEvent("UnschedulablePod", Action.UPDATE_POD_LABEL)


class TestUpdateAndDelete:
    @pytest.mark.parametrize("pool", ["active", "backoff", "error_backoff"])
    def test_update_replaces_the_object_without_running_plugins(self, clock: ManualClock, pool: str) -> None:
        gate_open = True
        pending = queue(clock, {"P": (on(NODE_ADD),)}, {"G": lambda pod: None if gate_open else "shut"})
        pending.add(pod("other"))
        pending.add(pod("p"))
        pending.activate([])
        if pool != "active":
            other = pending.pop()
            assert other is not None
            pending.done(other.uid)
            fail(pending, *(["P"] if pool == "backoff" else []))
            pending.move_all(NODE_ADD, None, node())
        assert pool_of(pending, "p") == pool
        gate_open = False
        pending.update(pod("p"), pod("p", priority=9, version="2", labels={"a": "b"}))
        assert pool_of(pending, "p") == pool
        info = pending.get("default/p")
        assert info is not None
        assert (info.pod.metadata.resource_version, info.pod.priority) == ("2", 9)
        if pool == "active":
            assert popped(pending)[0] == "p"
        pending.check_invariants()

    def test_update_of_a_waiting_pod_asks_its_rejectors(self, clock: ManualClock) -> None:
        seen: list[tuple[str, str]] = []

        def hint(waiting: Pod, old: Pod, new: Pod) -> bool:
            seen.append((old.metadata.resource_version, waiting.metadata.resource_version))
            return True

        pending = queue(clock, {"P": (on(POD_LABEL, hint),)})
        pending.add(pod())
        fail(pending, "P")
        pending.update(pod(), pod(version="2"))
        assert (pool_of(pending, "p"), seen) == ("unschedulable", [])
        pending.update(pod(version="2"), pod(version="3", labels={"a": "b"}))
        assert (pool_of(pending, "p"), seen) == ("backoff", [("2", "3")])

    def test_update_of_an_unknown_pod_queues_it(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.update(pod(), pod(version="2"))
        assert pool_of(pending, "p") == "active"

    def test_adding_a_pod_again_updates_it(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod())
        clock.advance(1)
        pending.add(pod(version="2"))
        info = pending.get("default/p")
        assert info is not None
        assert (info.timestamp, info.pod.metadata.resource_version) == (EPOCH, "2")
        pending.pop()
        pending.add(pod(version="3"))
        assert len(pending) == 0

    def test_delete_in_every_pool(self, clock: ManualClock) -> None:
        pending = queue(clock, {"P": (on(NODE_ADD),)}, {"G": lambda pod: pod.labels.get("gate")})
        pending.add(pod("unschedulable"))
        fail(pending, "S")
        pending.add(pod("backoff"))
        fail(pending, "P")
        pending.move_all(NODE_ADD, None, node())
        pending.add(pod("error"))
        fail(pending)
        pending.add(pod("gated", labels={"gate": "shut"}))
        pending.add(pod("active"))
        assert set(pending.counts().values()) == {0, 1}
        for name in ("unschedulable", "backoff", "error", "gated", "active", "active"):
            pending.delete(pod(name))
            pending.check_invariants()
        assert set(pending.counts().values()) == {0}
        assert pending.next_deadline() is None

    def test_old_news_of_a_deletion_do_not_touch_the_new_pod(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod(uid="new"))
        pending.delete(pod(uid="old"))
        assert pool_of(pending, "p") == "active"
        pending.update(pod(uid="older"), pod(uid="newest"))
        info = pending.get("default/p")
        assert info is not None
        assert info.uid == "newest"

    def test_update_of_a_pod_whose_creation_was_missed(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod(uid="old"))
        pending.update(pod(uid="new"), pod(uid="new", version="2"))
        info = pending.get("default/p")
        assert info is not None
        assert (info.uid, len(pending)) == ("new", 1)
        pending.check_invariants()


class TestGates:
    def test_a_gated_pod_waits_for_events_of_its_gate(self, clock: ManualClock) -> None:
        closed = True
        pending = queue(
            clock,
            {"G": (on(NODE_ADD),), "P": (on(NODE_LABEL),)},
            {"G": lambda pod: "closed" if closed else None},
        )
        pending.add(pod())
        assert pool_of(pending, "p") == "gated"
        closed = False
        pending.move_all(NODE_LABEL, node(), node())
        assert pool_of(pending, "p") == "gated"
        pending.move_all(NODE_ADD, None, node())
        assert pool_of(pending, "p") == "active"
        info = pending.pop()
        assert info is not None
        assert (info.gating_plugin, info.unschedulable_plugins) == ("", frozenset({"G"}))

    def test_every_gate_runs_the_one_that_held_the_pod_first(self, clock: ManualClock) -> None:
        closed = {"G", "H"}
        asked: list[str] = []

        def gate(name: str) -> Any:
            def pre_enqueue(pod: Pod) -> str | None:
                asked.append(name)
                return name if name in closed else None

            return pre_enqueue

        pending = queue(clock, gates={name: gate(name) for name in "FGH"})
        pending.add(pod())
        assert asked == ["F", "G"]
        asked.clear()
        pending.activate([pod()])
        assert asked == ["G"]
        closed.remove("G")
        asked.clear()
        pending.activate([pod()])
        assert asked == ["G", "F", "H"]
        info = pending.get("default/p")
        assert info is not None
        assert (info.gating_plugin, info.pool) == ("H", Pool.GATED)
        closed.remove("H")
        pending.activate([pod()])
        assert pool_of(pending, "p") == "active"
        pending.check_invariants()

    def test_a_status_may_be_the_answer(self, clock: ManualClock) -> None:
        class Success:
            is_success = True

        class Error:
            is_success = False
            error = ValueError("broken")

        faults: list[BaseException] = []
        pending = queue(
            clock,
            gates={"G": lambda pod: Success() if pod.name == "in" else Error()},
            on_fault=lambda plugin, error, pod: faults.append(error),
        )
        pending.add(pod("in"))
        pending.add(pod("out"))
        assert (pool_of(pending, "in"), pool_of(pending, "out")) == ("active", "gated")
        assert faults == [Error.error]

    def test_a_gate_that_fails_is_closed(self, clock: ManualClock) -> None:
        faults: list[str] = []

        def broken(pod: Pod) -> None:
            raise ValueError("broken")

        pending = queue(clock, gates={"G": broken}, on_fault=lambda plugin, error, pod: faults.append(plugin))
        pending.add(pod())
        assert (pool_of(pending, "p"), faults) == ("gated", ["G"])

    def test_gates_close_before_backoff_but_not_behind_it(self, clock: ManualClock) -> None:
        closed = False
        pending = queue(clock, {"P": (on(NODE_ADD),)}, {"G": lambda pod: "closed" if closed else None})
        for name in "ab":
            pending.add(pod(name))
        fail(pending, "P")
        pending.move_all(NODE_ADD, None, node())
        closed = True
        fail(pending)
        assert (pool_of(pending, "a"), pool_of(pending, "b")) == ("backoff", "gated")
        clock.advance(5)
        pending.flush()
        assert pool_of(pending, "a") == "active"

    def test_update_of_a_gated_pod_goes_straight_to_the_hints(self, clock: ManualClock) -> None:
        pending = queue(clock, {"G": (on(NODE_ADD),)}, {"G": lambda pod: pod.labels.get("gate")})
        pending.add(pod(labels={"gate": "shut"}))
        pending.update(pod(labels={"gate": "shut"}), pod(version="2"))
        assert pool_of(pending, "p") == "gated"
        pending = queue(clock, {"G": (on(POD_LABEL),)}, {"G": lambda pod: pod.labels.get("gate")})
        pending.add(pod(labels={"gate": "shut"}))
        pending.update(pod(labels={"gate": "shut"}), pod(version="2"))
        assert pool_of(pending, "p") == "active"

    def test_no_hint_runs_for_a_pod_that_its_gate_still_refuses(self, clock: ManualClock) -> None:
        asked: list[str] = []
        shut = {"a", "b"}

        def hint(waiting: Pod, old: Any, new: Any) -> bool:
            asked.append(waiting.name)
            return True

        gate = {"G": lambda pod: "shut" if pod.name in shut else None}
        pending = queue(clock, {"G": (on(NODE_ADD, hint),)}, gate)
        pending.add(pod("a"))
        pending.add(pod("b"))
        pending.move_all(NODE_ADD, None, node())
        assert asked == []
        shut.remove("b")
        pending.move_all(NODE_ADD, None, node())
        assert asked == ["b"]
        assert (pool_of(pending, "a"), pool_of(pending, "b")) == ("gated", "active")
        pending.check_invariants()

    def test_a_gate_that_fails_is_reported_and_stays_closed(self, clock: ManualClock) -> None:
        def gate(waiting: Pod) -> None:
            raise RuntimeError("broken")

        faults: list[str] = []
        pending = queue(
            clock,
            {"G": (on(NODE_ADD),)},
            {"G": gate},
            on_fault=lambda plugin, error, waiting: faults.append(f"{plugin}: {error}"),
        )
        pending.add(pod("p"))
        pending.move_all(NODE_ADD, None, node())
        assert pool_of(pending, "p") == "gated"
        assert faults == ["G: broken"] * 2


class TestTime:
    def test_the_deadline_is_the_end_of_the_second_of_the_first_expiry(self, clock: ManualClock) -> None:
        pending = queue(clock, {"P": (on(NODE_ADD),)})
        clock.advance(0.25)
        pending.add(pod())
        fail(pending, "P")
        pending.move_all(NODE_ADD, None, node())
        deadline = pending.next_deadline()
        assert deadline == EPOCH + 2
        clock.go_to(deadline - 0.001)
        pending.flush()
        assert pool_of(pending, "p") == "backoff"
        clock.go_to(deadline)
        pending.flush()
        assert pool_of(pending, "p") == "active"
        assert pending.next_deadline() is None

    def test_a_pod_that_waits_too_long_is_tried_again(self, clock: ManualClock) -> None:
        pending = queue(clock, {"P": ()}, max_in_unschedulable=30.0)
        clock.advance(0.25)
        pending.add(pod())
        info = fail(pending, "P")
        clock.advance(30)
        pending.flush_unschedulable()
        assert pool_of(pending, "p") == "unschedulable"
        deadline = pending.next_deadline()
        assert deadline is not None
        clock.go_to(deadline)
        assert clock.micros == int(EPOCH + 30) * 10**6 + 250_001
        pending.flush()
        assert (pool_of(pending, "p"), info.flushed) == ("active", True)
        fail(pending, "P")
        assert not info.flushed

    def test_a_gate_without_the_timeout_sets_no_deadline(self, clock: ManualClock) -> None:
        pending = queue(clock, {"G": (on(NODE_ADD),)}, {"G": lambda pod: "shut"})
        pending.add(pod())
        assert pending.next_deadline() is None
        clock.advance(1000)
        pending.flush_unschedulable()
        info = pending.get("default/p")
        assert info is not None
        assert (info.pool, info.flushed) == (Pool.GATED, True)
        pending.check_invariants()

    def test_a_gate_that_time_may_open_is_tried_now_and_then(self, clock: ManualClock) -> None:
        tries = 0

        def gate(pod: Pod) -> str | None:
            nonlocal tries
            tries += 1
            return "shut" if tries < 4 else None

        pending = queue(clock, {"G": (on(WILDCARD),)}, {"G": gate}, max_in_unschedulable=30.0)
        pending.add(pod())
        for expected in (2, 3, 4):
            deadline = pending.next_deadline()
            assert deadline is not None
            assert deadline > clock()
            clock.go_to(deadline)
            pending.flush()
            assert tries == expected
        assert pool_of(pending, "p") == "active"
        assert clock() == pytest.approx(EPOCH + 90, abs=0.001)

    def test_a_timeout_is_remembered_for_pods_in_flight(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod("a"))
        fail(pending, "P")
        pending.add(pod("b"))
        b = pending.pop()
        assert b is not None
        clock.advance(301)
        pending.flush()
        assert pending.add_unschedulable(b, b.pod, unschedulable_plugins=["P"]).pool is Pool.BACKOFF

    def test_flush_with_nothing_due_does_nothing(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod())
        fail(pending, "P")
        pending.flush()
        assert pool_of(pending, "p") == "unschedulable"

    def test_no_backoff_at_all(self, clock: ManualClock) -> None:
        pending = queue(clock, max_backoff=0)
        pending.add(pod())
        fail(pending)
        assert pool_of(pending, "p") == "active"
