"""Memory of cached classes is bounded, for any number of kinds of pods."""

from __future__ import annotations

import gc
from typing import Any

from attrs import evolve

from schedframe import InMemoryCluster, Scheduler
from schedframe.cycle import Tuning
from schedframe.cycle.equivalence.columns import ClassColumns
from schedframe.cycle.equivalence.node_columns import NodeColumns


def pod(i: int, **requests: str) -> dict[str, Any]:
    requests = requests or {"cpu": "1m", "memory": str(1 + i)}
    return {
        "kind": "Pod",
        "metadata": {"name": f"p{i}", "namespace": "default"},
        "spec": {"containers": [{"name": "a", "image": "b", "resources": {"requests": requests}}]},
    }


def node(i: int) -> dict[str, Any]:
    capacity = {"cpu": "4", "memory": "1Gi", "pods": "110"}
    return {"kind": "Node", "metadata": {"name": f"n{i}"}, "status": {"capacity": capacity}}


def test_least_recently_used_classes_are_evicted() -> None:
    cluster = InMemoryCluster([{"apiVersion": "v1", **node(i)} for i in range(20)])
    with Scheduler(cluster, seed=0) as scheduler:
        fast = scheduler.core.search.fast
        assert fast is not None
        classes = fast.cache
        classes.policy = evolve(classes.policy, max_bytes=40_000)
        for i in range(200):
            cluster.create({"apiVersion": "v1", **pod(i)})
            if i == 100:
                for late in range(20, 60):
                    cluster.create({"apiVersion": "v1", **node(late)})
            scheduler.run_until_idle()
            kept = sum(each.nbytes for each in classes.classes())
            assert kept <= classes.policy.max_bytes or len(classes) == 1
        assert 1 < len(classes) < 100
    assert all(each.spec.node_name for each in cluster.list("Pod"))


def test_columns_of_an_evicted_class_are_freed_at_once() -> None:
    """Not at the next run of the garbage collector: a megabyte for each class adds up until then."""
    cluster = InMemoryCluster([{"apiVersion": "v1", **node(i)} for i in range(20)])
    with Scheduler(cluster, seed=0) as scheduler:
        fast = scheduler.core.search.fast
        assert fast is not None
        classes = fast.cache
        classes.policy = evolve(
            classes.policy, max_bytes=100_000, eager_classes=1000, index_only_classes=0, pass_rows=0
        )
        gc.collect()
        before = [one for one in gc.get_objects() if type(one) is ClassColumns]  # of other tests, kept alive
        gc.disable()
        try:
            for i in range(50):
                cluster.create({"apiVersion": "v1", **pod(i)})
                scheduler.run_until_idle()
            alive = sum(type(one) is ClassColumns for one in gc.get_objects()) - len(before)
        finally:
            gc.enable()
        assert 1 < len(classes) < 50
        assert 1 < alive <= len(classes)


def test_node_columns_without_a_class_are_freed_at_once() -> None:
    """Specs of pods are kept for later pods, and with each spec its evicted class: without any column."""
    cluster = InMemoryCluster([{"apiVersion": "v1", **node(i)} for i in range(20)])
    with Scheduler(cluster, seed=0, tuning=Tuning(remember=4)) as scheduler:
        gc.collect()
        before = sum(type(one) is NodeColumns for one in gc.get_objects())
        gc.disable()
        try:
            for i in range(40):
                manifest = pod(i // 2)
                manifest["metadata"]["name"] = f"p{i}"
                manifest["spec"]["containers"][0]["image"] = f"image-{i // 2}"  # a node signature of its own
                cluster.create({"apiVersion": "v1", **manifest})
                scheduler.run_until_idle()
            alive = sum(type(one) is NodeColumns for one in gc.get_objects()) - before
        finally:
            gc.enable()
        assert 1 < alive <= 5


def test_memoised_answers_count() -> None:
    """Pods of a few sizes take turns, so that their classes fill up; then other sizes come."""
    cluster = InMemoryCluster([{"apiVersion": "v1", **node(i)} for i in range(200)])
    with Scheduler(cluster, seed=0) as scheduler:
        fast = scheduler.core.search.fast
        assert fast is not None
        classes = fast.cache
        for i in range(1000):
            cluster.create({"apiVersion": "v1", **pod(i, cpu="20m", memory=f"{5 + i % 5}Mi")})
            if i == 4:
                scheduler.run_until_idle()
                made = classes._counted()
        scheduler.run_until_idle()
        assert len(classes) == 5
        assert classes._counted() > made + 10_000
        # What was counted when they were made was less; that is noticed after as many looks as there are
        # classes, and then the oldest go.
        classes.policy = evolve(classes.policy, max_bytes=classes._counted() - 1)
        assert any(classes._too_much() for _ in range(len(classes) + 1))
        cluster.create({"apiVersion": "v1", **pod(1000, cpu="20m", memory="20Mi")})
        scheduler.run_until_idle()
        assert classes._counted() <= classes.policy.max_bytes
        assert 1 < len(classes) <= 5


def test_a_class_that_was_used_since_the_last_eviction_is_spared() -> None:
    cluster = InMemoryCluster([{"apiVersion": "v1", **node(i)} for i in range(4)])
    with Scheduler(cluster, seed=0) as scheduler:
        fast = scheduler.core.search.fast
        assert fast is not None
        classes, numbers = fast.cache, iter(range(100))
        classes.limit = 3

        def use(letters: str) -> str:
            for letter in letters:
                size = str(1 + ord(letter))
                cluster.create({"apiVersion": "v1", **pod(next(numbers), cpu="1m", memory=size)})
                scheduler.run_until_idle()
            kept = [each.pod.requests["memory"] for each in classes.classes()]
            return "".join(sorted(chr(size - 1) for size in kept))

        assert use("ABC") == "ABC"
        assert use("D") == "BCD"
        assert use("B") == "BCD"
        assert use("E") == "BDE"
