from __future__ import annotations

from typing import Any

import pytest

from schedframe import (
    Action,
    ClusterEvent,
    NominatingMode,
    PendingPod,
    Pool,
    PriorityQueue,
    QueuedPodInfo,
    QueueingHint,
)
from schedframe.api import ObjectMeta, Pod
from schedframe.errors import InvariantError, PluginError
from schedframe.queue import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, WILDCARD, HintFn, QueueProfile

from .support import (
    EPOCH,
    NODE_ADD,
    NODE_LABEL,
    PROFILE,
    ManualClock,
    fail,
    node,
    on,
    pod,
    pool_of,
    queue,
)

POD_LABEL = ClusterEvent("UnschedulablePod", Action.UPDATE_POD_LABEL)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def popped(pending: PriorityQueue) -> list[str]:
    names = []
    while (info := pending.pop()) is not None:
        names.append(info.pod.name)
    return names


class TestOrder:
    def test_priority_then_time(self, clock: ManualClock) -> None:
        pending = queue(clock)
        for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
            clock.advance(0.001)
            pending.add(pod(name, priority=priority))
        assert popped(pending) == ["b", "d", "a", "c"]
        assert pending.scheduling_cycle == 4

    def test_equal_pods_come_as_they_came(self, clock: ManualClock) -> None:
        pending = queue(clock)
        for name in "edcba":
            pending.add(pod(name))
        assert popped(pending) == ["e", "d", "c", "b", "a"]

    def test_a_plugins_key(self, clock: ManualClock) -> None:
        pending = queue(clock, sort_key=lambda info: info.pod.name)
        for name in "bca":
            pending.add(pod(name))
        assert popped(pending) == ["a", "b", "c"]

    def test_a_plugins_less(self, clock: ManualClock) -> None:
        def last_name_first(one: QueuedPodInfo, other: QueuedPodInfo) -> bool:
            return one.pod.name > other.pod.name

        pending = queue(clock, less=last_name_first)
        for name in "bca":
            pending.add(pod(name))
        assert popped(pending) == ["c", "b", "a"]
        pending.add(pod("x"))
        pending.update(pod("x"), pod("x", version="2"))
        pending.check_invariants()
        assert popped(pending) == ["x"]

    def test_pods_without_uids_are_told_apart_by_key(self, clock: ManualClock) -> None:
        pending = PriorityQueue(clock=clock)
        for name in "ab":
            pending.add(Pod(ObjectMeta(name=name)))
        info = pending.pop()
        assert info is not None
        assert pending.add_unschedulable(info, info.pod, unschedulable_plugins=["P"]).pool == "unschedulable"
        other = pending.pop()
        assert other is not None
        pending.done(other.uid)
        assert pending.counts()[Pool.IN_FLIGHT] == 0


class TestAttempts:
    def test_counts_and_times(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod())
        info = pending.pop()
        assert info is not None
        assert (info.attempts, info.initial_attempt, info.timestamp) == (1, EPOCH, EPOCH)
        clock.advance(0.5)
        pending.add_unschedulable(info, info.pod)
        assert (info.unschedulable_count, info.error_count, info.pool) == (0, 1, Pool.ERROR_BACKOFF)
        assert (info.timestamp, info.initial_attempt) == (EPOCH + 0.5, EPOCH)
        clock.advance(2)
        pending.flush()
        fail(pending, "P", latest=pod(version="7"))
        assert (info.unschedulable_count, info.error_count, info.attempts) == (1, 0, 2)
        assert info.pool is Pool.UNSCHEDULABLE
        assert info.pod.metadata.resource_version == "7"

    @pytest.mark.parametrize("latest", [None, pod(uid="other"), pod(node_name="n")])
    def test_a_pod_that_is_gone_replaced_or_bound_is_not_queued_again(
        self, clock: ManualClock, latest: Pod | None
    ) -> None:
        pending = queue(clock)
        pending.add(pod())
        info = pending.pop()
        assert info is not None
        outcome = pending.add_unschedulable(info, latest, unschedulable_plugins=["P"])
        assert (outcome.pool, outcome.already) == (None, False)
        assert len(pending) == 0
        assert pending.counts()[Pool.IN_FLIGHT] == 0

    def test_one_that_is_queued_already_stays_where_it_is(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod())
        info = pending.pop()
        assert info is not None
        pending.done(info.uid)
        pending.add(pod(version="2"))
        outcome = pending.add_unschedulable(info, pod(version="2"), unschedulable_plugins=["P"])
        assert (outcome.pool, outcome.already) == (Pool.ACTIVE, True)
        assert pool_of(pending, "p") == "active"
        pending.check_invariants()

    def test_backing_off_pods_are_popped_when_nothing_is_active_but_failed_ones_are_not(
        self, clock: ManualClock
    ) -> None:
        pending = queue(clock, {"P": (on(NODE_ADD),)})
        pending.add(pod("a"))
        fail(pending, "P")
        pending.move_all(NODE_ADD, None, node())
        pending.add(pod("b"))
        b = pending.pop()
        assert b is not None
        assert b.pod.name == "b"
        pending.add_unschedulable(b, b.pod)
        assert (pool_of(pending, "a"), pool_of(pending, "b")) == ("backoff", "error_backoff")
        assert popped(pending) == ["a"]

    def test_closed(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod("a"))
        pending.add(pod("b"))
        pending.pop()
        pending.close()
        pending.close()
        assert pending.closed
        assert pending.pop() is None
        assert pending.next_deadline() is None
        assert pending.counts()[Pool.IN_FLIGHT] == 0


class TestHints:
    def requeued(
        self, clock: ManualClock, hint: HintFn | None, *, pending_plugin: bool = False, wait: float = 0
    ) -> str | None:
        pending = queue(clock, {"P": (on(NODE_ADD, hint),)}, on_fault=lambda plugin, error, pod: None)
        pending.add(pod())
        fail(pending, *([] if pending_plugin else ["P"]), pending_plugins=("P",) * pending_plugin)
        clock.advance(wait)
        pending.move_all(NODE_ADD, None, node())
        pending.check_invariants()
        return pool_of(pending, "p")

    def test_queue_goes_to_backoff_or_active_as_time_has_it(self, clock: ManualClock) -> None:
        assert self.requeued(clock, lambda pod, old, new: QueueingHint.QUEUE) == "backoff"
        assert self.requeued(clock, None) == "backoff"
        assert self.requeued(clock, lambda pod, old, new: True, wait=2) == "active"

    def test_queue_of_a_pending_plugin_skips_the_backoff(self, clock: ManualClock) -> None:
        assert self.requeued(clock, lambda pod, old, new: True, pending_plugin=True) == "active"
        assert self.requeued(clock, lambda pod, old, new: False, pending_plugin=True) == "unschedulable"

    def test_skip(self, clock: ManualClock) -> None:
        assert self.requeued(clock, lambda pod, old, new: QueueingHint.SKIP) == "unschedulable"

    def test_an_error_is_queue_and_is_reported(self, clock: ManualClock) -> None:
        faults: list[tuple[str, str, str]] = []

        def hint(pod: Pod, old: Any, new: Any) -> bool:
            raise ValueError("broken")

        def report(plugin: str, error: BaseException, pod: Pod) -> None:
            faults.append((plugin, str(error), pod.name))

        pending = queue(clock, {"P": (on(NODE_ADD, hint),)}, on_fault=report)
        pending.add(pod())
        fail(pending, "P")
        pending.move_all(NODE_ADD, None, node())
        assert pool_of(pending, "p") == "backoff"
        assert faults == [("P", "broken", "p")]

    def test_no_answer_is_an_error(self, clock: ManualClock) -> None:
        faults: list[BaseException] = []
        pending = queue(
            clock,
            {"P": (on(NODE_ADD, lambda pod, old, new: None),)},
            on_fault=lambda plugin, error, pod: faults.append(error),
        )
        pending.add(pod())
        fail(pending, "P")
        pending.move_all(NODE_ADD, None, node())
        assert pool_of(pending, "p") == "backoff"
        assert isinstance(faults[0], PluginError)

    def test_faults_go_to_the_log_by_default(
        self, clock: ManualClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        def gate(pod: Pod) -> None:
            raise ValueError("broken")

        pending = queue(clock, gates={"G": gate})
        pending.add(pod())
        assert "plugin G failed for pod default/p" in caplog.text
        assert "broken" in caplog.text

    def test_only_rejectors_are_asked(self, clock: ManualClock) -> None:
        asked: list[str] = []

        def hint(name: str) -> HintFn:
            def answer(pod: Pod, old: Any, new: Any) -> bool:
                asked.append(name)
                return False

            return answer

        pending = queue(clock, {name: (on(NODE_ADD, hint(name)),) for name in "PQR"})
        pending.add(pod())
        fail(pending, "P", pending_plugins=("Q",))
        pending.move_all(NODE_ADD, None, node())
        assert asked == ["Q", "P"]

    def test_pods_of_unknown_profiles_and_without_rejectors_are_tried_at_every_event(
        self, clock: ManualClock
    ) -> None:
        pending = queue(clock, {"P": (on(NODE_ADD, lambda pod, old, new: False),)})
        pending.add(pod("a", scheduler="unknown"))
        fail(pending, "P")
        pending.move_all(NODE_LABEL, node(), node())
        assert pool_of(pending, "a") == "unschedulable"
        pending.move_all(NODE_ADD, None, node())
        assert pool_of(pending, "a") == "backoff"

    def test_profiles_have_their_own_hints(self, clock: ManualClock) -> None:
        profiles = {
            PROFILE: QueueProfile((), {"P": (on(NODE_ADD, lambda pod, old, new: True),)}),
            "other": QueueProfile((), {"P": (on(NODE_ADD, lambda pod, old, new: False),)}),
        }
        pending = PriorityQueue(profiles=profiles, clock=clock)
        pending.add(pod("a"))
        pending.add(pod("b", scheduler="other"))
        fail(pending, "P")
        fail(pending, "P")
        pending.move_all(NODE_ADD, None, node())
        assert (pool_of(pending, "a"), pool_of(pending, "b")) == ("backoff", "unschedulable")

    def test_limits_of_an_event(self, clock: ManualClock) -> None:
        pending = queue(clock, {"P": (on(ClusterEvent("Pod", Action.DELETE)),)})
        for name, priority in (("low", 1), ("same", 5), ("high", 9), ("self", 0)):
            pending.add(pod(name, priority=priority))
        for _ in range(4):
            fail(pending, "P")
        pending.move_all(ASSIGNED_POD_DELETE, pod("x"), None, max_priority=5, except_uid="uid-self")
        assert {name: pool_of(pending, name) for name in ("low", "same", "high", "self")} == {
            "low": "backoff",
            "same": "backoff",
            "high": "unschedulable",
            "self": "unschedulable",
        }

    def test_the_wildcard_moves_everybody_or_the_one_it_names(self, clock: ManualClock) -> None:
        pending = queue(clock)
        for name in "ab":
            pending.add(pod(name))
        fail(pending, "P")
        fail(pending, "P")
        pending.move_all(WILDCARD, None, pod("b"))
        assert (pool_of(pending, "a"), pool_of(pending, "b")) == ("unschedulable", "backoff")
        pending.move_all(WILDCARD)
        assert pool_of(pending, "a") == "backoff"


class TestInFlight:
    def test_events_of_interest_during_the_attempt_count(self, clock: ManualClock) -> None:
        pending = queue(clock, {"P": (on(NODE_ADD),), "Q": ()})
        pending.add(pod("a"))
        pending.add(pod("b"))
        a, b = pending.pop(), pending.pop()
        assert a is not None
        assert b is not None
        pending.move_all(NODE_ADD, None, node())
        pending.move_all(NODE_LABEL, node(), node())
        assert pending.add_unschedulable(a, a.pod, unschedulable_plugins=["P"]).pool is Pool.BACKOFF
        assert pending.add_unschedulable(b, b.pod, unschedulable_plugins=["Q"]).pool is Pool.UNSCHEDULABLE

    def test_the_best_of_several_events_counts_for_pending_plugins(self, clock: ManualClock) -> None:
        pending = queue(clock, {"P": (on(NODE_ADD),), "Q": (on(NODE_LABEL),)})
        pending.add(pod())
        info = pending.pop()
        assert info is not None
        pending.move_all(NODE_ADD, None, node())
        pending.move_all(NODE_LABEL, node(), node())
        outcome = pending.add_unschedulable(
            info, info.pod, unschedulable_plugins=["P"], pending_plugins=["Q"]
        )
        assert outcome.pool is Pool.ACTIVE

    def test_an_update_of_the_pod_itself_is_remembered_and_nothing_else(self, clock: ManualClock) -> None:
        def its_own(pod: Pod, old: Any, new: Any) -> bool:
            return bool(new.uid == pod.uid)

        pending = queue(clock, {"P": (on(POD_LABEL, its_own),)})
        pending.add(pod())
        info = pending.pop()
        assert info is not None
        new = pod(labels={"a": "b"}, version="2")
        pending.update(pod(), new)
        assert len(pending) == 0
        assert info.pod.metadata.resource_version == "1"
        assert pending.add_unschedulable(info, new, unschedulable_plugins=["P"]).pool is Pool.BACKOFF

    def test_activation_in_flight_is_for_that_pod_alone(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod("a"))
        pending.add(pod("b"))
        a, b = pending.pop(), pending.pop()
        assert a is not None
        assert b is not None
        pending.activate([pod("b"), pod("unknown")])
        assert pending.add_unschedulable(a, a.pod, unschedulable_plugins=["P"]).pool is Pool.UNSCHEDULABLE
        assert pending.add_unschedulable(b, b.pod, unschedulable_plugins=["P"]).pool is Pool.BACKOFF

    def test_without_a_flight_there_is_no_telling_what_was_missed(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod())
        info = pending.pop()
        assert info is not None
        pending.done(info.uid)
        assert pending.add_unschedulable(info, info.pod, unschedulable_plugins=["P"]).pool is Pool.BACKOFF


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

    def test_adding_a_known_pod_again_updates_it(self, clock: ManualClock) -> None:
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

    def test_every_gate_is_asked_first_the_one_that_held_the_pod(self, clock: ManualClock) -> None:
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

    def test_who_waits_too_long_is_tried_again(self, clock: ManualClock) -> None:
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

    def test_a_gate_that_time_does_not_open_wakes_nobody(self, clock: ManualClock) -> None:
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


class TestActivate:
    def test_from_everywhere(self, clock: ManualClock) -> None:
        pending = queue(clock, {"P": (on(NODE_ADD),)})
        for name in "abc":
            pending.add(pod(name))
        fail(pending, "P")
        pending.move_all(NODE_ADD, None, node())
        fail(pending, "P")
        fail(pending)
        assert [pool_of(pending, name) for name in "abc"] == ["backoff", "unschedulable", "error_backoff"]
        pending.activate(pod(name) for name in "abcx")
        assert [pool_of(pending, name) for name in "abc"] == ["active"] * 3
        pending.check_invariants()


class TestNominations:
    def test_from_the_status_when_added_or_generally_updated(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod(nominated="n"))
        assert pending.nominator.node_of(pod()) == "n"
        pending.nominator.add(pod("q"), "m")
        pending.add(pod("q"))
        assert pending.nominator.node_of(pod("q")) is None

    def test_kept_in_memory_through_updates_and_dropped_with_the_pod(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod())
        pending.nominator.add(pod(), "n")
        pending.update(pod(), pod(version="2"))
        (held,) = pending.nominator.nominated_pods_for_node("n")
        assert held.metadata.resource_version == "2"
        pending.update(pod(version="2"), pod(version="3", nominated="m"))
        assert pending.nominator.node_of(pod()) == "m"
        pending.delete(pod())
        assert not pending.nominator

    def test_pods_that_the_cluster_lacks_are_not_nominated(self, clock: ManualClock) -> None:
        cluster = {"default/p": pod(), "default/q": pod("q", node_name="n")}
        pending = queue(clock, pod_lister=cluster.get)
        for name in ("p", "q", "r"):
            pending.nominator.add(pod(name, nominated="n"), mode=NominatingMode.NOOP)
        assert [pod.name for pod in pending.nominator.nominated_pods_for_node("n")] == ["p"]


class TestWhatIsShown:
    def test_pending(self, clock: ManualClock) -> None:
        pending = queue(clock, {"P": (on(NODE_ADD),)}, {"G": lambda pod: pod.labels.get("gate")})
        pending.add(pod("waits"))
        fail(pending, "S", pending_plugins=("R",))
        pending.add(pod("backs-off"))
        fail(pending, "P")
        pending.move_all(NODE_ADD, None, node())
        pending.add(pod("gated", labels={"gate": "shut"}))
        pending.add(pod("flies", priority=2))
        pending.pop()
        pending.add(pod("active"))
        shown = pending.pending()
        assert [(p.key, p.pool) for p in shown] == [
            ("default/active", "active"),
            ("default/backs-off", "backoff"),
            ("default/waits", "unschedulable"),
            ("default/gated", "gated"),
            ("default/flies", "in_flight"),
        ]
        assert shown[1].wake_at == EPOCH + 2
        assert shown[2] == PendingPod(
            "default/waits", "uid-waits", Pool.UNSCHEDULABLE, 1, ("R", "S"), "", EPOCH, EPOCH + 300.000001
        )
        assert (shown[3].gating_plugin, shown[3].wake_at) == ("G", None)
        assert pending.counts() == {
            Pool.ACTIVE: 1,
            Pool.BACKOFF: 1,
            Pool.ERROR_BACKOFF: 0,
            Pool.UNSCHEDULABLE: 1,
            Pool.GATED: 1,
            Pool.IN_FLIGHT: 1,
        }
        assert len(pending) == 4
        assert [info.key for info in pending.in_pool(Pool.GATED)] == ["default/gated"]

    def test_a_wrong_pool_is_noticed(self, clock: ManualClock) -> None:
        pending = queue(clock)
        pending.add(pod())
        pending.check_invariants()
        info = pending.get("default/p")
        assert info is not None
        info.pool = Pool.BACKOFF
        with pytest.raises(InvariantError):
            pending.check_invariants()

    def test_an_event_that_nobody_wants_costs_nothing(self, clock: ManualClock) -> None:
        pending = queue(clock, {"P": (on(NODE_ADD),)})
        pending.add(pod())
        pending.pop()
        pending.move_all(ASSIGNED_POD_ADD, None, pod(node_name="n"))
        assert [entry for entry in pending.in_flight.log() if not isinstance(entry, str)] == []
