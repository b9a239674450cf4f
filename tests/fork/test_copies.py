"""Forks of schedulers and simulations: they decide as these would, and share nothing that changes."""

from __future__ import annotations

import threading
from random import Random
from typing import Any

import pytest
from attrs import define

from schedframe import (
    Conflict,
    Handle,
    InMemoryCluster,
    PluginError,
    Pod,
    Scheduler,
    Simulation,
    Status,
    VirtualClock,
    hookimpl,
)
from schedframe.fork import Fork
from schedframe.testing import node, pod

from ..profiles import scaled
from .worlds import check, node_manifest, pod_manifest, surroundings

OPTIONS: list[dict[str, Any]] = [
    {},
    {"score_all_nodes": False},
    {"feature_gates": {"GenericWorkload": True, "GangScheduling": True}},
]


def names_and_nodes(placements: Any) -> list[tuple[str, str | None]]:
    return [(each.pod.key, each.node_name) for each in placements]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_fork_decides_as_the_simulation(options: dict[str, Any]) -> None:
    """Placements, ties and preemptions, with pods that wait from before; and so does a fork of the fork."""
    for seed in range(scaled(6)):
        rng = Random(seed)
        nodes = [node_manifest(f"n{i}", rng) for i in range(rng.randrange(1, 8))]
        first = [pod_manifest(f"p{i}", rng) for i in range(12)]
        more = [pod_manifest(f"more{i}", rng) for i in range(6)]
        with Simulation([*surroundings(), *nodes], seed=seed, strict=False, **options) as simulation:
            simulation.schedule(first)
            for each in simulation.pending():  # a fork tries rejected pods again, and no backoff passes
                simulation.cluster.delete(each)
            simulation.add(pod_manifest("late", rng))
            before = str(simulation.cluster.list("Pod"))
            with simulation.fork() as fork, fork.fork() as other:
                decided = []
                for each in (fork, other):
                    each.add(*more)
                    each.schedule()
                    check(each)
                    decided.append({p.key: p.node_name for p in each.cluster.list("Pod")})
                assert decided[0] == decided[1]
                assert str(simulation.cluster.list("Pod")) == before
            simulation.schedule(more)
            assert {p.key: p.node_name for p in simulation.cluster.list("Pod")} == decided[0], seed


def test_what_a_fork_found_is_taken_over() -> None:
    with Simulation([node("n0"), node("n1"), pod("old").on_node("n0"), pod("waits")]) as simulation:
        with simulation.fork() as fork:
            fork.remove("Pod", "default/old")
            fork.remove_node("n1")
            fork.schedule([pod("new")])
            fork.schedule()
            diff = fork.diff()
        simulation.take(diff)
        assert {p.key: p.node_name for p in simulation.cluster.list("Pod")} == {
            "default/new": "n0",
            "default/waits": "n0",
        }
        assert simulation.scheduler.core.cache.table.live_row("n1") is None
        simulation.scheduler.core.cache.check_invariants()
        with pytest.raises(Conflict, match="has changed since the fork was made"):
            simulation.take(diff)


def test_a_scheduler_is_forked_while_another_thread_runs_it() -> None:
    cluster = InMemoryCluster([node("n0"), node("n1")])
    scheduler = Scheduler(cluster, seed=1)
    thread = threading.Thread(target=scheduler.run)
    thread.start()
    try:
        for i in range(5):
            cluster.create(pod(f"p{i}"))
            with Fork.of(scheduler) as fork:
                assert fork.would_fit(pod("x"))
                fork.schedule([pod("x")])
                check(fork)
        assert cluster.get("Pod", "default/x") is None
    finally:
        scheduler.stop()
        thread.join()
        scheduler.close()


def test_a_scheduler_whose_thread_is_over_is_forked() -> None:
    scheduler = Scheduler(InMemoryCluster([node("n0"), pod("p")]), clock=VirtualClock())
    thread = threading.Thread(target=scheduler.run_until_idle)
    thread.start()
    thread.join()
    with scheduler, Fork.of(scheduler) as fork:
        assert [str(each) for each in fork.diff().pods] == []
        assert fork.cluster.get("Pod", "default/p").node_name == "n0"


class Picky:
    """Rejects a pod whose node it was not told of."""

    def __init__(self, args: object = None, handle: Handle | None = None) -> None:
        self.handle = handle

    @hookimpl
    def filter(self, pod: Pod) -> Status | None:
        return Status.unschedulable("picky") if pod.name == "rejected" else None


class Unforkable(Picky):
    keeps_own_state = True


@define(eq=False)
class Ready:
    @hookimpl
    def filter(self, pod: Pod) -> Status | None:
        return None


def test_plugins_that_a_fork_cannot_have_are_refused_by_name() -> None:
    objects = [node("n0")]
    with Simulation(objects, plugins=[Picky]) as simulation, simulation.fork() as fork:
        assert fork.would_fit(pod("rejected")).message.endswith("1 picky.")
    with (
        Simulation(objects, plugins=[Ready()]) as simulation,
        pytest.raises(PluginError, match="plugin Ready is an instance that the program passed"),
    ):
        simulation.fork()
    with (
        Simulation(objects, plugins=[Unforkable]) as simulation,
        pytest.raises(PluginError, match="plugin Unforkable has state that a fork cannot copy"),
    ):
        simulation.fork()


def test_objects_may_be_asked_about_with_another_configuration() -> None:
    with Simulation([node("n0"), pod("p")]) as simulation:
        simulation.schedule()
        with Fork.of(simulation, plugins=[Ready()]) as fork:
            assert "Ready" in next(iter(fork.scheduler.core.frameworks.values())).plan.plugins
            assert fork.cluster.get("Pod", "default/p").node_name == "n0"
        with Fork.of(simulation.cluster) as fork:
            assert fork.would_fit(pod("q"))
        with Fork.of(simulation.scheduler.core.cache.snapshot()) as fork:
            assert fork.would_fit(pod("q"))


class Waits:
    """Lets the pod "first" wait in permit."""

    def __init__(self, args: object = None, handle: Handle | None = None) -> None:
        self.handle = handle

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return Status.wait(60) if pod.name == "first" else None


def claiming(name: str) -> dict[str, Any]:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
    spec = {"containers": [{"name": "c"}], "volumes": [volume]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": "late",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


STORAGE: list[dict[str, Any]] = [
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "only"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            "csi": {"driver": "d", "volumeHandle": "h"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]}
                    ]
                }
            },
        },
        "status": {"phase": "Available"},
    },
]


def test_what_attempts_under_way_have_reserved_counts_as_done() -> None:
    """A pod waits in permit with the only volume, which no event shows as taken yet."""
    objects = [node("n0"), *STORAGE, claim("first"), claim("second")]
    with Simulation(objects, plugins=[Waits]) as simulation:
        (first,) = simulation.schedule([claiming("first")])
        assert "waits in permit" in first.message
        with simulation.fork() as fork:
            placed = fork.cluster.get("Pod", "default/first")
            assert placed is not None
            assert placed.node_name == "n0"
            second = fork.would_fit(claiming("second"))
            assert "didn't find available persistent volumes to bind" in second.message
            with fork.trial():
                fork.schedule([claiming("second")])
            check(fork)


def test_a_trial_gives_a_volume_back() -> None:
    objects = [node("n0"), *STORAGE, claim("first"), claim("second")]
    with Fork.of(objects) as fork:
        for _ in range(2):
            with fork.trial():
                assert fork.schedule([claiming("first")])[0].node_name == "n0"
                assert not fork.would_fit(claiming("second"))
            assert fork.would_fit(claiming("second"))
        volume = fork.cluster.get("PersistentVolume", "only")
        assert volume is not None
        assert volume.spec.claim_ref is None
