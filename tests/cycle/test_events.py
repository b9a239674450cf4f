"""Events of plugins and programs: series, and the budget of an object."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import define

from schedframe import Handle, InMemoryCluster, Pod, Scheduler, Status, VirtualClock, hookimpl
from schedframe.cluster.event_log import BURST, REFILL_SECONDS, SERIES_SECONDS
from schedframe.cycle.events import KEPT, EventRecorder
from schedframe.testing import node, pod


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def cluster(clock: VirtualClock) -> InMemoryCluster:
    return InMemoryCluster([node("n"), pod("a"), pod("b")], clock=clock)


@pytest.fixture
def recorder(cluster: InMemoryCluster, clock: VirtualClock) -> EventRecorder:
    return EventRecorder(cluster, clock)


def the_pod(cluster: InMemoryCluster, name: str = "a") -> Any:
    return cluster.get("Pod", f"default/{name}")


def test_equal_events_are_one_series(
    recorder: EventRecorder, cluster: InMemoryCluster, clock: VirtualClock
) -> None:
    for number in range(3):
        assert recorder.record(the_pod(cluster), "Waits", f"for {number}")
        clock.advance(10)
    assert recorder.record(the_pod(cluster), "Waits", "a warning", warning=True)
    series, warning = recorder.series()
    assert (series.count, series.note, series.last - series.first) == (3, "for 2", 20)
    assert (warning.type, warning.count) == ("Warning", 1)
    assert len(cluster.events) == 4


def test_a_series_ends(recorder: EventRecorder, cluster: InMemoryCluster, clock: VirtualClock) -> None:
    recorder.record(the_pod(cluster), "Waits", "once")
    clock.advance(SERIES_SECONDS + 1)
    recorder.record(the_pod(cluster), "Waits", "again")
    (series,) = recorder.series()
    assert (series.count, series.first) == (1, clock())


def test_an_object_has_a_budget_that_grows_again(
    recorder: EventRecorder, cluster: InMemoryCluster, clock: VirtualClock
) -> None:
    recorded = [recorder.record(the_pod(cluster), f"Reason{i}", "so") for i in range(BURST + 5)]
    assert sum(recorded) == BURST
    assert recorder.dropped == 5
    assert recorder.record(the_pod(cluster, "b"), "Other", "another object has its own")
    clock.advance(REFILL_SECONDS)
    assert recorder.record(the_pod(cluster), "Later", "one more")
    assert not recorder.record(the_pod(cluster), "Later", "and no other")
    assert len(cluster.events) == BURST + 2


def test_memory_is_bounded(recorder: EventRecorder) -> None:
    for number in range(KEPT + 10):
        recorder.record(pod(f"p{number}").build(), "Seen", "once")
    assert len(recorder.series()) == KEPT
    assert len(recorder._budgets) == KEPT


@define(eq=False)
class Telling:
    handle: Handle

    @hookimpl
    def reserve(self, pod: Pod) -> Status | None:
        self.handle.record_event(pod, "Reserved", "there is room")
        return None


def test_plugins_record_through_the_scheduler(cluster: InMemoryCluster, clock: VirtualClock) -> None:
    scheduler = Scheduler(cluster, clock=clock, plugins=[Telling])
    scheduler.run_until_idle()
    assert [each.reason for each in scheduler.events.series()] == ["Reserved", "Reserved"]
    assert {each.key for each in cluster.events if each.reason == "Reserved"} == {"default/a", "default/b"}
    scheduler.events.record(the_pod(cluster), "Looked", "by a program")
    assert cluster.events[-1].reason == "Looked"
