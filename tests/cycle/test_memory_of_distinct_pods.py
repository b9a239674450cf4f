"""Pods that are all different leave nothing behind: the number of objects does not grow with the pods."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest

from schedframe import InMemoryCluster, Scheduler
from schedframe.api import codec
from schedframe.cycle import Tuning
from schedframe.state import policy

from .build import make_node

PODS = 150
"""By round; each is followed by a look at the objects."""
CLASSES = 16
VALUES = {"CompiledSelector", "LabelSelector", "PodResources", "Quantity", "Requirement"}
"""Kept by caches of parsed values, of 4,096 at most each."""


def manifest(number: int) -> dict[str, Any]:
    """Return a pod like its twin alone, with a constraint that counts these two."""
    labels = {"app": f"app-{number // 2}"}
    requests = {"cpu": "10m", "memory": str(2**20 + number // 2)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "namespace": "default", "labels": labels},
        "spec": {
            "containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}],
            "topologySpreadConstraints": [
                {
                    "maxSkew": 5,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "topologyKey": "zone",
                    "labelSelector": {"matchLabels": labels},
                }
            ],
        },
    }


def objects() -> Counter[str]:
    """Return the objects of the package and of builtin plugins by type."""
    gc.collect()
    types = (type(each) for each in gc.get_objects())
    return Counter(
        kind.__name__ for kind in types if str(kind.__module__).startswith(("schedframe", "plugins_builtin"))
    )


@pytest.mark.slow
def test_pods_that_are_gone_leave_no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_MAX_SHARED_VALUES", 2 * CLASSES)
    monkeypatch.setattr(policy, "COUNT_COLUMNS", 2 * CLASSES)
    cluster = InMemoryCluster([make_node(f"n{i}", cpu=64, labels={"zone": f"z{i % 3}"}) for i in range(6)])
    scheduler = Scheduler(cluster, seed=1, tuning=Tuning(remember=CLASSES))
    counts, made = [], 0
    for _ in range(4):
        for number in range(made, made + PODS):
            cluster.create(manifest(number))
        scheduler.run_until_idle()
        for pod in cluster.list("Pod"):
            assert pod.node_name
            cluster.delete("Pod", pod.key)
        scheduler.run_until_idle()
        made += PODS
        counts.append(objects())
    grown = {
        kind: number - counts[1][kind]
        for kind, number in counts[-1].items()
        if kind not in VALUES and number - counts[1][kind] > 3 * CLASSES
    }
    assert not grown
