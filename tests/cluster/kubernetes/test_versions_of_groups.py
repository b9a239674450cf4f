"""PodGroups are read in the version that the API server has."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from schedframe import Scheduler
from schedframe.api import ObjectMeta, PodGroup
from schedframe.cluster.kubernetes import KubernetesCluster
from schedframe.cluster.kubernetes.errors import ApiError
from schedframe.cluster.kubernetes.resources import find_resource
from schedframe.testing.api_server import ApiServer
from tests.cycle.pod_groups.helpers import group, node, pod


class Server:
    """Serves PodGroups in some versions."""

    def __init__(self, *versions: str) -> None:
        self.versions = versions

    async def request(self, method: str, path: str) -> bytes:
        version = path.rpartition("/")[2]
        if version not in self.versions:
            raise ApiError(f"{method} {path}", 404, "NotFound", "the server does not have it")
        return json.dumps({"resources": [{"name": "podgroups", "kind": "PodGroup"}]}).encode()


@pytest.mark.parametrize(
    ("served", "base"),
    [
        (("v1alpha2",), "/apis/scheduling.k8s.io/v1alpha2"),
        (("v1beta1", "v1alpha3"), "/apis/scheduling.k8s.io/v1alpha3"),
        (("v1beta1",), "/apis/scheduling.k8s.io/v1beta1"),
        ((), "/apis/scheduling.k8s.io/v1alpha2"),
    ],
)
def test_the_version_that_is_served_is_used(served: tuple[str, ...], base: str) -> None:
    client: Any = Server(*served)
    assert asyncio.run(find_resource(client, PodGroup)).base == base


GATES = {"GenericWorkload": True, "GangScheduling": True}


@pytest.mark.parametrize(
    ("version", "condition"), [("v1alpha2", "PodGroupScheduled"), ("v1beta1", "PodGroupInitiallyScheduled")]
)
def test_a_group_is_scheduled_in_the_version_that_the_server_has(
    version: str, condition: str, tmp_path: Path
) -> None:
    api_version = f"scheduling.k8s.io/{version}"
    with ApiServer() as server:
        server.serve(PodGroup, version=version)
        for obj in (node("n"), group("g", 2), pod("a", "g"), pod("b", "g")):
            server.create({**obj, "apiVersion": api_version if obj["kind"] == "PodGroup" else "v1"})
        with (
            KubernetesCluster.from_kubeconfig(server.kubeconfig(tmp_path / "kubeconfig")) as cluster,
            Scheduler(cluster, feature_gates=GATES) as scheduler,
        ):
            scheduler.run_until_idle()
            made = cluster.create(PodGroup(ObjectMeta(name="made", namespace="default")))
        stored, other = server.get("PodGroup", "default/g"), server.get("PodGroup", "default/made")
        assert stored is not None
        assert other is not None
        found = [(each["type"], each["status"]) for each in stored["status"]["conditions"]]
        assert found == [(condition, "True")]
        assert stored["apiVersion"] == other["apiVersion"] == api_version
        assert all(each["spec"].get("nodeName") == "n" for each in server.list("Pod"))
        assert made.api_version == ("" if version == "v1alpha2" else api_version)
