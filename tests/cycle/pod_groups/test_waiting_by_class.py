"""Groups that wait by class: decisions are those of a scheduler that tries each group at every event."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from attrs import define, field

from schedframe import InMemoryCluster, Pod, Scheduler, Status, VirtualClock
from schedframe.cycle import Tuning, observing
from schedframe.cycle.messages import Activation
from schedframe.cycle.pod_groups.waiting import WaitingGroups
from schedframe.embed import Embedding, Group, Task, Worker
from schedframe.errors import CacheFault
from tests.profiles import scaled

from .helpers import GANGS, group, node, nodes_of, pod, scheduler_of

STEPS = 20
NODES = 4
WHOLE = 4


@define(eq=False)
class Side:
    """A scheduler with its own cluster; *tries_all*: each pod is tried at each step."""

    tries_all: bool
    clock: VirtualClock = field(init=False)
    cluster: InMemoryCluster = field(init=False)
    scheduler: Scheduler = field(init=False)

    def __attrs_post_init__(self) -> None:
        nodes = [node(f"n{number}", WHOLE) for number in range(NODES)]
        self.cluster, self.scheduler, self.clock = scheduler_of(
            *nodes, tuning=Tuning(wait_together=not self.tries_all)
        )

    def run(self) -> None:
        before = nodes_of(self.cluster)
        if self.tries_all:
            self.scheduler.core.inbox.put(Activation(None))
        self.scheduler.run_until_idle()
        self.scheduler.core.queue.check_invariants()
        self.check_capacity(set(nodes_of(self.cluster).items()) - set(before.items()))

    def check_capacity(self, placed: set[tuple[str, str]]) -> None:
        """No node to which a pod went just now has more than it can take."""
        used: Counter[str] = Counter()
        for each in self.cluster.list("Pod"):
            used[each.node_name] += each.requests["cpu"]
        for name in {name for _, name in placed}:
            found = self.cluster.get("Node", name)
            assert found is not None
            assert used[name] <= found.status.allocatable["cpu"].milli_value()


class World:
    """Gangs and single pods that come, end and are deleted, and nodes that change."""

    def __init__(self, seed: int, sides: tuple[Side, ...], *, whole: bool) -> None:
        self.rng, self.count, self.sides, self.whole = Random(seed), 0, sides, whole
        self.kinds = [(self.size(), self.rng.randint(2, 4), self.rng.randint(0, 1)) for _ in range(3)]
        self.steps = [self.submit, self.submit, self.single, self.end, self.end]
        if not whole:
            self.steps += [self.delete, self.change, self.ask_for_less]

    def size(self) -> int:
        return WHOLE if self.whole else self.rng.randint(1, WHOLE)

    def each(self, method: str, *arguments: Any) -> None:
        for side in self.sides:
            getattr(side.cluster, method)(*arguments)

    def step(self) -> None:
        self.rng.choice(self.steps)()
        for side in self.sides:
            side.clock.advance(20.0)
            side.run()

    def submit(self) -> None:
        cpu, size, more = self.rng.choice(self.kinds)
        self.count += 1
        name = f"g{self.count}"
        self.each("create", group(name, size))
        for number in range(size + (0 if self.whole else more)):
            self.each("create", pod(f"{name}-{number}", name, cpu))

    def single(self) -> None:
        self.count += 1
        self.each("create", pod(f"s{self.count}", cpu=self.size()))

    def end(self) -> None:
        placed = sorted(nodes_of(self.sides[0].cluster))
        for name in self.rng.sample(placed, min(len(placed), self.rng.randint(1, 4))):
            self.each("delete", "Pod", f"default/{name}")

    def delete(self) -> None:
        if pods := [each.key for each in self.sides[0].cluster.list("Pod")]:
            self.each("delete", "Pod", self.rng.choice(pods))

    def change(self) -> None:
        self.each("apply", node(f"n{self.rng.randrange(NODES)}", self.rng.randint(2, 6)))

    def ask_for_less(self) -> None:
        if groups := [each.name for each in self.sides[0].cluster.list("PodGroup")]:
            self.each("apply", group(self.rng.choice(groups), self.rng.randint(1, 3)))


def test_decisions_are_those_of_a_scheduler_that_tries_each_group_at_each_event() -> None:
    for seed in range(scaled(12)):
        world = World(seed, (Side(False), Side(True)), whole=True)
        for _ in range(STEPS):
            world.step()
            one, other = (nodes_of(side.cluster).keys() for side in world.sides)
            assert one == other, seed
        for side in world.sides:
            side.scheduler.close()


def test_no_group_waits_that_a_scheduler_from_scratch_would_place() -> None:
    for seed in range(scaled(12)):
        side = Side(False)
        world = World(seed, (side,), whole=False)
        for _ in range(STEPS):
            world.step()
        for _ in range(3):
            side.clock.advance(400.0)
            side.run()
        objects = [each for kind in ("Node", "PodGroup", "Pod") for each in side.cluster.list(kind)]
        fresh = InMemoryCluster(objects, clock=side.clock)
        with Scheduler(
            fresh, clock=side.clock, seed=1, feature_gates=GANGS, tuning=Tuning(wait_together=False)
        ) as scheduler:
            scheduler.run_until_idle()
        assert nodes_of(fresh).keys() == nodes_of(side.cluster).keys(), seed
        side.scheduler.close()


# ---- what it costs ---------------------------------------------------------------------------------------


def waiting_gangs(
    number: int, size: int = 2, **options: Any
) -> tuple[InMemoryCluster, Scheduler, VirtualClock]:
    """Gangs of pods that need a whole node each, while one node is free and the others run a small pod."""
    nodes = [node(f"n{each}", WHOLE) for each in range(3)]
    cluster, scheduler, clock = scheduler_of(*nodes, **options)
    for each in range(2):
        cluster.create(pod(f"small-{each}", nodeName=f"n{each}"))
    for each in range(number):
        cluster.create(group(f"g{each}", size))
        for one in range(size):
            cluster.create(pod(f"g{each}-{one}", f"g{each}", WHOLE))
    scheduler.run_until_idle()
    return cluster, scheduler, clock


def searches(scheduler: Scheduler) -> int:
    assert scheduler.groups is not None
    return scheduler.groups.searches


def test_of_equal_gangs_the_first_is_searched_and_the_others_are_not() -> None:
    cluster, scheduler, _ = waiting_gangs(5)
    assert searches(scheduler) == 1
    conditions = {each.status.condition("PodScheduled") for each in cluster.list("Pod") if not each.node_name}
    assert None not in conditions
    scheduler.close()


def test_room_places_the_first_gang_and_then_the_next_one_is_tried() -> None:
    cluster, scheduler, _ = waiting_gangs(5)
    cluster.delete("Pod", "default/small-0")
    scheduler.run_until_idle()
    assert set(nodes_of(cluster, "g")) == {"g0-0", "g0-1"}
    assert searches(scheduler) == 3
    scheduler.close()


def test_one_more_member_helps_its_own_group_only() -> None:
    cluster, scheduler, _ = waiting_gangs(3)
    before = searches(scheduler)
    cluster.create(pod("g2-2", "g2", 1))
    scheduler.run_until_idle()
    assert searches(scheduler) == before + 1
    scheduler.close()


def test_a_member_that_ended_changes_the_class_of_its_group() -> None:
    cluster, scheduler, _ = waiting_gangs(3)
    cluster.apply(group("g1", 1))
    cluster.delete("Pod", "default/g1-0")
    scheduler.run_until_idle()
    assert set(nodes_of(cluster, "g")) == {"g1-1"}
    scheduler.core.queue.check_invariants()
    scheduler.close()


def test_the_next_gang_is_tried_if_the_first_one_is_deleted_while_it_is_active() -> None:
    cluster, scheduler, _ = waiting_gangs(3)
    cluster.delete("Pod", "default/small-0")
    for number in range(2):
        cluster.delete("Pod", f"default/g0-{number}")
    scheduler.run_until_idle()
    assert set(nodes_of(cluster, "g")) == {"g1-0", "g1-1"}
    scheduler.close()


def test_one_gang_of_a_class_is_tried_every_five_minutes() -> None:
    _, scheduler, clock = waiting_gangs(4)
    start, wake_ups = clock(), 0
    while (deadline := scheduler.next_deadline()) is not None and deadline <= start + 3600:
        clock.advance_to(deadline)
        scheduler.run_until_idle()
        wake_ups += 1
    assert wake_ups == 12
    scheduler.close()


def test_an_embedding_has_no_deadline_while_gangs_wait() -> None:
    clock = VirtualClock()
    embedding: Embedding[Task, Worker] = Embedding([Worker("w", {"gpu": 8})], clock=clock, groups=True)
    for number in range(3):
        embedding.submit_group(Group([Task(f"g{number}-{each}", {"gpu": 8}) for each in range(2)]))
    embedding.run_until_idle()
    assert embedding.next_deadline() is None
    assert all(each.why is not None for each in embedding.waiting())
    embedding.close()


def test_a_new_configuration_tries_all_groups() -> None:
    cluster, scheduler, _ = waiting_gangs(3)
    scheduler.reload(None)
    cluster.delete("Pod", "default/small-1")
    scheduler.run_until_idle()
    assert set(nodes_of(cluster, "g")) == {"g0-0", "g0-1"}
    assert all(isinstance(each, Pod) for each in scheduler.core.pending.values())
    scheduler.core.queue.check_invariants()
    scheduler.close()


@pytest.mark.parametrize("method", ["class_of", "_note", "_watch", "_holds_for_equals"])
def test_a_fault_in_what_is_known_is_reported_and_groups_are_tried(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[Status] = []

    def broken(*_: Any) -> Any:
        raise IndexError("out of step")

    monkeypatch.setattr(WaitingGroups, method, broken)
    cluster, scheduler, _ = waiting_gangs(
        3, observers=[observing(faulted=lambda status, *_: faults.append(status))]
    )
    assert isinstance(faults[0].error, CacheFault)
    cluster.delete("Pod", "default/small-0")
    scheduler.run_until_idle()
    assert set(nodes_of(cluster, "g")) == {"g0-0", "g0-1"}
    scheduler.close()


def test_a_rejected_group_draws_no_nodes_of_others() -> None:
    """Else an attempt that is spared would change which of equal nodes later pods get."""
    cluster, scheduler, _ = scheduler_of(*(node(f"n{number}", WHOLE) for number in range(NODES)))
    cluster.create(group("g", NODES + 1))
    before = scheduler.core.rng.getstate()
    for number in range(NODES + 1):
        cluster.create(pod(f"g-{number}", "g", WHOLE))
    scheduler.run_until_idle()
    assert scheduler.groups is not None
    assert scheduler.groups.searches == 1
    assert scheduler.core.rng.getstate() == before
    cluster.create(pod("single"))
    scheduler.run_until_idle()
    assert scheduler.core.rng.getstate() != before
