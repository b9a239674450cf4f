"""Nodes that come and go, with all that belongs to them, leave nothing behind."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any, Final

import pytest

from plugins_builtin.dynamic_resources.inventory.offered_devices import OfferedSlice
from schedframe import InMemoryCluster, Node, Scheduler, VirtualClock
from schedframe.cycle import Tuning
from schedframe.metrics import SchedulerMetrics
from schedframe.state import NodeInfo

ROUNDS: Final = 80
NODES: Final = 4
HOSTNAME: Final = "kubernetes.io/hostname"


def node(name: str, round_: int) -> dict[str, Any]:
    labels = {HOSTNAME: name, f"only-{round_}": "x"}
    taints = [{"key": f"t{round_}", "effect": "PreferNoSchedule"}]
    allocatable = {"cpu": "2", "memory": "1Gi", "pods": "9", f"example.com/r{round_}": "1"}
    image = {"names": [f"image-{round_}"], "sizeBytes": 10**9}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": allocatable, "images": [image]},
    }


def csi_node(name: str) -> dict[str, Any]:
    drivers = [{"name": "disks", "nodeID": name, "allocatable": {"count": 3}}]
    return {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}


def slice_of(name: str) -> dict[str, Any]:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpus", "nodeName": name, "pool": pool, "devices": [{"name": "d"}]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": spec,
    }


def claim(name: str) -> dict[str, Any]:
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": requests}},
    }


def pods(round_: int) -> list[dict[str, Any]]:
    """Pods for each kind of index by node: two that fit, and one that fits nowhere, of each."""
    selector = {"matchLabels": {"app": f"a{round_}"}}
    term = {"topologyKey": HOSTNAME, "labelSelector": selector}
    away = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    constraint = {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    specs: dict[str, dict[str, Any]] = {
        "plain": {},
        "away": {"affinity": away},
        "spread": {"topologySpreadConstraints": [constraint]},
        "select": {"nodeSelector": {f"only-{round_}": "x"}},
        "device": {"resourceClaims": [{"name": "c", "resourceClaimName": f"c{round_}"}]},
    }
    return [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"{kind}-{round_}-{number}",
                "namespace": "default",
                "labels": {"app": f"a{round_}"},
            },
            "spec": {"containers": [container(f"image-{round_}", 100 if number else 5000)], **spec},
        }
        for kind, spec in specs.items()
        for number in range(3)
    ]


def container(image: str, milli_cpu: int) -> dict[str, Any]:
    return {"name": "c", "image": image, "resources": {"requests": {"cpu": f"{milli_cpu}m"}}}


def live(prefix: str) -> Counter[str]:
    """Number of objects about nodes whose names begin with *prefix*, by type."""
    gc.collect()
    found = Counter[str]()
    for each in gc.get_objects():
        if isinstance(each, Node):
            found["Node"] += each.name.startswith(prefix)
        elif isinstance(each, NodeInfo):
            found["NodeInfo"] += each.node.name.startswith(prefix)
        elif isinstance(each, OfferedSlice):
            found["OfferedSlice"] += each.slice.name.startswith(prefix)
    return found


@pytest.mark.slow
def test_nodes_that_come_and_go_leave_nothing_behind() -> None:
    clock = VirtualClock()
    cluster = InMemoryCluster(clock=clock)
    cluster.create({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}})
    metrics, placed = SchedulerMetrics(), 0
    with Scheduler(cluster, clock=clock, seed=0, observers=[metrics], tuning=Tuning(remember=8)) as scheduler:
        for round_ in range(ROUNDS):
            names = [f"gone-{round_}-{number}" for number in range(NODES)]
            made = [cluster.create(claim(f"c{round_}"))]
            for name in names:
                made += [
                    cluster.create(each) for each in (node(name, round_), csi_node(name), slice_of(name))
                ]
            made += [cluster.create(each) for each in pods(round_)]
            scheduler.run_until_idle()
            placed += sum(bool(each.spec.node_name) for each in cluster.list("Pod"))
            for each in made if round_ % 2 else reversed(made):
                cluster.delete(each.KIND, each.key)
            scheduler.run_until_idle()
            clock.advance(400)
            scheduler.run_until_idle()
        assert placed >= 6 * ROUNDS
        assert not scheduler.core.cache.table.num_nodes
        left = live("gone-")
    assert max(left.values(), default=0) < ROUNDS * NODES / 3, left
