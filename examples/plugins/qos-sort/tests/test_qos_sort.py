"""The order of the queue, as the README of the original describes it."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest
from schedframe_qos_sort import QOSClass, QOSSort, qos_class

from schedframe import Pod, Simulation, from_manifest

CONFIG: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "QOSSort"}]}}}],
}
SOME = {"cpu": "1", "memory": "1Gi"}
MORE = {"cpu": "2", "memory": "2Gi"}


def pod(name: str, *resources: dict[str, Any], priority: int = 0, **spec: Any) -> dict[str, Any]:
    containers = [{"name": f"c{i}", "resources": found} for i, found in enumerate(resources or ({},))]
    return {
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, "priority": priority, **spec},
    }


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([{"requests": SOME, "limits": SOME}], QOSClass.GUARANTEED),
        ([{"limits": SOME}], QOSClass.GUARANTEED),
        ([{"requests": SOME, "limits": MORE}], QOSClass.BURSTABLE),
        ([{"requests": SOME}], QOSClass.BURSTABLE),
        ([{"requests": SOME, "limits": SOME}, {}], QOSClass.BURSTABLE),
        ([{"limits": {"cpu": "1"}}], QOSClass.BURSTABLE),
        ([{}], QOSClass.BEST_EFFORT),
        ([{"requests": {"example.com/gpu": "1"}}], QOSClass.BEST_EFFORT),
        ([{"requests": {"cpu": "0"}}], QOSClass.BEST_EFFORT),
    ],
)
def test_classes(resources: list[dict[str, Any]], expected: QOSClass) -> None:
    made = from_manifest(pod("p", *resources))
    assert isinstance(made, Pod)
    assert qos_class(made.spec) is expected
    assert qos_class(made.spec) is expected  # from the cache


def test_resources_at_pod_level_take_precedence() -> None:
    made = from_manifest(pod("p", {}, resources={"requests": SOME, "limits": SOME}))
    assert isinstance(made, Pod)
    assert qos_class(made.spec) is QOSClass.GUARANTEED


def order(*pods: dict[str, Any]) -> list[str]:
    installed = {entry.name for entry in entry_points(group="schedframe.plugins")}
    room = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    node = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": room}}
    world = Simulation([node], CONFIG, plugins={} if "QOSSort" in installed else {"QOSSort": QOSSort})
    seen: list[str] = []
    world.add(*pods)
    while (decision := world.scheduler.schedule_one()) is not None:
        seen.append(decision.pod.name)
    return seen


def test_priority_comes_first_then_the_class_then_age() -> None:
    burstable, guaranteed = {"requests": SOME, "limits": MORE}, {"limits": SOME}
    found = order(
        pod("best-effort"),
        pod("burstable-1", burstable),
        pod("guaranteed", guaranteed),
        pod("burstable-2", burstable),
        pod("urgent", priority=10),
    )
    assert found == ["urgent", "guaranteed", "burstable-1", "burstable-2", "best-effort"]
