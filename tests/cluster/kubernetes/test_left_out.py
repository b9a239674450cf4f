"""Objects that cannot be read, and what the scheduler does while they are there."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import UNREADABLE
from schedframe.cluster.kubernetes.closed_nodes import TAINT, ClosedNodes
from schedframe.cycle.metering import catalogue
from schedframe.cycle.metering.collect import _gauges
from schedframe.testing import node
from schedframe.testing import pod as build

from .driven_world import DrivenWorld, node_of

Obj = dict[str, Any]


def test_closed_nodes_open_when_nothing_closes_them() -> None:
    closed = ClosedNodes()
    changed: list[str] = []
    closed.on_change = changed.append
    one = node("n1").allocatable(cpu="4").build()
    closed.close("n1", "Pod a")
    closed.close("n1", "Pod b")
    shown = closed.shown(one)
    assert shown.spec.taints == (TAINT,)
    assert (shown.status.allocatable["pods"].value(), shown.status.allocatable["cpu"].value()) == (0, 4)
    assert closed.shown_again(shown) is shown
    closed.close("n2", "Pod a")
    assert "n1" in closed
    closed.close("", "Pod b")
    assert "n1" not in closed
    assert closed.shown_again(shown) is one
    closed.close("", "Pod a")
    assert changed == ["n1", "n1", "n1", "n2", "n1", "n2"]
    assert not closed._objects_at
    assert not closed._as_read


class World(DrivenWorld):
    def node_of(self, name: str) -> str:
        return node_of(self.pods()[name])

    def add(self, name: str, cpu: str = "1", **spec: Any) -> Obj:
        made = dict(build(name).requests(cpu=cpu))
        return self.server.create({**made, "spec": {**made["spec"], **spec}})

    def change(self, kind: str, key: str, part: str, **fields: Any) -> None:
        there = self.server.get(kind, key)
        assert there is not None
        self.server.apply({**there, part: {**there.get(part, {}), **fields}})

    def unreadable(self) -> dict[str, int]:
        return {kind: count for kind, count in self.cluster.unreadable().items() if count}


@pytest.fixture(params=["before", "after"])
def started(request: pytest.FixtureRequest) -> bool:
    """Whether the objects are there before the scheduler starts, so in its first list."""
    return request.param == "after"


def world(started: bool) -> World:
    made = World()
    made.server.create(node("n1").allocatable(cpu="4", pods="10"))
    if started:
        made.scheduler.start()
        made.drive(1)
    return made


def start(made: World) -> None:
    made.scheduler.start()
    made.drive(1)


def containers(cpu: Any) -> list[Obj]:
    return [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]


def test_a_node_takes_no_more_pods_while_requests_there_cannot_be_read(started: bool) -> None:
    made = world(started)
    made.add("bad", nodeName="n1", containers=containers("many"))
    if not started:
        start(made)
    made.drive(1)
    made.add("p")
    made.drive(5)
    assert made.node_of("p") == ""
    assert made.unreadable() == {"Pod": 1}
    made.change("Pod", "default/bad", "spec", containers=containers("3"))
    made.drive(600)
    assert made.node_of("p") == "n1"
    assert made.unreadable() == {}
    made.add("q")
    made.drive(5)
    assert made.node_of("q") == ""
    made.check_quiet()
    made.close()


def test_a_pod_that_was_known_keeps_its_room_and_its_node_is_closed() -> None:
    made = world(True)
    made.add("bad", "3", nodeName="n1")
    made.drive(1)
    made.change("Pod", "default/bad", "spec", containers=None, overhead=5)
    made.drive(1)
    made.add("p")
    made.drive(5)
    assert made.node_of("p") == ""
    assert made.scheduler.core.cache.get_pod(made.pods()["bad"]["metadata"]["uid"]).requests == {"cpu": 3000}  # type: ignore[union-attr]
    made.server.delete("Pod", "default/bad")
    made.drive(600)
    assert made.node_of("p") == "n1"
    made.check_quiet()
    made.close()


def test_a_pod_counts_with_the_requests_that_can_be_read(started: bool) -> None:
    made = world(started)
    made.add("bad", "3", nodeName="n1", tolerations=5, nodeSelector=[])
    if not started:
        start(made)
    made.add("p")
    made.add("q")
    made.drive(5)
    assert sorted([made.node_of("p"), made.node_of("q")]) == ["", "n1"]
    made.server.delete("Pod", "default/bad")
    made.drive(600)
    assert (made.node_of("p"), made.node_of("q")) == ("n1", "n1")
    made.check_quiet()
    made.close()


def test_a_pod_that_waits_is_tried_once_it_can_be_read(started: bool) -> None:
    made = world(started)
    made.add("p", priority="high")
    if not started:
        start(made)
    made.drive(600)
    assert made.node_of("p") == ""
    made.change("Pod", "default/p", "spec", priority=5)
    made.drive(5)
    assert made.node_of("p") == "n1"
    made.check_quiet()
    made.close()


def test_a_pod_that_waits_and_cannot_be_read_any_more_is_not_tried() -> None:
    made = world(True)
    made.add("p", "8")
    made.drive(5)
    made.change("Pod", "default/p", "spec", affinity=[])
    made.change("Node", "n1", "status", allocatable={"cpu": "16", "pods": "10"})
    made.drive(600)
    assert made.node_of("p") == ""
    assert not made.scheduler.core.pending
    made.change("Pod", "default/p", "spec", affinity=None)
    made.drive(5)
    assert made.node_of("p") == "n1"
    made.close()


def test_a_node_that_cannot_be_read_takes_no_pods(started: bool) -> None:
    made = world(started)
    made.change("Node", "n1", "spec", taints="none")
    if not started:
        start(made)
    made.drive(1)
    made.add("p", tolerations=[{"operator": "Exists"}])
    made.drive(5)
    assert made.node_of("p") == ""
    assert made.unreadable() == {"Node": 1}
    made.change("Node", "n1", "spec", taints=[])
    made.drive(600)
    assert made.node_of("p") == "n1"
    made.check_quiet()
    made.change("Node", "n1", "spec", taints="none")
    made.drive(1)
    made.server.delete("Node", "n1")
    made.drive(1)
    made.server.create(node("n1").allocatable(cpu="8", pods="10"))
    made.add("q")
    made.drive(600)
    assert made.node_of("q") == "n1"
    made.check_quiet()
    made.close()


def test_what_was_missed_while_the_connection_was_down_is_listed() -> None:
    made = world(True)
    made.add("bad", nodeName="n1", containers=containers("many"))
    made.drive(1)
    made.add("p")
    made.drive(2)
    assert made.node_of("p") == ""
    made.loop.run(made.server.shut_down())
    made.server.delete("Pod", "default/bad")
    made.server.objects.store.compact()
    made.loop.run(made.server.listen())
    made.drive(600)
    assert made.node_of("p") == "n1"
    assert made.unreadable() == {}
    made.check_quiet()
    made.close()


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def test_pods_wait_for_a_volume_claim_that_cannot_be_read(started: bool) -> None:
    made = world(started)
    meta = {"name": "c", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c"}
    volume = {**CLAIM, "capacity": {"storage": "1Gi"}, "claimRef": reference}
    made.server.create({"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": volume})
    spec = {**CLAIM, "volumeName": "v"}
    made.server.create(
        {"kind": "PersistentVolumeClaim", "metadata": meta, "spec": {**spec, "accessModes": 5}}
    )
    if not started:
        start(made)
    made.add("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    made.drive(5)
    assert made.node_of("p") == ""
    assert made.unreadable() == {"PersistentVolumeClaim": 1}
    made.change("PersistentVolumeClaim", "default/c", "spec", accessModes=["ReadWriteOnce"])
    made.change("PersistentVolume", "v", "spec", capacity=5)
    made.drive(5)
    assert made.node_of("p") == ""
    made.change("PersistentVolume", "v", "spec", capacity={"storage": "1Gi"})
    made.drive(15)
    assert made.node_of("p") == "n1"
    made.check_quiet()
    made.close()


def claim_of(made: World, name: str, *, results: Any = None, request: Any = None) -> None:
    request = request or {"name": "r", "exactly": {"deviceClassName": "c"}}
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "dev0"}
    allocation = {"devices": {"results": [result] if results is None else results}}
    claim = {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1", "metadata": {"name": name}}
    status = {} if results == [] else {"status": {"allocation": allocation}}
    made.server.create({**claim, "spec": {"devices": {"requests": [request]}}, **status})


def test_devices_of_a_claim_that_cannot_be_read_stay_taken(started: bool) -> None:
    made = world(started)
    version = {"apiVersion": "resource.k8s.io/v1"}
    made.server.create({**version, "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": {}})
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    slice = {"driver": "d.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "dev0"}]}
    made.server.create({**version, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": slice})
    claim_of(made, "evil", request={"name": "r", "exactly": 5})
    claim_of(made, "good", results=[])
    if not started:
        start(made)
    for name in ("evil", "good"):
        made.add(f"of-{name}", resourceClaims=[{"name": "r", "resourceClaimName": name}])
    made.drive(5)
    assert made.unreadable() == {"ResourceClaim": 1}
    assert (made.node_of("of-evil"), made.node_of("of-good")) == ("", "")
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    made.change("ResourceClaim", "default/evil", "spec", devices={"requests": [request]})
    made.drive(15)
    assert made.unreadable() == {}
    assert (made.node_of("of-evil"), made.node_of("of-good")) == ("n1", "")
    assert UNREADABLE not in str(made.server.list("ResourceClaim"))
    made.check_quiet()
    made.close()


@pytest.mark.parametrize(
    ("kind", "field", "bad"),
    [("DeviceClass", "selectors", 5), ("ResourceSlice", "devices", "none")],
)
def test_pods_wait_for_what_is_offered_by_an_object_that_cannot_be_read(
    kind: str, field: str, bad: Any
) -> None:
    made = world(True)
    version = {"apiVersion": "resource.k8s.io/v1"}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    slice = {"driver": "d.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "dev0"}]}
    specs: dict[str, Obj] = {"DeviceClass": {}, "ResourceSlice": slice}
    for each, spec in specs.items():
        made.server.create({**version, "kind": each, "metadata": {"name": "c"}, "spec": spec})
    made.drive(1)
    made.change(kind, "c", "spec", **{field: bad})
    claim_of(made, "good", results=[])
    made.add("p", resourceClaims=[{"name": "r", "resourceClaimName": "good"}])
    made.drive(5)
    assert made.node_of("p") == ""
    made.change(kind, "c", "spec", **{field: specs[kind].get(field)})
    made.drive(15)
    assert made.node_of("p") == "n1"
    made.check_quiet()
    made.close()


def test_the_metric_counts_them_by_kind() -> None:
    made = world(True)
    made.add("bad", containers=containers("many"))
    made.drive(1)
    found = dict(_gauges(made.scheduler.core))[catalogue.UNREADABLE]
    assert (found[("Pod",)], found[("Node",)]) == (1, 0)
    made.close()
