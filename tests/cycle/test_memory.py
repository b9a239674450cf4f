"""Pods that are gone leave nothing behind but caches of bounded size."""

from __future__ import annotations

import gc
from collections import Counter
from functools import _lru_cache_wrapper
from typing import Any

import pytest

from schedframe import InMemoryCluster, Scheduler
from schedframe.api import codec
from schedframe.state import policy as state_policy

from .equivalence.comparison import lowered

PODS_A_ROUND = 40
OURS = ("schedframe.", "plugins_builtin.")


def distinct_pod(number: int) -> dict[str, Any]:
    """A pod that shares its labels, selectors and request with one other pod only."""
    app = {"app": f"a{number // 2}"}
    term = {"labelSelector": {"matchLabels": app}, "topologyKey": "zone"}
    return {
        "kind": "Pod",
        "metadata": {"name": f"p{number}", "namespace": "default", "labels": app},
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"memory": str(2**20 + number // 2)}}}],
            "topologySpreadConstraints": [
                {"maxSkew": 5, "whenUnsatisfiable": "DoNotSchedule", **term},
            ],
        },
    }


def live_objects() -> Counter[str]:
    """Live instances by class, of the classes of the scheduler.

    Not counted are values of the API, which the codec shares, and what caches of functions hold: both have a
    fixed size.
    """
    for one in gc.get_objects():
        if isinstance(one, _lru_cache_wrapper) and str(one.__module__).startswith(OURS):
            one.cache_clear()
    del one  # the youngest object, which may belong to a scheduler that is closed
    gc.collect()
    classes = (type(one) for one in gc.get_objects())
    names = (f"{one.__module__}.{one.__qualname__}" for one in classes if isinstance(one.__module__, str))
    ours = (name for name in names if name.startswith(OURS))
    return Counter(name for name in ours if not name.startswith("schedframe.api."))


def cluster_with_nodes() -> InMemoryCluster:
    cluster = InMemoryCluster()
    for number in range(6):
        labels = {"zone": f"z{number % 3}"}
        allocatable = {"cpu": "64", "memory": "64Gi", "pods": "100"}
        cluster.create(
            {
                "kind": "Node",
                "metadata": {"name": f"n{number}", "labels": labels},
                "status": {"allocatable": allocatable},
            }
        )
    return cluster


@pytest.mark.slow
def test_pods_that_are_gone_leave_no_objects_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    # Smaller caches are full after fewer pods. The codec keeps specs, and with them what plugins noted there.
    monkeypatch.setattr(codec, "_MAX_SHARED_VALUES", 32)
    lowered(monkeypatch, classes=32, answers=32)
    monkeypatch.setattr(state_policy, "COUNT_COLUMNS", 32)
    cluster = cluster_with_nodes()
    scheduler = Scheduler(cluster, seed=1)
    made = 0

    def rounds(count: int) -> Counter[str]:
        nonlocal made
        for _ in range(count):
            keys = [cluster.create(distinct_pod(made + i)).key for i in range(PODS_A_ROUND)]
            made += PODS_A_ROUND
            scheduler.run_until_idle()
            assert all(pod.spec.node_name for pod in cluster.list("Pod"))
            for key in keys:
                cluster.delete("Pod", key)
            scheduler.run_until_idle()
        return live_objects()

    before = rounds(12)
    after = rounds(12)
    grown = {name: more for name, count in after.items() if (more := count - before[name]) > 0}
    # A few objects come and go with the moment; one for every tenth pod would be a leak.
    assert sum(grown.values()) < 12 * PODS_A_ROUND / 10, grown
    scheduler.close()


def test_closed_schedulers_leave_no_objects_behind() -> None:
    """The codec keeps specs for later pods, and the cluster its pods; neither holds on to a scheduler."""
    cluster = cluster_with_nodes()

    def one_scheduler(number: int) -> None:
        with Scheduler(cluster, seed=1) as scheduler:
            for i in range(2 * number, 2 * number + 2):
                cluster.create(distinct_pod(i))
            cluster.create(distinct_pod(1000 + number))
            scheduler.run_until_idle()
            cluster.delete("Pod", f"default/p{1000 + number}")
            scheduler.run_until_idle()

    def objects_after(numbers: range) -> Counter[str]:
        for number in numbers:
            one_scheduler(number)
        return live_objects()

    before, after = objects_after(range(3)), objects_after(range(3, 9))
    grown = {name: more for name, count in after.items() if (more := count - before[name]) > 0}
    assert not grown
