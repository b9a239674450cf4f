"""Memory of remembered classes is bounded, however many kinds of pods there are."""

from __future__ import annotations

from typing import Any

from schedframe import InMemoryCluster, Scheduler


def pod(i: int) -> dict[str, Any]:
    requests = {"cpu": "1m", "memory": str(1 + i)}
    return {
        "kind": "Pod",
        "metadata": {"name": f"p{i}", "namespace": "default"},
        "spec": {"containers": [{"name": "a", "image": "b", "resources": {"requests": requests}}]},
    }


def node(i: int) -> dict[str, Any]:
    capacity = {"cpu": "4", "memory": "1Gi", "pods": "110"}
    return {"kind": "Node", "metadata": {"name": f"n{i}"}, "status": {"capacity": capacity}}


def test_the_least_recently_used_go_and_the_rest_stays_within_the_bound() -> None:
    cluster = InMemoryCluster([{"apiVersion": "v1", **node(i)} for i in range(20)])
    with Scheduler(cluster, seed=0) as scheduler:
        fast = scheduler.core.search.fast
        assert fast is not None
        classes = fast.classes
        classes.max_bytes = 40_000
        for i in range(200):
            cluster.create({"apiVersion": "v1", **pod(i)})
            if i == 100:
                for late in range(20, 60):
                    cluster.create({"apiVersion": "v1", **node(late)})
            scheduler.run_until_idle()
            kept = sum(each.nbytes for each in classes._classes.values())
            assert kept <= classes.max_bytes or len(classes) == 1
        assert 1 < len(classes) < 100
    assert all(each.spec.node_name for each in cluster.list("Pod"))
