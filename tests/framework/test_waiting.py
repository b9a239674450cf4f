from __future__ import annotations

from typing import Any

import pytest
from attrs import define, field
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from schedframe.errors import InputError, InvariantError
from schedframe.framework import Code, CycleState, Status, WaitingPod, WaitingRoom
from schedframe.framework.waiting import MAX_PERMIT_SECONDS

from ..state.build import make_pod


@define(eq=False)
class Inbox:
    posted: list[tuple[str, str, Status | None]] = field(factory=list)

    def post(self, uid: str, plugin: str, rejection: Status | None) -> None:
        self.posted.append((uid, plugin, rejection))


def park(room: WaitingRoom, name: str = "p", now: float = 100.0, **timeouts: float) -> WaitingPod:
    return room.park(make_pod(name, "n0"), "n0", CycleState(), "ticket", now, timeouts)


def test_allowing_and_rejecting_goes_through_the_inbox() -> None:
    inbox = Inbox()
    room = WaitingRoom(inbox.post)
    waiting = park(room, A=5.0, B=10.0)
    waiting.allow("A")
    waiting.allow("A")
    waiting.reject("B", "too", "late")
    rejection = Status(Code.UNSCHEDULABLE, ("too", "late"), "B")
    assert inbox.posted == [("uid-p", "A", None), ("uid-p", "A", None), ("uid-p", "B", rejection)]
    assert waiting.pending_plugins == ("A", "B")
    assert room.get("uid-p") is waiting
    assert (waiting.node_name, waiting.ticket) == ("n0", "ticket")


def test_a_plugin_is_given_by_its_name() -> None:
    waiting = park(WaitingRoom(Inbox().post), A=5.0)
    wrong: Any = waiting
    wrong_reasons: Any = (5,)
    with pytest.raises(InputError, match="plugin: a WaitingPod is not a text"):
        waiting.allow(wrong)
    with pytest.raises(InputError, match=r"reasons\[0\]: 5 is not a text"):
        waiting.reject("A", *wrong_reasons)


def test_the_pod_leaves_when_the_last_plugin_allows_it() -> None:
    room = WaitingRoom(Inbox().post)
    waiting = park(room, A=5.0, B=10.0)
    assert room.allow("uid-p", "A") is None
    assert room.allow("uid-p", "A") is None
    assert room.allow("uid-p", "C") is None
    assert room.next_deadline() == 110.0
    assert room.allow("uid-p", "B") is waiting
    assert room.get("uid-p") is None
    assert room.allow("uid-p", "B") is None
    assert room.next_deadline() is None


def test_no_plugin_may_wait_longer_than_a_quarter_of_an_hour_nor_less_than_nothing() -> None:
    waiting = park(WaitingRoom(Inbox().post), A=1e9, B=-5.0)
    assert waiting.deadlines == {"A": 100.0 + MAX_PERMIT_SECONDS, "B": 100.0}


def test_patience_ends_once_per_pod() -> None:
    room = WaitingRoom(Inbox().post)
    park(room, "p", A=5.0, B=3.0)
    park(room, "q", A=4.0)
    park(room, "r", A=9.0)
    assert [(waiting.pod.name, plugin) for waiting, plugin, _ in room.expired(106.0)] == [
        ("p", "B"),
        ("q", "A"),
    ]
    assert [waiting.pod.name for waiting in room] == ["r"]


def test_one_pod_waits_once_and_for_a_plugin() -> None:
    room = WaitingRoom(Inbox().post)
    with pytest.raises(InvariantError, match=r"default/p \(uid-p\) would wait for no plugin"):
        park(room)
    park(room, A=1.0)
    with pytest.raises(InvariantError, match=r"default/p \(uid-p\) waits already"):
        park(room, A=1.0)


@pytest.mark.parametrize(
    "damage",
    [
        lambda room: room.get("uid-p").deadlines.clear(),
        lambda room: room.get("uid-p").deadlines.update(A=1.0),
        lambda room: room._pods.update(other=room._pods.pop("uid-p")),
        lambda room: room._deadlines.clear(),
    ],
)
def test_damage_is_found(damage: Any) -> None:
    room = WaitingRoom(Inbox().post)
    park(room, A=5.0)
    room.check_invariants()
    damage(room)
    with pytest.raises(InvariantError):
        room.check_invariants()


class WaitingRoomMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.room = WaitingRoom(Inbox().post)
        self.model: dict[str, dict[str, float]] = {}
        self.now = 0.0

    names = st.sampled_from([f"p{i}" for i in range(5)])
    plugins = st.sampled_from("ABC")

    @rule(name=names, timeouts=st.dictionaries(plugins, st.sampled_from((0.0, 1.0, 5.0, 2000.0)), min_size=1))
    def park(self, name: str, timeouts: dict[str, float]) -> None:
        uid = f"uid-{name}"
        if uid in self.model:
            with pytest.raises(InvariantError):
                park(self.room, name, self.now, **timeouts)
            return
        park(self.room, name, self.now, **timeouts)
        self.model[uid] = {plugin: self.now + min(t, MAX_PERMIT_SECONDS) for plugin, t in timeouts.items()}

    @rule(name=names, plugin=plugins)
    def allow(self, name: str, plugin: str) -> None:
        uid = f"uid-{name}"
        left = self.model.get(uid)
        freed = left is not None and left.pop(plugin, None) is not None and not left
        waiting = self.room.allow(uid, plugin)
        assert (waiting is not None) == freed
        if freed:
            del self.model[uid]

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.model)))
        del self.model[uid]
        waiting = self.room.leave(uid)
        assert waiting is not None
        assert waiting.pod.uid == uid
        assert self.room.leave(uid) is None

    @rule(seconds=st.sampled_from((0.0, 0.5, 3.0, MAX_PERMIT_SECONDS)), one=st.booleans())
    def time_passes(self, seconds: float, one: bool) -> None:
        """Possibly the core handles just the first pod and comes back for the others."""
        self.now += seconds
        for waiting, plugin, _ in self.room.expired(self.now):
            deadlines = self.model.pop(waiting.pod.uid)
            assert deadlines[plugin] == min(deadlines.values()) <= self.now
            if one:
                return
        assert all(min(deadlines.values()) > self.now for deadlines in self.model.values())

    @invariant()
    def agree(self) -> None:
        self.room.check_invariants()
        assert len(self.room) == len(self.model)
        assert {waiting.pod.uid: waiting.deadlines for waiting in self.room} == self.model
        every = [deadline for deadlines in self.model.values() for deadline in deadlines.values()]
        assert self.room.next_deadline() == min(every, default=None)


TestWaitingRoom = WaitingRoomMachine.TestCase
