"""The queue with groups: one entry a group, one filing a member, whatever happens to the members."""

from __future__ import annotations

from collections.abc import Collection
from math import sqrt
from typing import Any

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from schedframe import QueuedPodInfo
from schedframe.api import Pod, group_of
from schedframe.api.podspec import PodSchedulingGroup
from schedframe.queue import GroupQueue, Pool, QueueOptions, QueueProfile

from .support import EPOCH, NODE_ADD, NODE_LABEL, PROFILE, ManualClock, node, on, pod


def is_shut(waiting: Pod) -> str | None:
    return "shut" if waiting.labels.get("gate") == "shut" else None


def options(clock: ManualClock, closed: Collection[str] = ()) -> QueueOptions:
    """A profile with a gate for pods, and one that keeps out the members of the groups *closed*."""
    events = {name: (on(NODE_ADD),) for name in ("Add", "Gate", "Quorum")} | {"Label": (on(NODE_LABEL),)}
    profile = QueueProfile(
        events=events,
        pre_enqueue=(
            ("Gate", is_shut),
            ("Quorum", lambda waiting: "too few" if group_of(waiting) in closed else None),
        ),
        group_gates=frozenset({"Quorum"}),
    )
    return QueueOptions(clock=clock, profiles={PROFILE: profile})


def member(name: str, group: str, **about: Any) -> Pod:
    made = pod(name, **about)
    in_group = PodSchedulingGroup(pod_group_name=group) if group else None
    return Pod(made.metadata, evolve(made.spec, scheduling_group=in_group), made.status)


def fail(queue: GroupQueue, info: QueuedPodInfo, *plugins: str) -> None:
    queue.add_unschedulable(info, info.pod, unschedulable_plugins=plugins)


def attempt(queue: GroupQueue, pods: dict[str, Pod]) -> list[QueuedPodInfo]:
    """Pop a group as the group cycle does."""
    popped = queue.pop()
    if popped is None:
        return []
    key = group_of(popped.pod)
    others = [each for each in pods.values() if key and group_of(each) == key and each is not popped.pod]
    return [popped, *queue.pop_members(others)]


def test_an_active_group_is_one_entry_and_leaves_as_a_whole() -> None:
    queue = GroupQueue(options(ManualClock()))
    pods = {name: member(name, "g") for name in "abc"}
    for each in pods.values():
        queue.add(each)
    queue.add(pod("lone"))
    assert len(queue.parts.active.entries) == 2
    assert queue.counts()[Pool.ACTIVE] == 4
    assert {info.pod.name for info in attempt(queue, pods)} == set("abc")
    assert [info.pod.name for info in queue.in_pool(Pool.ACTIVE)] == ["lone"]


def test_a_group_has_the_priority_of_its_highest_member_and_the_time_of_its_earliest() -> None:
    clock = ManualClock()
    queue = GroupQueue(options(clock))
    order = [("a", "late"), ("b", "early"), ("c", "early"), ("d", "urgent"), ("e", "late")]
    for name, group in order:
        clock.advance(1)
        queue.add(member(name, group, priority=5 if group == "urgent" else 0))
    queue.add(member("f", "early", priority=5))
    heads = []
    pods = {info.pod.name: info.pod for info in queue.in_pool(Pool.ACTIVE)}
    while infos := attempt(queue, pods):
        heads.append(group_of(infos[0].pod).partition("/")[2])
    assert heads == ["urgent", "early", "late"]


def test_the_longest_backoff_grows_with_the_square_root_of_the_size_of_the_group() -> None:
    clock = ManualClock()
    queue = GroupQueue(options(clock))
    sizes = {"default/g": 16, "default/h": 1}
    queue.scale_backoff(lambda key: sizes[key])
    pods = {"a": member("a", "g"), "b": member("b", "h"), "c": pod("c")}
    for each in pods.values():
        queue.add(each)
    for _ in range(10):
        while (info := queue.pop()) is not None:
            fail(queue, info)
        clock.go_to(EPOCH + 10_000)
        queue.reconfigure(options(clock))
    while (info := queue.pop()) is not None:
        fail(queue, info)
    longest = {each.key: each.wake_at - each.since for each in queue.pending() if each.wake_at is not None}
    # Backoffs end after the second of their expiry.
    assert longest == {"default/a": 10 * sqrt(16) + 1, "default/b": 11, "default/c": 11}


def test_the_end_of_the_backoff_of_held_members_is_the_next_deadline() -> None:
    queue = GroupQueue(options(ManualClock()))
    pods = {name: member(name, "g") for name in "ab"}
    for each in pods.values():
        queue.add(each)
    for info in attempt(queue, pods):
        fail(queue, info, "Label")
    deadlines = {each.wake_at for each in queue.pending()}
    assert deadlines == {queue.next_deadline()} != {None}


def test_a_held_member_that_names_another_group_is_filed_there_alone() -> None:
    clock = ManualClock()
    queue = GroupQueue(options(clock))
    pods = {name: member(name, "g") for name in "ab"}
    for each in pods.values():
        queue.add(each)
    for info in attempt(queue, pods):
        fail(queue, info, "Label")
    assert {each.pool for each in queue.pending()} == {Pool.BACKOFF}
    queue.update(pods["a"], member("a", "h", version="2"))
    queue.check_invariants()
    queue.move_all(NODE_LABEL, node(), node())
    queue.check_invariants()
    assert {info.pod.name for info in queue.in_pool(Pool.ACTIVE)} == {"a"}


def test_an_event_costs_nothing_for_each_member_that_a_gate_for_groups_holds_back() -> None:
    clock, closed = ManualClock(), {"default/g"}
    queue = GroupQueue(options(clock, closed))
    asked: list[str] = []
    profile = options(clock, closed).profiles[PROFILE]
    (_, quorum) = profile.pre_enqueue[1]

    def counted(waiting: Pod) -> str | None:
        asked.append(waiting.name)
        return quorum(waiting)

    counting = evolve(profile, pre_enqueue=(("Quorum", counted),))
    queue.reconfigure(evolve(options(clock), profiles={PROFILE: counting}))
    for number in range(50):
        queue.add(member(f"p{number}", "g"))
    asked.clear()
    assert queue.parts.candidates_for(NODE_ADD) == []
    queue.move_all(NODE_ADD, None, node())
    assert asked == []
    queue.reconsider("default/g")
    assert len(asked) == 1
    closed.clear()
    queue.reconsider("default/g")
    assert len(queue.in_pool(Pool.ACTIVE)) == 50
    queue.check_invariants()


def test_a_pod_without_a_group_that_such_a_gate_holds_back_is_asked_at_each_event() -> None:
    clock, closed = ManualClock(), {""}
    queue = GroupQueue(options(clock, closed))
    queue.add(pod("lone"))
    queue.add(member("a", "g"))
    assert [info.pod.name for info in queue.in_pool(Pool.GATED)] == ["lone"]
    closed.clear()
    queue.move_all(NODE_ADD, None, node())
    assert {info.pod.name for info in queue.in_pool(Pool.ACTIVE)} == {"lone", "a"}
    queue.check_invariants()


class GroupQueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.closed: set[str] = set()
        self.queue = GroupQueue(options(self.clock, self.closed))
        self.queue.scale_backoff(lambda key: sum(group_of(each) == key for each in self.pods.values()))
        self.pods: dict[str, Pod] = {}
        self.flying: dict[str, QueuedPodInfo] = {}
        self.number = 0

    @rule(
        name=st.sampled_from("abcdef"),
        group=st.sampled_from(["", "g", "g", "h"]),
        gate=st.sampled_from(["open", "open", "shut"]),
        priority=st.integers(0, 2),
    )
    def add_or_update(self, name: str, group: str, gate: str, priority: int) -> None:
        self.number += 1
        made = member(name, group, version=str(self.number), labels={"gate": gate}, priority=priority)
        old = self.pods.get(name)
        self.pods[name] = made
        if old is None:
            self.queue.add(made)
        else:
            self.queue.update(old, made)

    @rule(name=st.sampled_from("abcdef"))
    def delete(self, name: str) -> None:
        if name in self.pods:
            self.queue.delete(self.pods.pop(name))

    @rule()
    def pop_a_group(self) -> None:
        for info in attempt(self.queue, self.pods):
            assert info.key not in self.flying
            self.flying[info.key] = info

    @rule(plugins=st.sets(st.sampled_from(["Label", "Add"]), max_size=2))
    def fail_all(self, plugins: set[str]) -> None:
        for info in self.flying.values():
            latest = self.pods.get(info.pod.name)
            self.queue.add_unschedulable(info, latest, unschedulable_plugins=plugins)
        self.flying.clear()

    @rule()
    def bind_all(self) -> None:
        for info in self.flying.values():
            self.queue.done(info.uid)
            self.pods.pop(info.pod.name, None)
        self.flying.clear()

    @rule(event=st.sampled_from([NODE_ADD, NODE_LABEL]))
    def send(self, event: Any) -> None:
        self.queue.move_all(event, None if event is NODE_ADD else node(), node())

    @rule(group=st.sampled_from("gh"))
    def reconsider(self, group: str) -> None:
        self.queue.reconsider(f"default/{group}")

    @rule(names=st.sets(st.sampled_from("abcdef")))
    def activate(self, names: set[str]) -> None:
        self.queue.activate([self.pods[name] for name in names if name in self.pods])

    @rule(seconds=st.sampled_from([0.3, 2.0, 11.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.queue.flush()

    @rule()
    def reload(self) -> None:
        self.queue.reconfigure(options(self.clock, self.closed))

    @rule(group=st.sampled_from("gh"), now=st.booleans())
    def close_or_open(self, group: str, now: bool) -> None:
        self.closed ^= {f"default/{group}"}
        # What opens such a gate is an event of the group itself or of its members.
        if now or f"default/{group}" not in self.closed:
            self.queue.reconsider(f"default/{group}")

    @invariant()
    def agree(self) -> None:
        self.queue.check_invariants()
        flying = set(self.flying)
        queued = {
            info.key for pool in Pool if pool is not Pool.IN_FLIGHT for info in self.queue.in_pool(pool)
        }
        assert queued | flying >= {each.key for each in self.pods.values()}
        active = self.queue.in_pool(Pool.ACTIVE)
        entries = len({group_of(info.pod) or info.key for info in active})
        assert len(self.queue.parts.active.entries) == entries

    def teardown(self) -> None:
        """Nothing is held for good: each member that no gate refuses is popped in the end."""
        self.fail_all(set())
        for key in list(self.closed):
            self.closed.remove(key)
            self.queue.reconsider(key)
        self.send(NODE_ADD)
        for _ in range(3):
            self.clock.advance(10_000)
            self.queue.flush()
        waiting = list(self.queue.in_pool(Pool.GATED))
        assert all(is_shut(info.pod) for info in waiting)
        assert len(self.queue.in_pool(Pool.ACTIVE)) + len(waiting) == len(self.queue)


TestGroupQueueMachine = GroupQueueMachine.TestCase
