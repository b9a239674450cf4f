"""Scores of an extended resource that a device class backs: its devices count as amounts of the resource."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from plugins_builtin.dynamic_resources import device_counts
from plugins_builtin.dynamic_resources.device_counts import DeviceCounts
from plugins_builtin.dynamic_resources.inventory.offered_devices import OfferedDevice
from schedframe import ObjectMeta, Simulation
from schedframe.api import (
    DeviceClass,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    ResourceSlice,
)
from schedframe.framework import CycleState

from .agreement import columnar_scores, per_node_scores
from .devices import DRIVER, attributes, claim, device, device_class, node, pod, slice_of

GPU = "example.com/gpu"
BIG = f"device.attributes['{DRIVER}'].big"
GROUP_VERSION = "kubescheduler.config.k8s.io/v1"
FIT, BALANCED = "NodeResourcesFit", "NodeResourcesBalancedAllocation"


def labelled(made: Node, zone: str) -> Node:
    return evolve(made, metadata=ObjectMeta(name=made.name, labels={"zone": zone}))


def devices(count: int) -> list[Any]:
    return [device(f"d{i}", attributes=attributes(big=i % 2 == 0)) for i in range(count)]


def slices() -> list[ResourceSlice]:
    """Ten devices on n1, five on nodes of zone a, and three with node selections of their own."""
    selector = NodeSelector((NodeSelectorTerm((NodeSelectorRequirement("zone", "In", ("a",)),)),))
    of_zone = slice_of("", devices(5), pool="net", name="two")
    of_zone = evolve(of_zone, spec=evolve(of_zone.spec, all_nodes=None, node_selector=selector))
    first, second, third = devices(3)
    chosen = [evolve(first, node_name="n2"), evolve(second, all_nodes=True), evolve(third, node_name="n1")]
    each = slice_of("", chosen, pool="per", name="per")
    each = evolve(each, spec=evolve(each.spec, all_nodes=None, per_device_node_selection=True))
    return [slice_of("n1", devices(10)), of_zone, each]


def cluster(kind: str, *expressions: str, **more: Any) -> Simulation:
    """Three nodes, of which n3 has the resource from a device plugin; device d0 of n1 is in use."""
    resources = [{"name": GPU, "weight": 3}, {"name": "cpu", "weight": 1}]
    if kind == BALANCED:
        args: dict[str, Any] = {"resources": [{**each, "weight": 1} for each in resources]}
    else:
        args = {"scoringStrategy": {"type": kind, "resources": resources, **more}}
    profile = {"pluginConfig": [{"name": BALANCED if kind == BALANCED else FIT, "args": args}]}
    nodes = [labelled(node("n1"), "b"), labelled(node("n2"), "a"), labelled(node("n3", **{GPU: "8"}), "b")]
    gpus = device_class("gpu", *expressions, resource=GPU)
    held = claim("held", allocated=["n1/d0"])
    config = {"apiVersion": GROUP_VERSION, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    return Simulation([*nodes, *slices(), gpus, held], config)


def scores(simulation: Simulation, name: str, waiting: Pod) -> list[int]:
    """Return the raw scores of the nodes, which both forms must give."""
    core = simulation.scheduler.core
    plugin: Any = core.frameworks["default-scheduler"].plugin(name)
    rows, state = core.cache.table.rows(), CycleState()
    plugin.pre_score(state=state, pod=waiting)
    found = per_node_scores(plugin, state, waiting, rows)
    assert columnar_scores(plugin, state, waiting, rows) == found
    assert per_node_scores(plugin, CycleState(), waiting, rows) == found
    return found


def waiting() -> Pod:
    return pod("p", requests={"cpu": "1", GPU: "2"})


RATIO = {"requestedToCapacityRatio": {"shape": [{"utilization": u, "score": u // 10} for u in (0, 100)]}}


@pytest.mark.parametrize(
    ("kind", "more", "of_all", "of_big"),
    [
        ("LeastAllocated", {}, [78, 75, 78], [59, 59, 78]),
        ("MostAllocated", {}, [21, 24, 21], [40, 40, 21]),
        ("RequestedToCapacityRatio", RATIO, [22, 24, 22], [41, 41, 22]),
        (BALANCED, {}, [74, 70, 71], [70, 65, 71]),
    ],
)
def test_devices_count_as_amounts(
    kind: str, more: dict[str, Any], of_all: list[int], of_big: list[int]
) -> None:
    """The numbers are those of kube-scheduler, but the last ones: there it ends with a nil pointer."""
    name = BALANCED if kind == BALANCED else FIT
    assert scores(cluster(kind, **more), name, waiting()) == of_all
    assert scores(cluster(kind, BIG, **more), name, waiting()) == of_big


def test_a_node_where_the_class_fails_has_no_devices_to_score() -> None:
    """Only cpu is scored there: a pod of one out of eight leaves 87 percent."""
    simulation = cluster("LeastAllocated", f"device.attributes['{DRIVER}'].absent")
    assert scores(simulation, FIT, waiting()) == [87, 87, 78]


@pytest.mark.parametrize("kind", ["LeastAllocated", BALANCED])
def test_pods_with_scored_devices_have_no_signature(kind: str) -> None:
    simulation = cluster(kind)
    name = BALANCED if kind == BALANCED else FIT
    plugin: Any = simulation.scheduler.core.frameworks["default-scheduler"].plugin(name)
    assert plugin.pod_signature(pod=waiting()) is None
    assert plugin.pod_signature(pod=pod("other", requests={"cpu": "1"})) is not None


def test_devices_in_use_change_the_next_score() -> None:
    simulation = cluster("MostAllocated")
    [first, second] = simulation.schedule([waiting(), evolve(waiting(), metadata=ObjectMeta(name="q"))])
    # Two of seven are more than three of twelve. In use are four of seven then, and two of eight cpus.
    assert (first.node_name, second.node_name) == ("n2", "n2")
    assert scores(simulation, FIT, waiting()) == [21, 73, 21]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The nodes or pools of the devices that were matched with the class."""
    found: list[str] = []
    match = device_counts._is_of

    def noted(of: DeviceClass, device: OfferedDevice) -> bool:
        found.append(device.id[1])
        return match(of, device)

    monkeypatch.setattr(device_counts, "_is_of", noted)
    return found


def counted(simulation: Simulation, looked_at: list[str]) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """Return the amounts of each node, and what was looked at for them."""
    looked_at.clear()
    simulation.scheduler.sync()
    core = simulation.scheduler.core
    plugin: Any = core.frameworks["default-scheduler"].plugin(FIT)
    amounts = plugin._devices.amounts(GPU)
    infos = list(core.cache.table.rows())
    found = {info.name: amounts(info) for info in infos}
    assert {info.name: amounts(info) for info in infos} == found
    fresh = DeviceCounts.of(core.objects, [GPU])
    again = list(looked_at)
    assert fresh is not None
    assert (expected := fresh.amounts(GPU)) is not None
    assert {info.name: expected(info) for info in infos} == found
    return found, again


def test_devices_are_matched_once_and_again_after_a_change(looked_at: list[str]) -> None:
    simulation = cluster("LeastAllocated", BIG)
    simulation.schedule([])
    first, looked = counted(simulation, looked_at)
    assert (first, len(looked)) == ({"n1": (6, 1), "n2": (4, 0), "n3": (8, 0)}, 10 + 5 + 2 + 2)
    assert counted(simulation, looked_at) == (first, [])

    simulation.add(claim("other", allocated=["n1/d2", "net/d0"]))
    used, looked = counted(simulation, looked_at)
    assert (used, looked) == ({"n1": (6, 2), "n2": (4, 1), "n3": (8, 0)}, [])

    simulation.add(slice_of("n1", devices(2), pool="more", name="more"))
    more, looked = counted(simulation, looked_at)
    assert more == {"n1": (7, 2), "n2": (4, 1), "n3": (8, 0)}
    assert set(looked) == {"n1", "per", "more"}, "the slices of another node are as they were"

    there = simulation.cluster
    there.update(labelled(node("n2"), "b"))
    away, looked = counted(simulation, looked_at)
    assert away["n2"] == (1, 0)
    assert set(looked) == {"per"}

    there.update(evolve(there.get("DeviceClass", "gpu"), spec=device_class("gpu", resource=GPU).spec))
    every, _ = counted(simulation, looked_at)
    assert every == {"n1": (14, 2), "n2": (2, 0), "n3": (8, 0)}
