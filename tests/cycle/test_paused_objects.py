"""Paused bindings that wait for one object each: only what is about it wakes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import Action, ClusterEvent, CycleState, InvariantError
from schedframe.api import Namespace, ObjectMeta
from schedframe.cycle.binding.attempt import Attempt
from schedframe.cycle.binding.paused import PausedBindings
from schedframe.queue import EventOf, QueuedPodInfo
from schedframe.state import policy

from .build import make_pod

CHANGED = ClusterEvent("Namespace", Action.UPDATE)
DELETED = ClusterEvent("Namespace", Action.DELETE)
ANY = ClusterEvent("Namespace", Action.ALL)
OTHER = ClusterEvent("Service", Action.ALL)


def attempt(name: str, moment: int = 0) -> Attempt:
    """An attempt that no other thread asks about, handed off at that moment."""
    pod = make_pod(name, uid=name)
    framework: Any = None
    found = Attempt(QueuedPodInfo(pod, 0.0), pod, framework, CycleState())
    found.submitted_at = moment
    return found


def about(name: str, version: str = "") -> Namespace:
    return Namespace(ObjectMeta(name=name, resource_version=version))


def uids(found: list[Any]) -> list[str]:
    return [each.uid for each in found]


def test_an_event_wakes_those_that_wait_for_its_object_or_its_kind() -> None:
    parked = PausedBindings()
    parked.pause(attempt("a"), "a", 10.0, [EventOf(ANY, "x")])
    parked.pause(attempt("b"), "b", 10.0, [EventOf(ANY, "y"), EventOf(DELETED, "x")])
    parked.pause(attempt("c"), "c", 10.0, [OTHER, CHANGED])
    parked.pause(attempt("d"), "d", 10.0, [EventOf(OTHER, "x")])
    parked.check_invariants()
    assert uids(parked.concerned(CHANGED, about("z"))) == ["c"]
    assert uids(parked.concerned(CHANGED, about("x"))) == ["a"]
    assert uids(parked.concerned(CHANGED)) == []
    assert uids(parked.concerned(DELETED, about("x"))) == ["b"]
    assert uids(parked.due(10.0)) == ["d"]
    assert not parked._by_key
    assert not parked._by_kind
    parked.check_invariants()


def test_an_event_about_another_object_was_not_missed() -> None:
    parked = PausedBindings()
    parked.pause(attempt("first"), "first", 10.0, [EventOf(ANY, "x")])
    since = parked.moment
    parked.concerned(CHANGED, about("y"))
    assert parked.pause(attempt("a", since), "a", 10.0, [EventOf(ANY, "x")])
    assert not parked.pause(attempt("b", since), "b", 10.0, [EventOf(ANY, "y")])
    assert parked.pause(attempt("b", since), "b", 10.0, [EventOf(DELETED, "y")])
    assert not parked.pause(attempt("c", since), "c", 10.0, [ANY])
    assert parked.pause(attempt("c", parked.moment), "c", 10.0, [EventOf(ANY, "y")])


def test_an_event_that_shows_the_version_looked_at_is_no_news() -> None:
    parked = PausedBindings()
    parked.pause(attempt("a"), "a", 10.0, [EventOf(ANY, "x", "7")])
    assert uids(parked.concerned(CHANGED, about("x", "7"))) == []
    since = parked.moment
    assert uids(parked.concerned(CHANGED, about("x", "8"))) == ["a"]
    assert parked.pause(attempt("a", since), "a", 10.0, [EventOf(ANY, "x", "8")])
    assert not parked.pause(attempt("b", since), "b", 10.0, [EventOf(ANY, "x", "7")])
    assert not parked.pause(attempt("b", since), "b", 10.0, [EventOf(ANY, "x")])
    parked.check_invariants()


def test_a_deletion_is_news_although_it_shows_a_version_looked_at() -> None:
    parked = PausedBindings()
    parked.pause(attempt("a"), "a", 10.0, [EventOf(ANY, "x", "7")])
    assert uids(parked.concerned(DELETED, about("x", "7"))) == ["a"]
    assert not parked.pause(attempt("b"), "b", 10.0, [EventOf(ANY, "x", "7")])


def test_an_object_without_a_version_is_never_seen() -> None:
    parked = PausedBindings()
    parked.pause(attempt("a"), "a", 10.0, [EventOf(ANY, "x")])
    assert uids(parked.concerned(CHANGED, about("x"))) == ["a"]


def test_in_doubt_an_event_was_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "KEPT_CHANGES", 4)
    parked = PausedBindings()
    # Before the first attempt waits for an object, the objects of events are not kept.
    parked.concerned(CHANGED, about("y"))
    assert not parked.pause(attempt("a"), "a", 10.0, [EventOf(ANY, "x")])
    assert parked.pause(attempt("a", 1), "a", 10.0, [EventOf(ANY, "x")])
    for i in range(20):
        parked.concerned(CHANGED, about(f"n{i}"))
    assert len(parked._last_of) <= 8
    assert not parked.pause(attempt("b", 2), "b", 10.0, [EventOf(ANY, "z")])
    assert parked.pause(attempt("b", parked.moment - 2), "b", 10.0, [EventOf(ANY, "z")])
    assert parked.pause(attempt("c", 2), "c", 10.0, [EventOf(OTHER, "z")])


def test_a_wrong_index_is_noticed() -> None:
    parked = PausedBindings()
    parked.pause(attempt("a"), "a", 10.0, [EventOf(ANY, "x")])
    parked._by_key.clear()
    with pytest.raises(InvariantError, match="not filed"):
        parked.check_invariants()


wanted = st.one_of(
    st.sampled_from((ANY, CHANGED, OTHER)),
    st.builds(EventOf, st.sampled_from((ANY, CHANGED, OTHER)), st.sampled_from("xyz")),
)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from("abcd"), st.lists(wanted, max_size=2), st.integers(0, 6)),
            st.tuples(st.sampled_from((CHANGED, DELETED)), st.sampled_from("xyz")),
        ),
        max_size=25,
    )
)
def test_no_pod_sleeps_through_what_it_waits_for(steps: list[Any]) -> None:
    parked, happened = PausedBindings(), list[tuple[ClusterEvent, str]]()
    waiting: dict[str, list[Any]] = {}

    def meets(each: Any, event: ClusterEvent, key: str) -> bool:
        kind = each.event if isinstance(each, EventOf) else each
        hit = kind.resource == event.resource and bool(kind.actions & event.actions)
        return hit and event.actions <= kind.actions and (not isinstance(each, EventOf) or each.key == key)

    for step in steps:
        if isinstance(step[0], ClusterEvent):
            event, key = step
            happened.append(step)
            expected = {name for name, events in waiting.items() if any(meets(e, event, key) for e in events)}
            assert set(uids(parked.concerned(event, about(key)))) == expected
            for name in expected:
                del waiting[name]
        elif step[0] not in waiting:
            name, events, ago = step
            since = max(0, len(happened) - ago)
            missed = any(meets(e, *came) for came in happened[since:] for e in events)
            if parked.pause(attempt(name, since), name, 10.0, events):
                assert not missed
                waiting[name] = events
        parked.check_invariants()
