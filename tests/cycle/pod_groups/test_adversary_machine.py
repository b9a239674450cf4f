"""Groups while binds are under way: edits, deletions, other groups, ended members, reloads and restarts.

The executor does what a rule says, so anything may happen between the decision for a group and its binds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attrs import define, evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from schedframe import BindRefused, InMemoryCluster, NotFound, Pod, Scheduler, Status, VirtualClock, hookimpl
from schedframe.api import group_of
from schedframe.cluster import Conflict, OutcomeUnknown
from schedframe.cycle import Tuning
from schedframe.cycle.binding.attempt import Attempt
from schedframe.framework.binding import drive
from schedframe.queue import GroupQueue
from tests.configurations import configuration
from tests.cycle.executors import ManualExecutor

from .helpers import GANGS, TOPOLOGY, ZONE, group, nodes_of, pod, zoned

GROUPS = ("g0", "g1", "g2")
ROOM = 4
groups = st.sampled_from(GROUPS)
places = st.integers(0, 7)
GATES = (GANGS, TOPOLOGY, {**TOPOLOGY, "WorkloadAwarePreemption": True})


@define(eq=False)
class Faulty:
    """A permit that gives the next answer."""

    answers: list[Any]

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return self.answers.pop() if self.answers else None


@define(eq=False)
class CheckedExecutor(ManualExecutor):
    """Shows each bind before it is kept."""

    check: Callable[[Attempt], None] = lambda attempt: None

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        if isinstance(work, partial) and work.func is drive:
            self.check(inspect.getgeneratorlocals(work.args[0])["binding"])
        ManualExecutor.submit(self, work, done)


class AdversaryMachine(RuleBasedStateMachine):
    @initialize(gates=st.sampled_from(GATES))
    def start(self, gates: dict[str, bool]) -> None:
        self.gates = gates
        self.answers: list[Any] = []
        self.number = 0
        self.clock = VirtualClock()
        self.cluster = InMemoryCluster(
            [zoned(f"n{i}", f"z{i % 2}", ROOM) for i in range(3)], clock=self.clock
        )
        self.least: dict[str, int] = {}
        self.disturbed: set[str] = set()
        """Groups that lost a member or were edited since all was at rest."""
        self.make_scheduler()

    def make_scheduler(self) -> None:
        self.executor = CheckedExecutor(self.check_quorum)
        self.scheduler = Scheduler(
            self.cluster,
            clock=self.clock,
            executor=self.executor,
            seed=1,
            feature_gates=self.gates,
            plugins={"Faulty": Faulty(self.answers)},
            tuning=Tuning(verify=1.0),
        )
        self.scheduler.sync()

    def check_quorum(self, attempt: Attempt) -> None:
        """No member of a gang is bound before as many as it needs have a node."""
        core, key = self.scheduler.core, group_of(attempt.pod)
        found = core.objects.get("PodGroup", key) if key else None
        if found is not None and key not in self.disturbed:
            assert core.members.scheduled_count(key) >= found.spec.min_count

    def disturb(self, *keys: str) -> None:
        self.disturbed |= set(keys)

    # ---- objects -----------------------------------------------------------------------------------------

    @rule(
        name=groups,
        cpu=st.integers(1, 3),
        priority=st.sampled_from([0, 10]),
        nowhere=st.sampled_from([False, False, False, True]),
        count=st.integers(1, 3),
    )
    def create_members(self, name: str, cpu: int, priority: int, nowhere: bool, count: int) -> None:
        for _ in range(count):
            self.number += 1
            spec: dict[str, Any] = {"nodeSelector": {"no": "where"}} if nowhere else {}
            self.cluster.create(pod(f"p{self.number}", name, cpu=cpu, priority=priority, **spec))

    @rule(cpu=st.integers(1, 3))
    def create_lone_pod(self, cpu: int) -> None:
        self.number += 1
        self.cluster.create(pod(f"lone{self.number}", cpu=cpu, priority=5))

    @rule(
        name=groups,
        at_least=st.sampled_from([None, 1, 2, 3, 4]),
        constrained=st.booleans(),
        priority=st.sampled_from([None, 100]),
    )
    def create_or_edit_group(
        self, name: str, at_least: int | None, constrained: bool, priority: int | None
    ) -> None:
        self.disturb(f"default/{name}")
        spec = {} if priority is None else {"priority": priority}
        self.cluster.apply(group(name, at_least, ZONE if constrained else "", **spec))

    @rule(name=groups)
    def delete_group(self, name: str) -> None:
        self.disturb(f"default/{name}")
        if self.cluster.get("PodGroup", f"default/{name}") is not None:
            self.cluster.delete("PodGroup", f"default/{name}")

    @precondition(lambda self: self.cluster.list("Pod"))
    @rule(place=places)
    def delete_pod(self, place: int) -> None:
        found = self.pod_at(place)
        self.disturb(group_of(found))
        self.cluster.delete(found)

    @precondition(lambda self: self.cluster.list("Pod"))
    @rule(place=places, name=groups)
    def name_another_group(self, place: int, name: str) -> None:
        """No API server lets a pod do that."""
        found = self.pod_at(place)
        if found.spec.scheduling_group is None:
            return
        self.disturb(group_of(found), f"default/{name}")
        member = evolve(found.spec.scheduling_group, pod_group_name=name)
        self.cluster.update(Pod(found.metadata, evolve(found.spec, scheduling_group=member), found.status))

    @precondition(lambda self: self.cluster.list("Pod"))
    @rule(place=places, phase=st.sampled_from(["Succeeded", "Failed"]))
    def end_pod(self, place: int, phase: str) -> None:
        """A member ends, perhaps without ever having had a node, as far as the scheduler knows."""
        found = self.pod_at(place)
        self.disturb(group_of(found))
        self.cluster.update(found.with_status(phase=phase))

    @rule(place=places)
    def drain_node(self, place: int) -> None:
        name = f"n{place % 3}"
        if self.cluster.get("Node", name) is not None:
            self.disturb(*(f"default/{each}" for each in GROUPS))
            for each in self.cluster.list("Pod"):
                if each.node_name == name:
                    self.cluster.delete(each)
            self.cluster.delete("Node", name)

    @rule(place=places)
    def add_node(self, place: int) -> None:
        self.cluster.apply(zoned(f"n{place % 3}", f"z{place % 2}", ROOM))

    def pod_at(self, place: int) -> Pod:
        pods: list[Pod] = sorted(self.cluster.list("Pod"), key=lambda each: each.key)
        return pods[place % len(pods)]

    # ---- faults ------------------------------------------------------------------------------------------

    @rule(kind=st.sampled_from([BindRefused, NotFound, Conflict, OutcomeUnknown]))
    def let_a_bind_fail(self, kind: type[Exception]) -> None:
        self.cluster.fail_next("bind", kind("for the test"))

    @rule(answer=st.sampled_from(["reject", "error", "wait"]))
    def let_a_permit_fail(self, answer: str) -> None:
        self.disturb(*(f"default/{each}" for each in GROUPS))
        made = {
            "reject": Status.unschedulable("no"),
            "error": Status.from_error("no"),
            "wait": Status.wait(5),
        }
        self.answers.append(made[answer])

    # ---- the scheduler -----------------------------------------------------------------------------------

    @rule(steps=st.integers(1, 4))
    def step(self, steps: int) -> None:
        for _ in range(steps):
            self.scheduler.step()

    @precondition(lambda self: self.executor.waiting)
    @rule(place=places)
    def run_a_job(self, place: int) -> None:
        self.executor.run(place % len(self.executor.waiting))

    @precondition(lambda self: self.executor.finished)
    @rule(place=places)
    def end_a_job(self, place: int) -> None:
        self.executor.tell(place % len(self.executor.finished))

    @rule(seconds=st.sampled_from([0.5, 3.0, 12.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def come_to_rest(self) -> None:
        for _ in range(1000):
            while self.executor.waiting:
                self.executor.run()
            while self.executor.finished:
                self.executor.tell()
            due = self.scheduler.step()
            if (due is None or due > self.clock()) and not self.executor.waiting:
                break
        else:
            raise AssertionError("the scheduler does not come to rest")
        if not len(self.scheduler.core.waiting) and not self.answers:
            self.disturbed.clear()

    @rule(seconds=st.integers(1, 20))
    def reload(self, seconds: int) -> None:
        self.scheduler.reload(configuration(podMaxBackoffSeconds=seconds))

    @rule()
    def restart(self) -> None:
        """Whatever was decided and not sent is lost; what is bound counts."""
        self.disturb(*(f"default/{each}" for each in GROUPS))
        while self.executor.waiting:
            self.executor.complete()
        while self.executor.finished:
            self.executor.tell()
        self.scheduler.close()
        self.make_scheduler()

    # ---- what holds --------------------------------------------------------------------------------------

    @invariant()
    def parts_agree(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        core = self.scheduler.core
        assert isinstance(core.queue, GroupQueue)
        self.scheduler.sync()
        core.queue.check_invariants()
        core.cache.check_invariants()
        core.waiting.check_invariants()
        assert not core.cache.table.on_trial
        members = {f"default/{name}": 0 for name in GROUPS}
        for each in self.cluster.list("Pod"):
            if (key := group_of(each)) and not each.is_terminated:
                members[key] += 1
        # A member that was assumed counts until its bind is known to have come to nothing.
        for key, count in members.items():
            assert core.members.all_count(key) == count

    @invariant()
    def nothing_is_over_committed(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        for node in self.cluster.list("Node"):
            pods = [each for each in self.cluster.list("Pod") if each.node_name == node.name]
            assert sum(each.requests["cpu"] for each in pods if not each.is_terminated) <= ROOM * 1000

    def teardown(self) -> None:
        """Whatever happened, groups that fit run in the end."""
        if not hasattr(self, "scheduler"):
            return
        self.answers.clear()
        self.cluster._failures.waiting.clear()
        for name in GROUPS:
            self.cluster.apply(group(name, 2))
        for i in range(12):
            self.cluster.apply(zoned(f"big{i}", "z0", 64))
        for _ in range(10):
            self.come_to_rest()
            self.clock.advance(400)
        self.come_to_rest()
        placed = nodes_of(self.cluster)
        for name in GROUPS:
            key = f"default/{name}"
            found = [
                each for each in self.cluster.list("Pod") if group_of(each) == key and not each.is_terminated
            ]
            possible = {each.name for each in found if not each.spec.node_selector}
            if len(found) >= 2 and (len(possible) >= 2 or possible & placed.keys()):
                assert possible <= placed.keys(), (name, possible, placed, self.scheduler.pending())


TestAdversaryMachine = pytest.mark.filterwarnings("ignore")(AdversaryMachine.TestCase)
