"""A state machine of groups with failing binds, failing permits, deletions and time: all invariants hold."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import define
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from schedframe import BindRefused, NotFound, Pod, Status, hookimpl
from schedframe.queue import GroupQueue

from .helpers import TOPOLOGY, ZONE, group, nodes_of, pod, scheduler_of, zoned

GROUPS = ("g0", "g1", "g2")
MINIMUM = {"g0": 1, "g1": 2, "g2": 3}
groups = st.sampled_from(GROUPS)


@define(eq=False)
class Faulty:
    """A permit that fails when a rule asks for it."""

    answers: list[Any]

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        answer = self.answers.pop() if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


class GroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Any] = []
        objects = [zoned(f"n{i}", f"z{i % 2}", 3) for i in range(3)]
        self.cluster, self.scheduler, self.clock = scheduler_of(
            *objects, gates=TOPOLOGY, plugins={"Faulty": Faulty(self.answers)}
        )
        self.number = 0

    @rule(name=groups, cpu=st.integers(1, 2), priority=st.sampled_from([0, 10]))
    def create_member(self, name: str, cpu: int, priority: int) -> None:
        self.number += 1
        self.cluster.create(pod(f"p{self.number}", name, cpu=cpu, priority=priority))

    @rule()
    def create_lone_pod(self) -> None:
        self.number += 1
        self.cluster.create(pod(f"lone{self.number}"))

    @rule(name=groups, constrained=st.booleans())
    def create_group(self, name: str, constrained: bool) -> None:
        self.cluster.apply(group(name, MINIMUM[name], ZONE if constrained else ""))

    @rule(name=groups)
    def delete_group(self, name: str) -> None:
        if self.cluster.get("PodGroup", f"default/{name}") is not None:
            self.cluster.delete("PodGroup", f"default/{name}")

    @precondition(lambda self: self.cluster.list("Pod"))
    @rule(data=st.data())
    def delete_pod(self, data: st.DataObject) -> None:
        self.cluster.delete(data.draw(st.sampled_from(self.cluster.list("Pod"))))

    @rule(data=st.data(), cpu=st.integers(1, 4))
    def change_node(self, data: st.DataObject, cpu: int) -> None:
        name = f"n{data.draw(st.integers(0, 3))}"
        self.cluster.apply(zoned(name, f"z{int(name[1:]) % 2}", cpu))

    @rule(kind=st.sampled_from([BindRefused, NotFound]))
    def let_a_bind_fail(self, kind: type[Exception]) -> None:
        self.cluster.fail_next("bind", kind("for the test"))

    @rule(answer=st.sampled_from(["reject", "raise", "wait"]))
    def let_a_permit_fail(self, answer: str) -> None:
        answers = {"reject": Status.unschedulable("no"), "raise": ValueError("no"), "wait": Status.wait(5)}
        self.answers.append(answers[answer])

    @rule(seconds=st.sampled_from([0.5, 3.0, 12.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.scheduler.run_until_idle()

    @rule()
    def schedule(self) -> None:
        self.scheduler.run_until_idle()

    @invariant()
    def nothing_is_over_committed(self) -> None:
        for node in self.cluster.list("Node"):
            used = sum(
                each.requests["cpu"] for each in self.cluster.list("Pod") if each.node_name == node.name
            )
            # A node may have shrunk under its pods, by one of the rules, but not below what was bound before.
            assert used <= 4000

    @invariant()
    def parts_agree(self) -> None:
        core = self.scheduler.core
        assert isinstance(core.queue, GroupQueue)
        self.scheduler.sync()
        core.queue.check_invariants()
        core.cache.check_invariants()
        core.waiting.check_invariants()
        members = {
            f"default/{name}": sum(
                each.spec.scheduling_group is not None and each.spec.scheduling_group.pod_group_name == name
                for each in self.cluster.list("Pod")
            )
            for name in GROUPS
        }
        assert {key: core.members.all_count(key) for key in members} == members
        assert not core.cache.table.on_trial

    def teardown(self) -> None:
        """Whatever happened, groups that fit run in the end."""
        self.answers.clear()
        self.cluster._failures.waiting.clear()
        for name in GROUPS:
            self.cluster.apply(group(name, MINIMUM[name]))
        for i in range(8):
            self.cluster.apply(zoned(f"big{i}", "z0", 64))
        for _ in range(8):
            self.clock.advance(400)
            self.scheduler.run_until_idle()
        placed = nodes_of(self.cluster)
        for name in GROUPS:
            found = [
                each.name
                for each in self.cluster.list("Pod")
                if each.spec.scheduling_group is not None
                and each.spec.scheduling_group.pod_group_name == name
            ]
            if len(found) >= MINIMUM[name]:
                assert set(found) <= placed.keys(), (name, found, placed)


TestGroupMachine = pytest.mark.filterwarnings("ignore")(GroupMachine.TestCase)
