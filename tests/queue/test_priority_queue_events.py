"""The scheduling queue: which events bring a pod back."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Action, ClusterEvent, QueueingHint
from schedframe.api import Pod
from schedframe.errors import PluginError
from schedframe.queue import (
    ASSIGNED_POD_DELETE,
    WILDCARD,
    HintFn,
    Pool,
    PriorityQueue,
    QueueOptions,
    QueueProfile,
)

from .support import (
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

    def test_only_hints_of_rejectors_run(self, clock: ManualClock) -> None:
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

    def test_a_queue_without_profiles_tries_its_pods_at_every_event(
        self, clock: ManualClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        pending = PriorityQueue(QueueOptions(clock=clock))
        for name in "ab":
            pending.add(pod(name))
        fail(pending, "P")
        flying = pending.pop()
        assert flying is not None
        pending.move_all(NODE_LABEL, node(), node())
        pending.add_unschedulable(flying, flying.pod, unschedulable_plugins=["Q"])
        assert (pool_of(pending, "a"), pool_of(pending, "b")) == ("backoff", "backoff")
        assert [record.message for record in caplog.records] == [
            f"no queueing hints for profile {PROFILE} (there are for: none), so that each event queues its "
            "pods again; pass its QueueProfile in QueueOptions.profiles"
        ]

    def test_profiles_have_their_own_hints(self, clock: ManualClock) -> None:
        profiles = {
            PROFILE: QueueProfile((), {"P": (on(NODE_ADD, lambda pod, old, new: True),)}),
            "other": QueueProfile((), {"P": (on(NODE_ADD, lambda pod, old, new: False),)}),
        }
        pending = PriorityQueue(QueueOptions(profiles=profiles, clock=clock))
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

    def test_the_wildcard_moves_all_pods_or_the_one_it_names(self, clock: ManualClock) -> None:
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
