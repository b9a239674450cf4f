"""What is kept of pods that come and go, each with a spec of its own, stops growing."""

from __future__ import annotations

from typing import Any, Final

from schedframe import InMemoryCluster, Scheduler, VirtualClock
from schedframe.cycle.equivalence import policy

from .build import make_node

ROUNDS: Final = 40
PODS: Final = 6


def pod(round_: int, number: int) -> dict[str, Any]:
    """A pod like no other; every third one fits nowhere."""
    cpu = "64" if number % 3 == 2 else f"{round_ + 1}m"
    requests = {"cpu": cpu, "memory": f"{number + 1}Mi"}
    return {
        "kind": "Pod",
        "metadata": {"name": f"p{round_}-{number}", "namespace": "default", "labels": {"r": f"{round_}"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]},
    }


def test_classes_of_pods_that_are_gone_are_dropped() -> None:
    clock = VirtualClock()
    cluster = InMemoryCluster([make_node("n0", cpu=8)], clock=clock)
    classes, rejected = [], []
    with Scheduler(cluster, clock=clock, seed=0) as scheduler:
        cache, known = scheduler.core.search.fast.cache, scheduler.rejections
        cache.policy = policy.Policy(eager_classes=ROUNDS * PODS, idle_keys=10)
        known.spare_classes = 4
        for round_ in range(ROUNDS):
            for number in range(PODS):
                cluster.create(pod(round_, number))
            scheduler.run_until_idle()
            for number in range(PODS):
                cluster.delete("Pod", f"default/p{round_}-{number}")
            scheduler.run_until_idle()
            classes.append(len(cache))
            rejected.append(len(known._classes))
        assert cache._bytes >= 0
    assert max(classes) <= 2 * 10 + PODS
    assert max(rejected) <= 2 * 2 + 4 + 2


def test_a_class_that_is_used_stays_while_others_come_and_go() -> None:
    clock = VirtualClock()
    cluster = InMemoryCluster([make_node("n0", cpu=8)], clock=clock)
    with Scheduler(cluster, clock=clock, seed=0) as scheduler:
        cache = scheduler.core.search.fast.cache
        cache.policy = policy.Policy(eager_classes=ROUNDS * PODS, idle_keys=10)
        found = set()
        for round_ in range(ROUNDS):
            usual = pod(1000, 0)
            usual["metadata"]["name"] = f"usual-{round_}"
            made = [cluster.create(each) for each in (usual, *[pod(round_, n) for n in range(PODS)])]
            scheduler.run_until_idle()
            placed = cluster.get("Pod", f"default/usual-{round_}")
            assert placed.spec.node_name == "n0"
            framework = scheduler.core.frameworks["default-scheduler"]
            found.add(id(cache.lookup(framework, placed).eq_class))
            for each in made:
                cluster.delete("Pod", each.key)
        assert len(found) == 1
        assert len(cache) < ROUNDS * PODS / 2


def test_a_pod_that_was_seen_before_gets_its_class_although_only_a_hash_of_its_key_was_kept() -> None:
    clock = VirtualClock()
    cluster = InMemoryCluster([make_node("n0", cpu=8)], clock=clock)
    with Scheduler(cluster, clock=clock, seed=0) as scheduler:
        cache = scheduler.core.search.fast.cache
        cache.policy = policy.Policy(eager_classes=0, matrix_min_classes=10**6)
        counts = []
        for number in range(2):
            again = pod(1, 0)
            again["metadata"]["name"] = f"again-{number}"
            cluster.create(again)
            scheduler.run_until_idle()
            counts.append(len(cache))
            assert all(type(kept) is int for kept in cache._postponed)
        assert counts == [0, 1]
