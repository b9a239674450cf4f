"""Another configuration for a running scheduler."""

from __future__ import annotations

import gc
import random
import threading
import weakref
from collections import Counter, OrderedDict, deque
from typing import Any

import pytest
from attrs import define

from schedframe import (
    ConfigError,
    InMemoryCluster,
    Pod,
    Scheduler,
    Status,
    ThreadExecutor,
    VirtualClock,
    hookimpl,
)
from schedframe.cycle import Meter, observing
from schedframe.cycle.latency import Distribution
from schedframe.framework import Framework, Registry
from schedframe.testing import node, pod
from tests.configurations import configuration
from tests.meters import figures_of

OTHER = "other-scheduler"
CLOSED: list[str] = []
"""Plugins that were closed, in order; emptied by each world."""
LEAK = 80
"""Objects of one type more after 400 reloads at which memory counts as lost: one for each five reloads."""


@define(eq=False)
class Holding:
    """Lets pods with the label wait in permit."""

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return Status.wait(30) if "held" in pod.labels else None

    @hookimpl
    def close(self) -> None:
        CLOSED.append("Holding")


@define(eq=False)
class Refusing:
    """Gates pods with the label."""

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Status | None:
        return Status.unschedulable("not with this configuration") if "odd" in pod.labels else None


@define(eq=False)
class Broken:
    def __attrs_post_init__(self) -> None:
        raise RuntimeError("not today")

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return None


def config(*names: str, enabled: tuple[str, ...] = (), disabled: tuple[str, ...] = (), **more: Any) -> Any:
    """A configuration with a profile for each of *names*."""
    plugins = {
        "multiPoint": {
            "enabled": [{"name": name} for name in enabled],
            "disabled": [{"name": name} for name in disabled],
        }
    }
    return configuration(
        profiles=[{"schedulerName": name, "plugins": plugins} for name in names or ("default-scheduler",)],
        **more,
    )


class World:
    """A scheduler on a cluster in memory whose configurations may name the plugins above."""

    def __init__(self, *objects: Any, first: Any = None, **options: Any) -> None:
        CLOSED.clear()
        self.clock = VirtualClock()
        self.cluster = InMemoryCluster(objects, clock=self.clock)
        self.faults: list[Status] = []
        notes = observing(faulted=lambda status, pod: self.faults.append(status))
        registry = Registry.installed()
        for plugin in (Holding, Refusing, Broken):
            registry.register(plugin.__name__, plugin)
        self.scheduler = Scheduler(
            self.cluster,
            first or config(),
            registry=registry,
            clock=self.clock,
            seed=0,
            **{**options, "observers": [notes, *options.get("observers", ())]},
        )

    def run(self) -> None:
        self.scheduler.run_until_idle()

    def placed(self) -> set[str]:
        return {each.name for each in self.cluster.list("Pod") if each.spec.node_name}


def small_node(**room: Any) -> Any:
    return node("n").allocatable(**({"cpu": "4", "pods": 100} | room))


def test_pods_are_tried_again_with_the_new_plugins() -> None:
    world = World(small_node().taint("k", "NoSchedule"), *[pod(f"p{i}") for i in range(20)])
    world.run()
    assert not world.placed()
    world.scheduler.reload(config(disabled=("TaintToleration",)))
    world.run()
    assert len(world.placed()) == 20
    assert not world.faults


def test_what_was_known_of_rejected_pods_is_dropped() -> None:
    world = World(small_node().taint("k", "NoSchedule"), *[pod(f"p{i}") for i in range(5)])
    world.run()
    world.scheduler.reload(config(disabled=("TaintToleration",)))
    world.scheduler.reload(config())
    world.run()
    assert not world.placed()
    assert {each.pool for each in world.scheduler.pending()} == {"unschedulable"}


def test_gates_are_asked_again() -> None:
    world = World(small_node(), pod("a").labels(odd="1"), first=config(enabled=("Refusing",)))
    world.run()
    assert world.scheduler.pending()[0].pool == "gated"
    world.scheduler.reload(config())
    world.run()
    assert world.placed() == {"a"}
    world.cluster.create(pod("b").labels(odd="1").build())
    world.scheduler.reload(config(enabled=("Refusing",)))
    world.run()
    assert world.placed() == {"a"}


def test_attempts_under_way_end_with_their_plugins() -> None:
    world = World(small_node(), pod("a").labels(held="1"), pod("b"), first=config(enabled=("Holding",)))
    world.run()
    assert world.placed() == {"b"}
    world.scheduler.reload(config())
    assert not CLOSED, "a plugin is in use as long as an attempt waits for it"
    world.run()
    assert world.placed() == {"b"}
    next(iter(world.scheduler.core.waiting)).allow("Holding")
    world.run()
    assert world.placed() == {"a", "b"}
    world.clock.advance(2)
    world.run()
    assert CLOSED == ["Holding"]
    world.scheduler.close()
    assert CLOSED == ["Holding"]


def test_a_waiting_pod_that_is_rejected_is_tried_with_the_new_plugins() -> None:
    world = World(small_node(), pod("a").labels(held="1"), first=config(enabled=("Holding",)))
    world.run()
    world.scheduler.reload(config())
    world.clock.advance(31)
    world.run()
    world.clock.advance(11)
    world.run()
    assert world.placed() == {"a"}


@pytest.mark.parametrize(
    "refused",
    [
        config(enabled=("NoSuchPlugin",)),
        config(enabled=("Broken",)),
        configuration(profile=[]),
        "no: [yaml",
    ],
    ids=["unknown", "broken", "field", "text"],
)
def test_a_refused_configuration_changes_nothing(refused: Any) -> None:
    world = World(small_node(), pod("a").labels(odd="1"), first=config(enabled=("Refusing", "Holding")))
    world.run()
    scheduler = world.scheduler
    before = scheduler.config, dict(scheduler.core.frameworks), scheduler.core.search
    with pytest.raises(ConfigError):
        scheduler.reload(refused)
    assert before == (scheduler.config, dict(scheduler.core.frameworks), scheduler.core.search)
    world.cluster.create(pod("b").build())
    world.run()
    assert world.placed() == {"b"}


def test_profiles_may_come_and_go() -> None:
    world = World(small_node(), pod("a").for_scheduler(OTHER), pod("b").requests(cpu="9"))
    world.run()
    assert not world.placed()
    world.scheduler.reload(config(OTHER))
    assert not [each for each in world.scheduler.pending() if each.key == "default/b"]
    world.run()
    assert world.placed() == {"a"}
    world.cluster.create(pod("c").build())
    world.run()
    assert world.placed() == {"a"}
    world.scheduler.reload(config())
    world.run()
    assert world.placed() == {"a", "c"}
    assert [each.key for each in world.scheduler.pending()] == ["default/b"]


def test_sampling_may_be_switched_on_and_off() -> None:
    world = World(*[node(f"n{i}").allocatable(cpu="4", pods=5) for i in range(120)])
    for percentage in (50, 0, 20):
        more = {"percentageOfNodesToScore": percentage} if percentage else {}
        world.scheduler.reload(config(**more))
        world.cluster.create(pod(f"p{percentage}").build())
        world.run()
        assert (world.scheduler.core.search.sampling is not None) is bool(percentage)
    world.scheduler.core.cache.check_invariants()
    assert len(world.placed()) == 3


def test_backoffs_and_order_follow_the_new_configuration() -> None:
    world = World(small_node(), *[pod(f"p{i}").requests(cpu="9") for i in range(3)])
    world.run()
    before = {each.key: each.attempts for each in world.scheduler.pending()}
    world.scheduler.reload(config(podInitialBackoffSeconds=7, podMaxBackoffSeconds=70))
    world.run()
    after = {each.key: each.attempts for each in world.scheduler.pending()}
    assert all(after[key] >= attempts for key, attempts in before.items())
    assert world.scheduler.config.pod_initial_backoff_seconds == 7


def test_a_refused_configuration_leaves_the_counting_of_binds_alone() -> None:
    """A plan is made for the counts of the profile in use, before the second profile fails."""
    world = World(small_node(cpu="100", pods=500), observers=[Meter()])
    refused = config("default-scheduler", OTHER)
    refused["profiles"][1]["plugins"] = config(enabled=("Broken",))["profiles"][0]["plugins"]
    for number in range(50):
        world.cluster.create(pod(f"p{number}").requests(cpu="1m").build())
        world.run()
        with pytest.raises(ConfigError):
            world.scheduler.reload(refused)
    points = figures_of(world.scheduler).metrics["scheduler_framework_extension_point_duration_seconds"]
    binds = points.samples["Bind", "Success", "default-scheduler"]
    assert isinstance(binds, Distribution)
    assert binds.count == 50
    reloads = figures_of(world.scheduler).metrics["schedframe_config_reloads_total"]
    assert reloads.samples == {("accepted",): 0, ("refused",): 50}


def test_the_spec_of_a_pod_that_is_gone_keeps_no_former_plugins() -> None:
    """Decoded specs are kept for later pods with equal ones."""
    world = World(small_node(), pod("a").requests(cpu="123m"))
    world.run()
    former = weakref.ref(world.scheduler.core.frameworks["default-scheduler"])
    world.cluster.delete("Pod", "default/a")
    world.run()
    world.scheduler.reload(config())
    gc.collect()
    assert former() is None


def test_another_thread_reloads_while_the_scheduler_runs() -> None:
    world = World(small_node(), executor=ThreadExecutor(1))
    runner = threading.Thread(target=world.scheduler.run)
    runner.start()
    for _ in range(5):
        assert world.scheduler.reload(config(disabled=("ImageLocality",))) is world.scheduler.config
        with pytest.raises(ConfigError):
            world.scheduler.reload(config(enabled=("Broken",)))
    world.scheduler.stop()
    runner.join()
    world.scheduler.reload(config())
    world.scheduler.close()


def random_config(rng: random.Random) -> Any:
    names = rng.choice(
        [(), ("default-scheduler", OTHER), (OTHER, "default-scheduler"), ("default-scheduler",)]
    )
    enabled = tuple(name for name in ("Holding", "Refusing") if rng.random() < 0.4)
    if rng.random() < 0.3:
        enabled += (rng.choice(["Broken", "NoSuchPlugin", "NodeName"]),)
    disabled = tuple(n for n in ("ImageLocality", "NodePorts", "TaintToleration") if rng.random() < 0.3)
    more: dict[str, Any] = {"podInitialBackoffSeconds": rng.randint(0, 3), "podMaxBackoffSeconds": 5}
    if rng.random() < 0.2:
        more["percentageOfNodesToScore"] = rng.choice([-5, 30, 60, 100])
    return config(*names, enabled=enabled, disabled=disabled, **more)


def step(world: World, rng: random.Random, number: int) -> None:
    """Something happens in the cluster."""
    labels = {"odd": "1"} if rng.random() < 0.1 else {"held": "1"} if rng.random() < 0.2 else {}
    name = rng.choice(["default-scheduler", OTHER])
    made = pod(f"p{number}").requests(cpu=rng.choice(["100m", "1", "3"])).labels(**labels)
    world.cluster.create(made.for_scheduler(name).priority(rng.randint(0, 2)).build())
    pods = world.cluster.list("Pod")
    if len(pods) > 30:
        world.cluster.delete(rng.choice(pods))
    world.clock.advance(rng.random() * 3)
    for _ in range(rng.randint(0, 4)):
        world.scheduler.schedule_one()
    for waiting in list(world.scheduler.core.waiting):
        if rng.random() < 0.3:
            waiting.allow("Holding")


def frameworks_alive() -> dict[int, Framework]:
    """Return all frameworks of the process by their id, which none of them loses while the answer is kept."""
    return {id(each): each for each in gc.get_objects() if isinstance(each, Framework)}


def sizes_at_rest(world: World) -> Counter[str]:
    """Live objects by type, and entries of containers, with one configuration and nothing held.

    Lists are left out of the latter: durations are kept in some until there are many to count.
    """
    world.scheduler.reload(config("default-scheduler", OTHER))
    for _ in range(3):
        for waiting in list(world.scheduler.core.waiting):
            waiting.allow("Holding")
        world.clock.advance(60)
        world.run()
    gc.collect()
    sizes: Counter[str] = Counter()
    for each in gc.get_objects():
        name = f"{type(each).__module__}.{type(each).__qualname__}"
        sizes[name] += 1
        if type(each) in (dict, set, deque, OrderedDict):
            sizes[f"entries of {name}"] += len(each)
    return sizes


@pytest.mark.slow
def test_a_thousand_reloads_under_load_lose_no_pod_and_no_memory() -> None:
    gc.collect()
    others = frameworks_alive()  # of other tests, such as state machines whose exceptions Hypothesis keeps
    world = World(*[node(f"n{i}").allocatable(cpu="6", pods=20) for i in range(4)], observers=[Meter()])
    world.cluster.event_capacity = 0
    scheduler, rng = world.scheduler, random.Random(5)
    used = refused = 0
    frameworks: list[int] = []
    sizes: list[Counter[str]] = []
    for number in range(1000):
        step(world, rng, number)
        try:
            scheduler.reload(random_config(rng))
            used += 1
        except ConfigError:
            refused += 1
        scheduler.sync()
        core = scheduler.core
        core.queue.check_invariants()
        own = {
            p.key
            for p in world.cluster.list("Pod")
            if not p.spec.node_name and p.spec.scheduler_name in core.frameworks
        }
        assert core.pending.keys() == own
        here = {each.key for each in core.queue.pending()} | {a.pod.key for a in core.binding.values()}
        assert own <= here
        if number % 200 == 199:
            gc.collect()
            frameworks.append(len(frameworks_alive().keys() - others.keys()))
            sizes.append(sizes_at_rest(world))
    assert used > 400
    assert refused > 200
    assert max(frameworks) <= 12, frameworks
    early, late = sizes[0] | sizes[1], sizes[-2] & sizes[-1]
    grown = {name: late[name] - early[name] for name in late if late[name] - early[name] >= LEAK}
    assert not grown, "of 400 reloads between"
    scheduler.reload(config("default-scheduler", OTHER, disabled=("TaintToleration",)))
    for each in world.cluster.list("Pod"):
        if each.spec.node_name:
            world.cluster.delete(each)
    for _ in range(20):
        world.run()
        world.clock.advance(60)
        for each in world.cluster.list("Pod"):
            if each.spec.node_name:
                world.cluster.delete(each)
    assert not world.cluster.list("Pod"), "each pod was placed at last"
