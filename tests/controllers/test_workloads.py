"""Pods of replica sets, stateful sets and jobs: one test for each rule of a controller."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import (
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    compile_label_selector,
    from_manifest,
    to_manifest,
)
from schedframe.controllers.workloads.names import ALPHABET, generated_names

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
