"""Pods of workloads: one test for each rule of a controller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from schedframe import Simulation
from schedframe.api import (
    CONTROLLER_KINDS,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    compile_label_selector,
    from_manifest,
    to_manifest,
)
from schedframe.errors import InputError
from schedframe.simulate.workloads import Expander, Workloads
from schedframe.simulate.workloads.names import ALPHABET, generated_names

APP = {"app": "web"}


def template(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": "100m"}}}
    labels = APP if labels is None else labels
    return {
        "metadata": {"labels": labels, "annotations": {"a": "1"}},
        "spec": {"containers": [container], **spec},
    }


def workload(kind: str, name: str = "web", version: str = "apps/v1", **spec: Any) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": APP}, "template": template(), **spec}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def job(name: str = "sum", **spec: Any) -> dict[str, Any]:
    spec = {"template": template({}, restartPolicy="Never"), **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def node(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"allocatable": room},
    }


def made(*manifests: dict[str, Any], treatment: str = "auto", among: Sequence[Any] = ()) -> list[Any]:
    objects = [from_manifest(manifest, kinds=CONTROLLER_KINDS) for manifest in manifests]
    expander = Expander.among([*among, *objects], treatment)
    return [each for obj in objects for each in expander.expand(obj)]


def pods(*manifests: dict[str, Any], treatment: str = "auto", among: Sequence[Any] = ()) -> list[Pod]:
    return [obj for obj in made(*manifests, treatment=treatment, among=among) if isinstance(obj, Pod)]


def owner_of(pod: Pod) -> tuple[str, str, str]:
    (owner,) = pod.metadata.owner_references
    assert owner.controller
    assert owner.block_owner_deletion
    return owner.kind, owner.name, owner.uid


# ---- replica sets, replication controllers, deployments ----------------------------------------------


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_equal_pods_with_generated_names(kind: str) -> None:
    manifest = workload(kind, replicas=3)
    if kind == "ReplicationController":
        manifest |= {"apiVersion": "v1"}
        del manifest["spec"]["selector"]
    owner, *found = made(manifest)
    assert len({pod.name for pod in found}) == 3
    for pod in found:
        prefix, _, suffix = pod.name.rpartition("-")
        assert prefix == "web"
        assert len(suffix) == 5
        assert set(suffix) <= set(ALPHABET)
        assert pod.metadata.generate_name == "web-"
        assert owner_of(pod) == (kind, "web", owner.uid)
        assert pod.labels == APP
        assert pod.metadata.annotations == {"a": "1"}
        assert pod.spec is found[0].spec


def test_the_same_manifest_gives_the_same_pods() -> None:
    assert pods(workload("Deployment", replicas=4)) == pods(workload("Deployment", replicas=4))


def test_without_a_number_there_is_one_pod() -> None:
    assert len(pods(workload("ReplicaSet"))) == 1


def test_no_name_comes_twice() -> None:
    names = [pod.name for pod in pods(workload("ReplicaSet", replicas=20_000))]
    assert len(set(names)) == 20_000


def test_names_fit_into_a_label_and_leave_out_taken_ones() -> None:
    first = next(generated_names("x" * 80, "seed", ()))
    assert len(first) == 63
    assert next(generated_names("x" * 80, "seed", {first})) != first


def test_a_deployment_makes_a_replica_set_that_selects_its_pods_by_their_hash() -> None:
    replica_set, *found = made(workload("Deployment", replicas=2))
    assert isinstance(replica_set, ReplicaSet)
    text = replica_set.labels["pod-template-hash"]
    assert replica_set.name == f"web-{text}"
    assert replica_set.metadata.owner_references[0].kind == "Deployment"
    assert len(found) == replica_set.spec.replicas == 2
    for pod in found:
        assert owner_of(pod) == ("ReplicaSet", replica_set.name, replica_set.uid)
        assert pod.labels == {**APP, "pod-template-hash": text}
        assert compile_label_selector(replica_set.spec.selector).matches(pod.labels)
        assert pod.name.startswith(f"{replica_set.name}-")


def test_another_template_has_another_hash() -> None:
    one, other = (
        made(workload("Deployment", template=template(nodeSelector={"disk": disk})))[0] for disk in "ab"
    )
    assert one.name != other.name


def test_a_paused_deployment_makes_nothing() -> None:
    assert made(workload("Deployment", paused=True)) == []


def test_a_deployment_leaves_the_pods_to_a_replica_set_that_is_there() -> None:
    replica_set, *_ = made(workload("Deployment", replicas=2))
    old = to_manifest(replica_set)
    old["spec"] = {**old["spec"], "replicas": 1}
    (pod,) = pods(workload("Deployment", replicas=2), old)
    assert owner_of(pod)[1] == replica_set.name


def test_a_deployment_with_pods_is_left_alone_even_without_its_replica_set() -> None:
    _, *running = made(workload("Deployment", replicas=2))
    assert made(workload("Deployment", replicas=2), among=running) == []


# ---- stateful sets -----------------------------------------------------------------------------------


def stateful(**spec: Any) -> dict[str, Any]:
    return workload("StatefulSet", "db", serviceName="peers", **spec)


def test_pods_of_a_stateful_set_are_numbered() -> None:
    found = pods(stateful(replicas=2))
    assert [pod.name for pod in found] == ["db-0", "db-1"]
    assert [pod.spec.hostname for pod in found] == ["db-0", "db-1"]
    assert {pod.spec.subdomain for pod in found} == {"peers"}
    labels = dict(found[1].labels)
    assert labels.pop("controller-revision-hash").startswith("db-")
    assert labels == {
        **APP,
        "statefulset.kubernetes.io/pod-name": "db-1",
        "apps.kubernetes.io/pod-index": "1",
    }


def test_ordinals_begin_where_the_set_says() -> None:
    found = pods(stateful(replicas=2, ordinals={"start": 5}))
    assert [pod.name for pod in found] == ["db-5", "db-6"]


def test_each_ordinal_has_its_claims() -> None:
    claim = {
        "metadata": {"name": "data", "labels": {"tier": "fast"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec = template(volumes=[{"name": "data", "emptyDir": {}}, {"name": "more", "hostPath": {"path": "/"}}])
    _, *found = made(stateful(replicas=2, template=spec, volumeClaimTemplates=[claim]))
    claims = [obj for obj in found if isinstance(obj, PersistentVolumeClaim)]
    assert [claim.name for claim in claims] == ["data-db-0", "data-db-1"]
    assert claims[0].labels == {"tier": "fast", **APP}
    assert claims[0].metadata.owner_references == ()
    pod = next(obj for obj in found if isinstance(obj, Pod) and obj.name == "db-1")
    sources = {volume.name: volume.persistent_volume_claim for volume in pod.spec.volumes}
    assert list(sources) == ["data", "more"]
    assert sources["data"] is not None
    assert sources["data"].claim_name == "data-db-1"
    assert sources["more"] is None


def test_a_claim_that_is_there_is_used() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {}}
    there = from_manifest({"kind": "PersistentVolumeClaim", "metadata": {"name": "data-db-0"}})
    found = made(stateful(replicas=2, volumeClaimTemplates=[claim]), among=[there])
    assert [obj.name for obj in found if isinstance(obj, PersistentVolumeClaim)] == ["data-db-1"]


# ---- jobs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"completions": 5}, 1),
        ({"parallelism": 3, "completions": 5}, 3),
        ({"parallelism": 5, "completions": 2}, 2),
        ({"parallelism": 0, "completions": 2}, 0),
        ({"parallelism": 3, "suspend": True}, 0),
    ],
)
def test_a_job_runs_as_many_pods_as_may_run_at_a_time(spec: dict[str, Any], count: int) -> None:
    assert len(pods(job(**spec))) == count


def test_pods_of_a_job_have_its_labels() -> None:
    (pod,) = pods(job())
    kind, name, uid = owner_of(pod)
    assert (kind, name) == ("Job", "sum")
    assert pod.labels == {
        "controller-uid": uid,
        "job-name": "sum",
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "sum",
    }


def test_a_job_with_a_selector_of_its_own_adds_no_labels() -> None:
    manual = job(manualSelector=True, selector={"matchLabels": APP}, template=template())
    (pod,) = pods(manual)
    assert pod.labels == APP


def test_pods_of_an_indexed_job_have_an_index() -> None:
    found = pods(job(completionMode="Indexed", completions=3, parallelism=2))
    key = "batch.kubernetes.io/job-completion-index"
    assert [pod.labels[key] for pod in found] == ["0", "1"]
    assert [pod.metadata.annotations[key] for pod in found] == ["0", "1"]
    assert [pod.spec.hostname for pod in found] == ["sum-0", "sum-1"]
    assert [pod.metadata.generate_name for pod in found] == ["sum-0-", "sum-1-"]


def test_completed_indexes_get_no_pod() -> None:
    indexed = job(completionMode="Indexed", completions=6, parallelism=2)
    indexed["status"] = {"succeeded": 3, "completedIndexes": "0-1,3"}
    assert [pod.spec.hostname for pod in pods(indexed)] == ["sum-2", "sum-4"]


@pytest.mark.parametrize("condition", ["Complete", "Failed"])
def test_a_job_that_has_ended_gets_no_pods(condition: str) -> None:
    ended = job()
    ended["status"] = {"conditions": [{"type": condition, "status": "True"}]}
    assert pods(ended) == []


def test_what_has_succeeded_counts() -> None:
    running = job(parallelism=3, completions=5)
    running["status"] = {"succeeded": 4}
    assert len(pods(running)) == 1


def cron_job(**spec: Any) -> dict[str, Any]:
    model = {"metadata": {"labels": {"run": "x"}}, "spec": job(parallelism=2)["spec"]}
    spec = {"schedule": "0 3 * * *", "jobTemplate": model, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}


def test_a_cron_job_runs_once() -> None:
    found = pods(cron_job())
    assert {owner_of(pod)[:2] for pod in found} == {("Job", "nightly-1")}
    assert len(found) == 2


def test_a_suspended_cron_job_and_one_with_a_job_make_nothing() -> None:
    assert pods(cron_job(suspend=True)) == []
    run = job("nightly-29000000")
    run["metadata"]["ownerReferences"] = [{"kind": "CronJob", "name": "nightly", "controller": True}]
    assert {owner_of(pod)[1] for pod in pods(cron_job(), run)} == {"nightly-29000000"}


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
        (workload("Deployment", selector={"matchLabels": {"app": "other"}}), "spec.selector"),
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
