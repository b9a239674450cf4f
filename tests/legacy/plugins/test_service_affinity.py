"""ServiceAffinity: the first pod of a service chooses the labels, and the others follow or spread."""

from __future__ import annotations

from typing import Any

import pytest

from plugins_builtin.legacy.plugins.args import ServiceAffinityArgs
from plugins_builtin.legacy.plugins.service_affinity import ERR_REASON, ServiceAffinity
from schedframe import CycleState, Status
from schedframe.api import ObjectMeta, Service, ServiceSpec
from schedframe.state import ObjectStore
from schedframe.testing import check_plugin, strategies
from tests.plugins.agreement import StandInHandle
from tests.plugins.spreading import ZONE, cluster, make_pod
from tests.testing import objects

from .cluster import best, message, node, pod, service

NODES = [
    node("a1", labels={"zone": "a"}),
    node("a2", labels={"zone": "a"}),
    node("b1", labels={"zone": "b"}),
    node("none"),
]
ALL = ["a1", "a2", "b1", "none"]
TOGETHER = {"affinityLabels": ["zone"]}
APART = {"antiAffinityLabelsPreference": ["zone"]}


def there(on: str, name: str = "there", **labels: str) -> dict[str, Any]:
    return pod(name, labels={"app": "a", **labels}, nodeName=on)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([service(app="a")], ALL),
        ([service(app="a"), there("a1")], ["a1", "a2"]),
        ([service(app="a"), there("none")], ALL),
        ([service(app="b"), there("a1")], ALL),
        ([there("a1")], ALL),
        ([service(app="a"), there("a1", version="2")], ["a1", "a2"]),
        ([service(app="a"), pod("x", labels={"app": "b"}, nodeName="a1")], ALL),
    ],
)
def test_the_values_are_those_of_the_first_pod(more: list[Any], expected: list[str]) -> None:
    assert best([*NODES, *more], pod(), "ServiceAffinity", TOGETHER) == expected


def test_a_node_selector_gives_the_values() -> None:
    objects = [*NODES, service(app="a"), there("a1")]
    assert best(objects, pod(nodeSelector={"zone": "b"}), "ServiceAffinity", TOGETHER) == ["b1"]


def test_labels_that_the_node_selector_leaves_open_come_from_the_first_pod() -> None:
    nodes = [node("x", labels={"zone": "b", "rack": "1"}), node("y", labels={"zone": "b", "rack": "2"})]
    first = node("z", labels={"zone": "a", "rack": "2"})
    args = {"affinityLabels": ["zone", "rack"]}
    found = best(
        [*nodes, first, service(app="a"), there("z")],
        pod(nodeSelector={"zone": "b"}),
        "ServiceAffinity",
        args,
    )
    assert found == ["y"]


def test_the_reason_names_the_service() -> None:
    objects = [NODES[2], node("a1", labels={"zone": "c"}), service(app="a")]
    reason = message(objects, pod(nodeSelector={"zone": "d"}), "ServiceAffinity", TOGETHER)
    assert reason is not None
    assert ERR_REASON in reason


def test_a_dry_run_without_the_first_pod_requires_nothing() -> None:
    table = cluster(a=1, b=0)
    store = ObjectStore()
    store.set(Service(ObjectMeta(name="s", namespace="default"), ServiceSpec({"app": "web"})))
    plugin = ServiceAffinity(ServiceAffinityArgs((ZONE,)), StandInHandle(table, store))
    state, pending = CycleState(), make_pod("p")
    plugin.pre_filter(state, pending, table.rows())
    a1, b1 = table.live_row("a1"), table.live_row("b1")
    assert a1 is not None
    assert b1 is not None
    (first,) = table.pods_at(a1).values()
    trial = state.clone()
    plugin.remove_pod(trial, first, table.info(a1))
    assert plugin.filter(trial, table.info(b1)) is None
    plugin.add_pod(trial, first, table.info(b1))
    assert plugin.filter(trial, table.info(a1)) == Status.unschedulable(ERR_REASON)
    assert plugin.filter(state, table.info(b1)) == Status.unschedulable(ERR_REASON)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([service(app="a")], ["a1", "a2", "b1"]),
        ([service(app="a"), there("a1")], ["b1"]),
        ([service(app="a"), there("a1"), there("b1", "t2"), there("b1", "t3")], ["a1", "a2"]),
        ([there("a1")], ["a1", "a2", "b1"]),
    ],
)
def test_pods_of_a_service_spread_over_the_values(more: list[Any], expected: list[str]) -> None:
    assert best([*NODES, *more], pod(), "ServiceAffinity", APART) == expected


@pytest.mark.filterwarnings("ignore::schedframe.testing.PluginNotCached")  # it reads the whole cluster
def test_the_contract() -> None:
    check_plugin(
        ServiceAffinity,
        {"affinityLabels": ["zone"], "antiAffinityLabelsPreference": ["rack", "zone"]},
        nodes=strategies.nodes(labels={"zone": ("a", "b"), "rack": ("1", "2")}),
        objects=objects.services(),
        max_examples=12,
    )
