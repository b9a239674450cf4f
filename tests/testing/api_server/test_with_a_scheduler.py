"""The server in a thread of its own, as an author of a scheduler uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedframe import Scheduler
from schedframe.api import ClusterObject, ObjectMeta
from schedframe.cluster.kubernetes import KubernetesCluster
from schedframe.testing import node, pod
from schedframe.testing.api_server import ApiServer, Fault


def test_a_scheduler_places_pods_through_lost_replies(tmp_path: Path) -> None:
    with ApiServer() as server:
        for name in ("n1", "n2"):
            server.create(node(name))
        for number in range(4):
            server.create(pod(f"p{number}").requests(cpu="100m"))
        server.faults.add(Fault.disconnect(applied=True), "create", "pods/binding", times=2)
        server.faults.add(Fault.answer(429), "create", "pods/binding", times=1)
        file = server.kubeconfig(tmp_path / "kubeconfig")
        with KubernetesCluster.from_kubeconfig(file, qps=-1) as cluster, Scheduler(cluster) as scheduler:
            scheduler.run_until_idle()
            waits = str(scheduler.pending())
        assert all(each["spec"].get("nodeName") for each in server.list("Pod")), (waits, server.requests)
        binds = [each for each in server.requests if each.resource == "pods/binding"]
        assert [each.status for each in binds].count(201) == 2
        assert server.faults.waiting == 0


def test_a_server_that_comes_back(tmp_path: Path) -> None:
    with ApiServer() as server:
        server.create(node("n1"))
        file = server.kubeconfig(tmp_path / "kubeconfig")
        server.stop()
        server.restart()
        with KubernetesCluster.from_kubeconfig(file) as cluster:
            assert [each.name for each in cluster.list("Node")] == ["n1"]
    with pytest.raises(RuntimeError, match="no thread"):
        server.stop()


class Widget(ClusterObject):
    KIND = "example.com/Widget"
    API_VERSION = "example.com/v1"
    NAMESPACED = True
    metadata: ObjectMeta


def test_a_kind_of_ones_own() -> None:
    server = ApiServer()
    server.serve(Widget)
    made = server.create({"kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}})
    assert made["apiVersion"] == "example.com/v1"
    assert server.get("example.com/Widget", "default/w") == made
