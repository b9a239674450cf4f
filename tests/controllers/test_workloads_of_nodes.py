"""Pods of daemon sets and pod templates, and what may be asked of all workloads."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Simulation
from schedframe.api import (
    Pod,
    ReplicaSet,
    from_manifest,
    to_manifest,
)
from schedframe.controllers.workloads import Expander, Workloads
from schedframe.errors import InputError

from .workload_manifests import APP, cron_job, job, made, node, pods, template, workload

# ---- daemon sets -------------------------------------------------------------------------------------


def tainted(key: str, effect: str) -> list[dict[str, str]]:
    return [{"key": key, "effect": effect}]


def nodes_of(found: list[Pod]) -> list[str]:
    return [pod.spec.affinity.node_affinity.required.terms[0].match_fields[0].values[0] for pod in found]  # type: ignore[union-attr]  # every pod of a daemon set has it


def test_a_daemon_set_has_a_pod_for_each_node_without_other_taints() -> None:
    nodes = [
        node("a"),
        node("master", taints=tainted("control-plane", "NoSchedule")),
        node("rather-not", taints=tainted("rather-not", "PreferNoSchedule")),
        node(
            "cordoned", unschedulable=True, taints=tainted("node.kubernetes.io/unschedulable", "NoSchedule")
        ),
        node("lost", taints=tainted("node.kubernetes.io/unreachable", "NoExecute")),
    ]
    found = pods(workload("DaemonSet", "agent"), *nodes)
    assert nodes_of(found) == ["a", "rather-not", "cordoned", "lost"]
    assert all(pod.labels["pod-template-generation"] == "1" for pod in found)
    assert all(pod.labels["controller-revision-hash"] for pod in found)
    assert all(pod.name.startswith("agent-") for pod in found)


def test_a_daemon_set_keeps_to_its_node_selector_and_affinity() -> None:
    nodes = [node("a", {"disk": "ssd"}), node("b"), node("c", {"disk": "ssd", "zone": "z"})]
    term = {"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    }
    model = template(nodeSelector={"disk": "ssd"}, affinity=affinity)
    assert nodes_of(pods(workload("DaemonSet", template=model), *nodes)) == ["a"]


def tolerated(pod: Pod) -> set[tuple[str, str]]:
    return {(each.key.removeprefix("node.kubernetes.io/"), each.effect) for each in pod.spec.tolerations}


def test_pods_of_a_daemon_set_tolerate_what_their_controller_adds() -> None:
    (pod,) = pods(workload("DaemonSet"), node("a"))
    assert tolerated(pod) == {
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    }
    (on_host,) = pods(workload("DaemonSet", template=template(hostNetwork=True)), node("a"))
    assert tolerated(on_host) - tolerated(pod) == {("network-unavailable", "NoSchedule")}


def test_expand_serves_only_nodes_without_a_pod_of_the_daemon_set() -> None:
    first = pods(workload("DaemonSet"), node("a"))
    found = pods(workload("DaemonSet"), node("a"), node("b"), treatment="expand", among=first)
    assert nodes_of(found) == ["b"]


# ---- pod templates -----------------------------------------------------------------------------------


def test_a_pod_template_is_one_pod_of_its_name() -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "task"},
        "template": template(),
    }
    (pod,) = pods(manifest)
    assert (pod.name, pod.labels, pod.metadata.owner_references) == ("task", APP, ())
    assert pods(manifest, among=[pod]) == []


# ---- treatments --------------------------------------------------------------------------------------

EVERY = [
    workload("ReplicaSet", "a", replicas=3),
    workload("Deployment", "b", replicas=3),
    workload("StatefulSet", "c", replicas=3),
    job("d", parallelism=3),
    job("e", completionMode="Indexed", completions=3, parallelism=3),
]


@pytest.mark.parametrize("manifest", EVERY, ids=lambda manifest: manifest["kind"])
def test_auto_makes_no_pods_beside_others_and_expand_the_missing_ones(manifest: dict[str, Any]) -> None:
    whole = made(manifest)
    rest = [obj for obj in whole if obj is not whole[-1]]
    among = [obj for obj in rest if isinstance(obj, Pod)]
    assert len(among) == 2
    assert pods(manifest, among=among) == []
    others = [
        to_manifest(obj) for obj in rest if isinstance(obj, ReplicaSet) and manifest["kind"] == "Deployment"
    ]
    assert len(pods(manifest, *others, among=among, treatment="expand")) == 1


@pytest.mark.parametrize("manifest", EVERY, ids=lambda manifest: manifest["kind"])
def test_an_expanded_workload_is_not_expanded_again(manifest: dict[str, Any]) -> None:
    assert len(pods(manifest, manifest)) == 3
    assert len(pods(manifest, manifest, treatment="expand")) == 3


@pytest.mark.parametrize("manifest", [*EVERY, cron_job()], ids=lambda manifest: manifest["kind"])
def test_ignored_workloads_make_no_pods_later_either(manifest: dict[str, Any]) -> None:
    left = made(manifest, treatment="ignore")
    assert not any(isinstance(obj, Pod) for obj in left)
    again = Expander.among(left)
    assert [each for obj in left for each in again.expand(obj)] == left


def test_a_workload_without_a_template_stays_as_it_is() -> None:
    bare = from_manifest({"kind": "ReplicaSet", "metadata": {"name": "a"}, "spec": {"replicas": 3}})
    assert Expander.among([bare]).expand(bare) == [bare]


@pytest.mark.parametrize(
    ("manifest", "path"),
    [
        (workload("Deployment", template=None), "spec.template"),
        (workload("Deployment", selector={"matchLabels": {"app": "other"}}), "spec.template.metadata.labels"),
        (workload("StatefulSet", selector={}), "spec.selector"),
        (workload("ReplicaSet", replicas=-1), "spec.replicas"),
        (job(completions=-1), "spec.completions"),
        (cron_job(jobTemplate={"spec": {}}), "spec.jobTemplate.spec.template"),
    ],
)
def test_what_no_api_server_takes_is_refused(manifest: dict[str, Any], path: str) -> None:
    with pytest.raises(InputError) as caught:
        made(manifest)
    assert caught.value.path == path
    assert caught.value.location.startswith(manifest["kind"])


def test_another_treatment_is_refused() -> None:
    assert [str(each) for each in Workloads] == ["auto", "expand", "ignore"]
    with pytest.raises(InputError, match="use auto, expand, ignore"):
        made(treatment="some")


# ---- in a simulation ---------------------------------------------------------------------------------


def test_a_simulation_schedules_the_pods_of_workloads() -> None:
    simulation = Simulation([workload("Deployment", replicas=3), workload("DaemonSet", "agent"), node("n")])
    placements = simulation.schedule()
    assert [placement.node_name for placement in placements] == ["n"] * 4
    simulation.add(workload("Deployment", replicas=3))
    assert simulation.pending() == []


def test_pods_of_a_daemon_set_go_to_their_nodes() -> None:
    simulation = Simulation([node(name) for name in "abc"])
    simulation.add(workload("DaemonSet", "agent"))
    assert sorted(str(placement.node_name) for placement in simulation.schedule()) == ["a", "b", "c"]


def test_a_simulation_ignores_workloads_when_asked() -> None:
    simulation = Simulation([node("n")])
    simulation.add(workload("ReplicaSet", replicas=3), job(), workloads="ignore")
    assert simulation.pending() == []
    assert simulation.cluster.get("ReplicaSet", "default/web") is not None
