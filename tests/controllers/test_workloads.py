"""Pods of replica sets, stateful sets and jobs: one test for each rule of a controller."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from schedframe.api import (
    CONTROLLER_KINDS,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    compile_label_selector,
    from_manifest,
    to_manifest,
)
from schedframe.controllers.names import ALPHABET, generated_names
from schedframe.controllers.workloads import Expander

from .workload_manifests import APP, cron_job, job, made, owner_of, pods, template, workload

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
    _, replica_set, *found = made(workload("Deployment", replicas=2))
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
        made(workload("Deployment", template=template(nodeSelector={"disk": disk})))[1] for disk in "ab"
    )
    assert one.name != other.name


def test_a_paused_deployment_makes_nothing() -> None:
    assert [obj.KIND for obj in made(workload("Deployment", paused=True))] == ["Deployment"]


def test_a_deployment_leaves_the_pods_to_a_replica_set_that_is_there() -> None:
    _, replica_set, *_ = made(workload("Deployment", replicas=2))
    old = to_manifest(replica_set)
    old["spec"] = {**old["spec"], "replicas": 1}
    (pod,) = pods(workload("Deployment", replicas=2), old)
    assert owner_of(pod)[1] == replica_set.name


def test_a_deployment_with_pods_is_left_alone_even_without_its_replica_set() -> None:
    _, _, *running = made(workload("Deployment", replicas=2))
    (left,) = made(workload("Deployment", replicas=2), among=running)
    assert left.KIND == "Deployment"


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


def test_a_cron_job_runs_once() -> None:
    found = pods(cron_job())
    assert {owner_of(pod)[:2] for pod in found} == {("Job", "nightly-1")}
    assert len(found) == 2


def test_a_suspended_cron_job_and_one_with_a_job_make_nothing() -> None:
    assert pods(cron_job(suspend=True)) == []
    run = job("nightly-29000000")
    run["metadata"]["ownerReferences"] = [{"kind": "CronJob", "name": "nightly", "controller": True}]
    assert {owner_of(pod)[1] for pod in pods(cron_job(), run)} == {"nightly-29000000"}


# ---- names that are still to be generated -------------------------------------------------------------


def unnamed(kind: str, **spec: Any) -> dict[str, Any]:
    manifest = workload(kind, **spec)
    return manifest | {"metadata": {"generateName": "run-"}}


@pytest.mark.parametrize("kind", ["ReplicaSet", "Deployment", "StatefulSet", "Job"])
def test_workloads_with_one_generate_name_are_two(kind: str) -> None:
    manifest = unnamed(kind) if kind != "Job" else job() | {"metadata": {"generateName": "run-"}}
    found = [from_manifest(each, kinds=CONTROLLER_KINDS) for each in (manifest, manifest)]
    expander = Expander.among(found)
    made = [pod for each in found for pod in expander.expand(each) if isinstance(pod, Pod)]
    assert [each.pods for each in expander.made] == [1, 1]
    owners = {each.key for each in expander.made}
    assert len(owners) == len({pod.name for pod in made}) == 2
    for pod in made:
        assert pod.name.startswith("run-")
        assert "--" not in pod.name


def test_generated_names_leave_out_those_that_are_there() -> None:
    (first,) = (from_manifest(unnamed("ReplicaSet")),)
    named, _ = Expander.among([first]).expand(first)
    other, _ = Expander.among([named, first]).expand(first)
    assert named.name != other.name


@pytest.mark.parametrize("kind", ["Pod", "PersistentVolumeClaim", "Node", "Namespace"])
def test_objects_of_any_kind_get_a_name_of_their_own(kind: str) -> None:
    obj = from_manifest({"kind": kind, "metadata": {"generateName": "x-"}})
    expander = Expander.among([obj, obj])
    names = [each.name for _ in range(2) for each in expander.expand(obj)]
    assert len(set(names)) == 2
    again = Expander.among([obj, *(evolve(obj, metadata=evolve(obj.metadata, name=n)) for n in names)])
    assert again.expand(obj)[0].name not in names


def test_generated_names_do_not_depend_on_the_order() -> None:
    found = [from_manifest(unnamed("ReplicaSet", replicas=n)) for n in (1, 2)]
    forward, backward = Expander.among(found), Expander.among(found)
    names = {obj.spec.replicas: forward.expand(obj)[0].name for obj in found}
    assert names == {obj.spec.replicas: backward.expand(obj)[0].name for obj in reversed(found)}
