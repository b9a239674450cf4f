"""Interruptions in any call of any hook, while pods wait, are rejected, rolled back and deleted."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from schedframe import Action, ClusterEvent, EventRegistration, EventResource, Status
from schedframe.queue import QueueingHint
from tests.interrupting import WORLDS_FACTOR

from .build import World, make_node, make_pod, plugin_class
from .pod_groups.helpers import GANGS, group, node, nodes_of, pod, scheduler_of
from .test_interrupted import INTERRUPTIONS

ALL_EVENTS = ClusterEvent(EventResource.WILDCARD, Action.ALL)
CPUS = 8


class Stop:
    """Raises an interruption at one call of any hook, if it is armed."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.left = rng, 0
        self.hooks: Counter[str] = Counter()

    def arm(self) -> None:
        self.left = int(300 ** self.rng.random())

    def __call__(self, hook: str) -> None:
        self.left -= 1
        if self.left == 0:
            self.hooks[hook] += 1
            raise self.rng.choice([*INTERRUPTIONS.values()])()

    def fake(self, *, sorts: bool) -> type[Any]:
        """A plugin with all these hooks; some pods wait at permit or pre_bind, some are rejected."""
        rng = self.rng

        def answer(hook: str, *answers: Any) -> Any:
            self(hook)
            return rng.choice(answers) if self.left > 0 else answers[0]

        def hint(pod: Any, old: Any, new: Any) -> QueueingHint:
            return answer("hint", QueueingHint.QUEUE, QueueingHint.SKIP)

        def permit(plugin: Any, state: Any, pod: Any, node_name: str) -> Any:
            given = answer("permit", None, None, Status.wait(5), Status.unschedulable("not yet"))
            if given is None:
                for each in plugin.handle.waiting_pods:
                    each.allow("Fake")
            return given

        def init(plugin: Any, handle: Any) -> None:
            plugin.handle = handle

        unfit = Status.unschedulable("not now")
        own_order: dict[str, Any] = {
            "queue_sort_key": lambda plugin, pod_info: answer(
                "queue_sort_key", (pod_info.initial_attempt or 0.0,)
            )
        }
        return plugin_class(
            __init__=init,
            **(own_order if sorts else {}),
            pre_enqueue=lambda plugin, pod: answer("pre_enqueue", None),
            events_to_register=lambda plugin: (EventRegistration(ALL_EVENTS, hint),),
            pre_filter=lambda plugin, state, pod, nodes: answer("pre_filter", None, None, unfit),
            filter=lambda plugin, state, pod, node_info: answer("filter", None, None, None, unfit),
            post_filter=lambda plugin, state, pod, statuses: answer("post_filter", unfit),
            pre_score=lambda plugin, state, pod, nodes: answer("pre_score", None),
            score=lambda plugin, state, pod, node_info: answer("score", 1, 2),
            reserve=lambda plugin, state, pod, node_name: answer("reserve", None, None, unfit),
            unreserve=lambda plugin, state, pod, node_name: answer("unreserve", None),
            permit=permit,
            pre_bind_pre_flight=lambda plugin, state, pod, node_name: answer("flight", None, Status.skip()),
            pre_bind=lambda plugin, state, pod, node_name: answer("pre_bind", None, None, Status.wait(5)),
            post_bind=lambda plugin, state, pod, node_name: answer("post_bind", None),
        )


def run(world: World, stop: Stop) -> None:
    stop.arm()
    with suppress(*INTERRUPTIONS):
        world.scheduler.run_until_idle()
    world.check()


@pytest.mark.parametrize("seed", range(25 * WORLDS_FACTOR))
def test_pods(seed: int) -> None:
    rng = Random(seed)
    stop = Stop(rng)
    world = World({"Fake": stop.fake(sorts=True)}, only={"queueSort": ["Fake"]})
    world.create(make_node("a", cpu=CPUS), make_node("b", cpu=CPUS))
    for number in range(8):
        for member in range(3):
            world.create(make_pod(f"p{number}-{member}", cpu=1))
        run(world, stop)
        world.clock.advance(rng.choice([0, 1, 6, 30]))
        run(world, stop)
        if rng.random() < 0.4:
            world.cluster.delete(rng.choice(world.cluster.list("Pod")))
    stop.left = 0
    for _ in range(6):
        world.clock.advance(700)
        world.settle()
    core = world.scheduler.core
    pods = world.cluster.list("Pod")
    bound = Counter(each.node_name for each in pods if each.node_name)
    assert not core.binding
    assert not core.queue.in_flight.flights
    assert Counter(state.pod.node_name for state in core.cache.states.values()) == bound
    assert sum(bound.values()) == min(len(pods), 2 * CPUS), stop.hooks


@pytest.mark.parametrize("seed", range(15 * WORLDS_FACTOR))
def test_groups(seed: int) -> None:
    rng = Random(seed)
    stop = Stop(rng)
    cluster, scheduler, clock = scheduler_of(
        node("n", cpu=40), node("m", cpu=40), gates=GANGS, plugins={"Fake": stop.fake(sorts=False)}
    )
    for number in range(6):
        cluster.create(group(f"g{number}", 2))
        for member in range(3):
            cluster.create(pod(f"p{number}-{member}", f"g{number}"))
        stop.arm()
        with suppress(*INTERRUPTIONS):
            scheduler.run_until_idle()
        clock.advance(rng.choice([0, 1, 6, 30]))
    stop.left = 0
    cluster.create(node("late"))  # rejections of groups are remembered until something changes
    for _ in range(6):
        clock.advance(700)
        scheduler.run_until_idle()
    scheduler.core.queue.check_invariants()
    assert not scheduler.core.binding
    assert len(nodes_of(cluster)) == len(cluster.list("Pod")), stop.hooks
    assert scheduler.core.cache.pod_count == len(cluster.list("Pod"))
