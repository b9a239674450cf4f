"""Plugins served as an extender that bind pods, and that change what a preemption removes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from attrs import define

import schedframe
from schedframe import InMemoryCluster, NodeInfo, Pod, Status, hookimpl
from schedframe._base.tls import client_context
from schedframe.cluster import ClusterPort
from schedframe.cluster.flaky import FlakyCluster
from schedframe.serve.plugin_extender import PluginExtender
from tests.configurations import META
from tests.cycle.build import make_node, make_pod

from .test_bad_servers import config

LICENCES = 2


@define(eq=False)
class Licences:
    """At most two pods with the label ``licence`` on a node, and none on the node ``never``."""

    args: None
    handle: schedframe.Handle

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        if "licence" not in pod.labels:
            return None
        if node_info.name == "never":
            return Status.unresolvable("no licences here")
        used = sum("licence" in other.labels for other in node_info.pods.values())
        return None if used < LICENCES else Status.unschedulable("no licence left")

    @hookimpl
    def bind(self, pod: Pod, node_name: str) -> Status | None:
        if pod.name == "refused":
            return Status.from_error("this pod must not be bound")
        self.handle.cluster.bind(pod, node_name)
        return None


def plugins_of(cluster: ClusterPort | None) -> PluginExtender:
    """Return an extender with the plugin above alone."""
    points = {
        "multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "Licences"}]},
        "queueSort": {"enabled": [{"name": "PrioritySort"}]},
    }
    config = {**META, "profiles": [{"plugins": points}]}
    return PluginExtender(config, cluster, plugins={"Licences": Licences})


@pytest.fixture
def cluster() -> InMemoryCluster:
    """Nodes with running pods; ``free`` has a licence left, ``full`` has none."""
    cluster = InMemoryCluster()
    for name in ("free", "full", "never"):
        cluster.create(make_node(name, cpu=4))
    licences = {"licence": "yes"}
    cluster.create(make_pod("other", node_name="free", priority=1))
    for i, (node, labels) in enumerate(
        (("free", licences), ("full", licences), ("full", licences), ("full", {}), ("never", {}))
    ):
        cluster.create(make_pod(f"running-{i}", node_name=node, labels=labels, priority=i))
    return cluster


@pytest.fixture
def plugins(cluster: InMemoryCluster) -> Iterator[PluginExtender]:
    plugins = plugins_of(cluster)
    yield plugins
    plugins.close()


def uid(cluster: InMemoryCluster, name: str) -> str:
    pod = cluster.get("Pod", f"default/{name}")
    assert pod is not None
    return str(pod.uid)


def preempted(plugins: PluginExtender, pod: Pod, victims: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Return the victims that are left, by node."""
    manifest = schedframe.to_manifest(pod)
    answer = json.loads(plugins.preempt(json.dumps({"Pod": manifest, **victims}).encode()))
    return {
        node: [pod["UID"] for pod in each["Pods"]] for node, each in answer["NodeNameToMetaVictims"].items()
    }


def by_uid(**nodes: Sequence[str]) -> dict[str, Any]:
    return {
        "NodeNameToMetaVictims": {
            node: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 0}
            for node, uids in nodes.items()
        }
    }


def wants_licence(priority: int = 100) -> Pod:
    return make_pod("wants", labels={"licence": "yes"}, priority=priority)


def test_a_node_where_the_victims_are_enough_stays_as_it_is(
    plugins: PluginExtender, cluster: InMemoryCluster
) -> None:
    offered = by_uid(full=[uid(cluster, "running-2")], free=[uid(cluster, "other")])
    assert preempted(plugins, wants_licence(), offered) == {
        "full": [uid(cluster, "running-2")],
        "free": [uid(cluster, "other")],
    }


def test_further_victims_make_room_for_the_plugins(plugins: PluginExtender, cluster: InMemoryCluster) -> None:
    """The least important pod with a licence goes, too; the most important victim comes first."""
    offered = by_uid(full=[uid(cluster, "running-3")])
    expected = [uid(cluster, "running-3"), uid(cluster, "running-1")]
    assert preempted(plugins, wants_licence(), offered) == {"full": expected}


def test_only_pods_of_lower_priority_become_victims(
    plugins: PluginExtender, cluster: InMemoryCluster
) -> None:
    offered = by_uid(full=[uid(cluster, "running-3")])
    assert preempted(plugins, wants_licence(priority=1), offered) == {}


def test_a_node_that_the_plugins_reject_anyway_is_left_out(
    plugins: PluginExtender, cluster: InMemoryCluster
) -> None:
    offered = by_uid(never=[uid(cluster, "running-4")], free=[uid(cluster, "other")])
    assert list(preempted(plugins, wants_licence(), offered)) == ["free"]


def test_victims_may_come_as_pods(plugins: PluginExtender, cluster: InMemoryCluster) -> None:
    victim = cluster.get("Pod", "default/running-2")
    manifest = schedframe.to_manifest(victim)
    offered = {"NodeNameToVictims": {"full": {"Pods": [manifest], "NumPDBViolations": 1}}}
    assert preempted(plugins, wants_licence(), offered) == {"full": [uid(cluster, "running-2")]}


def test_a_victim_that_is_gone_counts_as_removed(plugins: PluginExtender, cluster: InMemoryCluster) -> None:
    gone = uid(cluster, "running-2")
    cluster.delete("Pod", "default/running-2")
    assert preempted(plugins, wants_licence(), by_uid(full=[gone])) == {"full": [gone]}


def test_other_pods_are_untouched(plugins: PluginExtender, cluster: InMemoryCluster) -> None:
    offered = by_uid(full=[uid(cluster, "running-3")])
    assert preempted(plugins, make_pod("any", priority=100), offered) == {"full": [uid(cluster, "running-3")]}


def bind(plugins: PluginExtender, cluster: InMemoryCluster, name: str, **more: str) -> str:
    """Return the error of a request to bind."""
    request = {"PodName": name, "PodNamespace": "default", "PodUID": uid(cluster, name), "Node": "free"}
    answer = json.loads(plugins.bind(json.dumps({**request, **more}).encode()))
    return str(answer["Error"])


def test_the_bind_plugins_bind(plugins: PluginExtender, cluster: InMemoryCluster) -> None:
    for name in ("web", "refused"):
        cluster.create(make_pod(name))
    assert bind(plugins, cluster, "web") == ""
    assert cluster.get("Pod", "default/web").spec.node_name == "free"
    assert bind(plugins, cluster, "refused") == 'running Bind plugin "Licences": this pod must not be bound'
    assert cluster.get("Pod", "default/refused").spec.node_name == ""


def test_a_pod_counts_from_its_binding_on(cluster: InMemoryCluster) -> None:
    """Also where the watch has not shown it: the node ``free`` has one licence left."""
    for name in ("one", "two"):
        cluster.create(make_pod(name, labels={"licence": "yes"}))
    late = FlakyCluster(cluster)
    plugins = plugins_of(late)
    for watch in late.watches:
        watch.deliver()
    assert bind(plugins, cluster, "one") == ""
    assert bind(plugins, cluster, "two") == "node free does not fit any more: no licence left"
    assert cluster.get("Pod", "default/two").spec.node_name == ""
    for watch in late.watches:
        watch.deliver()
    cluster.delete("Pod", "default/one")
    for watch in late.watches:
        watch.deliver()
    assert bind(plugins, cluster, "two") == ""
    plugins.close()


def test_a_failed_binding_gives_the_room_back(plugins: PluginExtender, cluster: InMemoryCluster) -> None:
    for name in ("refused", "two"):
        cluster.create(make_pod(name, labels={"licence": "yes"}))
    assert "must not be bound" in bind(plugins, cluster, "refused")
    assert bind(plugins, cluster, "two") == ""


def test_a_pod_that_was_made_again_is_not_bound(plugins: PluginExtender, cluster: InMemoryCluster) -> None:
    cluster.create(make_pod("web"))
    assert "is gone" in bind(plugins, cluster, "web", PodUID="earlier")
    assert "is gone" in bind(plugins, cluster, "web", PodName="unknown")


def test_without_a_cluster_nothing_is_bound_or_removed() -> None:
    plugins = plugins_of(None)
    request = {"PodName": "a", "PodNamespace": "b", "PodUID": "c", "Node": "d"}
    assert "needs a cluster" in json.loads(plugins.bind(json.dumps(request).encode()))["Error"]
    with pytest.raises(schedframe.SchedframeError, match="needs a cluster"):
        preempted(plugins, wants_licence(), by_uid(full=["x"]))
    plugins.close()


def test_a_scheduler_asks_all_four_calls_over_https(
    plugins: PluginExtender, cluster: InMemoryCluster, tmp_path: Path
) -> None:
    """Pods with a licence preempt what the plugin needs, and the plugin binds them."""
    for name in ("cryptography", "starlette", "uvicorn"):
        pytest.importorskip(name, reason="the extra serve is not installed")
    from schedframe.serve import HttpServer, Listener
    from schedframe.serve.extender import extender_application

    from .certificates import LOOPBACK, Authority, server_context

    authority = Authority("authority")
    tls = server_context(tmp_path, authority.issue("server", LOOPBACK))
    server = HttpServer(extender_application(plugins), Listener(tls=tls))
    server.start()
    url = server.url
    trust = client_context(authority.cert.decode())
    with urlopen(Request(f"{url}/healthz"), context=trust) as answer:
        assert answer.status == 200
    (tmp_path / "ca.crt").write_bytes(authority.cert)
    entry = {
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "bindVerb": "bind",
        "preemptVerb": "preempt",
        "weight": 1,
        "nodeCacheCapable": True,
        "tlsConfig": {"caFile": str(tmp_path / "ca.crt")},
    }
    with schedframe.Scheduler(cluster, config(entry)) as scheduler:
        cluster.create(make_pod("one", labels={"licence": "yes"}, priority=100, cpu=1))
        scheduler.run_until_idle()
        one = cluster.get("Pod", "default/one")
        assert one is not None
        assert one.spec.node_name == "free"
    server.close()
