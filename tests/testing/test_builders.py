"""Manifests that read like sentences."""

from __future__ import annotations

import pytest

from schedframe import InputError, Simulation, Taint, evaluate
from schedframe.api import LABEL_ZONE
from schedframe.testing import node, pod


def test_a_pod_says_what_it_wants() -> None:
    web = (
        pod("web")
        .in_namespace("shop")
        .labels(app="web")
        .annotations({"example.com/owner": "me"})
        .requests(cpu="500m", memory="1Gi")
        .requests({"example.com/gpu": 2})
        .image("registry.example/web:v1")
        .host_port(80)
        .priority(10)
        .gated_by("quota")
        .for_scheduler("mine")
        .build()
    )
    assert web.key == "shop/web"
    assert web.labels == {"app": "web"}
    assert web.metadata.annotations == {"example.com/owner": "me"}
    assert web.requests == {"cpu": 500, "memory": 1 << 30, "example.com/gpu": 2}
    assert web.spec.containers[0].image == "registry.example/web:v1"
    assert [port.port for port in web.host_ports] == [80]
    assert web.priority == 10
    assert web.spec.scheduling_gates == ("quota",)
    assert web.spec.scheduler_name == "mine"


def test_a_node_says_what_it_has() -> None:
    big = (
        node("big", cpu=64)
        .allocatable({"example.com/gpu": 8}, pods=20)
        .in_zone("a")
        .labels(disk="ssd")
        .taint("dedicated", "ml")
        .image("registry.example/web:v1", 1000)
        .cordoned()
        .build()
    )
    assert big.allocatable == {"cpu": 64000, "memory": 8 << 30, "pods": 20, "example.com/gpu": 8}
    assert big.labels == {"kubernetes.io/hostname": "big", LABEL_ZONE: "a", "disk": "ssd"}
    assert big.spec.taints == (Taint("dedicated", "ml", "NoSchedule"),)
    assert big.spec.unschedulable
    assert big.status.images[0].size_bytes == 1000


def test_a_builder_is_a_manifest() -> None:
    found = Simulation([node("n")]).schedule([pod("p").requests(cpu=1)])
    assert [placement.node_name for placement in found] == ["n"]


def test_builders_are_values() -> None:
    plain = pod("p")
    plain.requests(cpu=1)
    assert plain.build().requests == {}
    assert repr(plain).startswith('<Pod {"apiVersion"')
    assert len(plain) == 4


@pytest.mark.parametrize(
    ("wish", "feasible"),
    [
        (pod("p").needs_zone("b"), ["b"]),
        (pod("p").needs_zone("a", "b"), ["a", "b"]),
        (pod("p").needs_node_labels(disk="ssd"), ["a"]),
        (pod("p").near({"app": "db"}), ["a"]),
        (pod("p").away_from({"app": "db"}), ["b"]),
        (pod("p").away_from({"app": "db"}, topology_key=LABEL_ZONE), ["b"]),
        (pod("p").labels(app="db").spread_over(LABEL_ZONE, labels={"app": "db"}), ["b"]),
        (pod("p").labels(app="db").spread_over(LABEL_ZONE, labels={"app": "db"}, strictly=False), ["a", "b"]),
        (pod("p").tolerates("dedicated"), ["a", "b", "dear"]),
        (pod("p").tolerates("dedicated", "ml", effect="NoSchedule"), ["a", "b", "dear"]),
        (pod("p").tolerates("dedicated", "web"), ["a", "b"]),
    ],
)
def test_wishes_for_places(wish: object, feasible: list[str]) -> None:
    cluster = [
        node("a").in_zone("a").labels(disk="ssd"),
        node("b").in_zone("b"),
        node("dear").in_zone("c").taint("dedicated", "ml"),
        pod("db").labels(app="db").on_node("a"),
    ]
    assert evaluate(cluster, wish).feasible == feasible


def test_preferences() -> None:
    cluster = [node("a").in_zone("a"), node("b").in_zone("b").labels(disk="ssd")]
    assert evaluate(cluster, pod("p").prefers_zone("b", weight=100)).best == ["b"]
    assert evaluate(cluster, pod("p").prefers_zone("a", weight=9)).best == ["a"]
    both = pod("p").prefers_zone("a", weight=9).prefers_node_labels({"disk": "ssd"}, weight=90)
    assert evaluate(cluster, both).best == ["b"]


def test_invalid_values_are_refused_when_built() -> None:
    with pytest.raises(InputError, match=r"spec\.containers\[0\]\.resources\.requests\.cpu"):
        pod("p").requests(cpu="much").build()
