"""The scheduling queue: order, attempts, and what is shown of it."""

from __future__ import annotations

import pytest

from schedframe import Action, ClusterEvent, QueuedPodInfo
from schedframe.api import ObjectMeta, Pod
from schedframe.errors import InvariantError
from schedframe.queue import ASSIGNED_POD_ADD, NominatingMode, PendingPod, Pool, PriorityQueue, QueueOptions

from .support import (
    EPOCH,
    NODE_ADD,
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

    def test_pods_without_uids_are_identified_by_key(self, clock: ManualClock) -> None:
        pending = PriorityQueue(QueueOptions(clock=clock))
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

    def test_an_event_without_registrations_costs_nothing(self, clock: ManualClock) -> None:
        pending = queue(clock, {"P": (on(NODE_ADD),)})
        pending.add(pod())
        pending.pop()
        pending.move_all(ASSIGNED_POD_ADD, None, pod(node_name="n"))
        assert [entry for entry in pending.in_flight.log() if not isinstance(entry, str)] == []
