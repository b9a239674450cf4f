from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from schedframe import QueuedPodInfo
from schedframe.queue import WILDCARD, InFlight

from .support import NODE_ADD, NODE_DELETE, pod


def flight(name: str) -> QueuedPodInfo:
    return QueuedPodInfo(pod(name), 0.0)


def log(in_flight: InFlight) -> list[str]:
    return [entry if isinstance(entry, str) else str(entry.event) for entry in in_flight.log()]


def test_nothing_is_kept_while_no_pod_is_in_flight() -> None:
    in_flight = InFlight()
    in_flight.record(NODE_ADD, None, None)
    assert in_flight.start(flight("a"))
    assert in_flight.events_since_pop("uid-a") == []
    in_flight.record(NODE_ADD, None, "new")
    assert [(e.old, e.new) for e in in_flight.events_since_pop("uid-a")] == [(None, "new")]
    in_flight.finish("uid-a")
    assert log(in_flight) == []
    assert not in_flight._events


def test_each_pod_sees_what_came_after_it() -> None:
    in_flight = InFlight()
    in_flight.start(flight("a"))
    in_flight.record(NODE_ADD, None, None)
    in_flight.start(flight("b"))
    in_flight.record(NODE_DELETE, None, None)
    assert log(in_flight) == ["uid-a", "NodeAdd", "uid-b", "NodeDelete"]
    assert [str(e.event) for e in in_flight.events_since_pop("uid-b")] == ["NodeDelete"]
    in_flight.finish("uid-a")
    assert log(in_flight) == ["uid-b", "NodeDelete"]
    with pytest.raises(KeyError):
        in_flight.events_since_pop("uid-a")


def test_a_pod_is_in_flight_once() -> None:
    in_flight = InFlight()
    assert in_flight.start(flight("a"))
    in_flight.record(NODE_ADD, None, None)
    assert not in_flight.start(flight("a"))
    assert len(in_flight.events_since_pop("uid-a")) == 1
    assert not in_flight.finish("uid-a")
    assert not in_flight.finish("uid-a")


def test_deletion_is_remembered_and_taken_back() -> None:
    in_flight = InFlight()
    in_flight.mark_deleted("uid-a")
    assert in_flight.revive("uid-a") is None
    info = flight("a")
    in_flight.start(info)
    in_flight.mark_deleted("uid-a")
    assert in_flight.is_deleted("uid-a")
    assert in_flight.revive("uid-a") is info
    assert not in_flight.is_deleted("uid-a")
    in_flight.mark_deleted("uid-a")
    assert in_flight.finish("uid-a")
    assert not in_flight.is_deleted("uid-a")


def test_memory_is_bounded_behind_a_pod_that_does_not_come_back() -> None:
    in_flight = InFlight(max_events=10)
    in_flight.start(flight("stuck"))
    for turn in range(1000):
        in_flight.start(flight(f"p{turn}"))
        in_flight.record(NODE_ADD, None, turn)
        seen = in_flight.events_since_pop(f"uid-p{turn}")
        assert [event.new for event in seen] == [turn]
        in_flight.finish(f"uid-p{turn}")
        in_flight.check_invariants()
    seen = in_flight.events_since_pop("uid-stuck")
    assert seen[0].event == WILDCARD
    assert [event.new for event in seen[1:]] == list(range(1000 - len(seen) + 1, 1000))
    assert len(seen) <= 10


def test_a_pod_popped_within_what_was_summed_up_misses_nothing() -> None:
    in_flight = InFlight(max_events=4)
    in_flight.start(flight("a"))
    in_flight.record(NODE_ADD, None, 0)
    in_flight.record(NODE_ADD, None, 1)
    in_flight.start(flight("b"))
    for number in (2, 3, 4):
        in_flight.record(NODE_ADD, None, number)
    in_flight.check_invariants()
    assert in_flight.events_since_pop("uid-b")[0].event == WILDCARD
    assert [event.new for event in in_flight.events_since_pop("uid-b")[1:]] == [3, 4]


def test_at_least_one_event_must_fit() -> None:
    with pytest.raises(ValueError, match="at least one"):
        InFlight(max_events=0)


class InFlightMachine(RuleBasedStateMachine):
    """One list of pods and events, the model, as the reference keeps it."""

    def __init__(self) -> None:
        super().__init__()
        self.in_flight = InFlight()
        self.model: list[str | int] = []
        self.number = 0

    @rule(name=st.sampled_from("abcde"))
    def start(self, name: str) -> None:
        known = f"uid-{name}" in self.model
        assert self.in_flight.start(flight(name)) is not known
        if not known:
            self.model.append(f"uid-{name}")

    @rule(times=st.integers(1, 30))
    def record(self, times: int) -> None:
        for _ in range(times):
            self.number += 1
            self.in_flight.record(NODE_ADD, None, self.number)
            if any(isinstance(entry, str) for entry in self.model):
                self.model.append(self.number)

    @rule(name=st.sampled_from("abcde"))
    def finish(self, name: str) -> None:
        self.in_flight.finish(f"uid-{name}")
        self.model = [entry for entry in self.model if entry != f"uid-{name}"]
        while self.model and isinstance(self.model[0], int):
            self.model.pop(0)

    @invariant()
    def agree(self) -> None:
        self.in_flight.check_invariants()
        found = [entry if isinstance(entry, str) else entry.new for entry in self.in_flight.log()]
        assert found == self.model
        for place, uid in enumerate(self.model):
            if isinstance(uid, str):
                seen = [event.new for event in self.in_flight.events_since_pop(uid)]
                assert seen == [entry for entry in self.model[place:] if isinstance(entry, int)]


TestInFlightMachine = InFlightMachine.TestCase
