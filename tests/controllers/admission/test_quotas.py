"""ResourceQuota: notes about pods and claims that a quota of their namespace would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from .made import admission, claim, container, decoded, pod, quota

CPU = container({"cpu": "2"}, {"cpu": "3"})


def noted(*manifests: dict[str, Any], quotas: list[dict[str, Any]], **options: Any) -> list[str]:
    """The notes on each object, in the order in which they are admitted."""
    admitting = admission(*quotas, **options)
    return [note for each in manifests for note in admitting.admit(decoded(each)).notes]


def pods(count: int, *containers: dict[str, Any], **spec: Any) -> list[dict[str, Any]]:
    return [pod(*containers, name=f"p{place}", **spec) for place in range(count)]


@pytest.mark.parametrize(
    ("hard", "exceeded"),
    [
        ({"pods": "1"}, "pods used 1 + 1 > 1"),
        ({"count/pods": "1"}, "count/pods used 1 + 1 > 1"),
        ({"cpu": "3"}, "cpu used 2 + 2 > 3"),
        ({"requests.cpu": "3"}, "requests.cpu used 2 + 2 > 3"),
        ({"limits.cpu": "5"}, "limits.cpu used 3 + 3 > 5"),
        ({"requests.cpu": "4", "limits.cpu": "6"}, ""),
        ({"configmaps": "0"}, ""),
        ({"persistentvolumeclaims": "0"}, ""),
    ],
)
def test_what_two_pods_use_is_compared_with_what_is_allowed(hard: dict[str, str], exceeded: str) -> None:
    expected = [f"would be refused by ResourceQuota default/q: {exceeded}"] if exceeded else []
    assert noted(*pods(2, CPU), quotas=[quota(hard)]) == expected


def test_extended_resources_and_huge_pages_count_as_requests() -> None:
    amounts = {"example.com/gpu": "1", "hugepages-2Mi": "4Mi", "memory": "1Gi"}
    given = pods(1, container(amounts, amounts))
    for name in ("requests.example.com/gpu", "requests.hugepages-2Mi", "hugepages-2Mi"):
        (note,) = noted(*given, quotas=[quota({name: "0"})])
        assert f"{name} used 0 + " in note
    assert noted(*given, quotas=[quota({"example.com/gpu": "0"})]) == []


def test_the_overhead_of_a_pod_counts() -> None:
    kata = {
        "kind": "RuntimeClass",
        "apiVersion": "node.k8s.io/v1",
        "metadata": {"name": "kata"},
        "handler": "h",
    }
    kata["overhead"] = {"podFixed": {"cpu": "1"}}
    given = pods(1, CPU, runtimeClassName="kata")
    assert noted(*given, quotas=[kata, quota({"requests.cpu": "3", "limits.cpu": "4"})]) == []
    (note,) = noted(*given, quotas=[kata, quota({"requests.cpu": "2", "limits.cpu": "3"})])
    assert note.endswith("requests.cpu used 0 + 3 > 2; limits.cpu used 0 + 4 > 3")


def test_containers_must_name_cpu_and_memory_that_a_quota_limits() -> None:
    hard = quota({"requests.cpu": "9", "limits.memory": "9Gi", "requests.ephemeral-storage": "1"})
    (note,) = noted(*pods(1, CPU, container()), quotas=[hard])
    assert note.endswith("containers must name limits.memory for c0, c1; requests.cpu for c1")
    whole = {"requests": {"cpu": "2"}, "limits": {"memory": "1Gi"}}
    assert noted(*pods(1, container(), resources=whole), quotas=[hard]) == []


def test_claims_count_by_number_storage_and_class() -> None:
    given = [claim("2Gi", name=name, storageClassName="gold") for name in "ab"]
    for name, hard, used in (
        ("persistentvolumeclaims", "1", "1 + 1 > 1"),
        ("requests.storage", "3Gi", "2Gi + 2Gi > 3Gi"),
        ("gold.storageclass.storage.k8s.io/requests.storage", "3Gi", "2Gi + 2Gi > 3Gi"),
        ("gold.storageclass.storage.k8s.io/persistentvolumeclaims", "1", "1 + 1 > 1"),
    ):
        (note,) = noted(*given, quotas=[quota({name: hard})])
        assert note.endswith(f"{name} used {used}")
    assert noted(*given, quotas=[quota({"tin.storageclass.storage.k8s.io/requests.storage": "0"})]) == []


TERM = {"topologyKey": "zone", "namespaces": ["other"]}
FAR = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}


@pytest.mark.parametrize(
    ("scope", "spec", "is_meant"),
    [
        ("BestEffort", {}, True),
        ("NotBestEffort", {}, False),
        ("BestEffort", {"resources": {"requests": {"cpu": "1"}}}, False),
        ("Terminating", {"activeDeadlineSeconds": 5}, True),
        ("Terminating", {}, False),
        ("NotTerminating", {}, True),
        ("PriorityClass", {"priorityClassName": "system-node-critical"}, True),
        ("PriorityClass", {}, False),
        ("CrossNamespacePodAffinity", {"affinity": FAR}, True),
        ("CrossNamespacePodAffinity", {}, False),
        ("VolumeAttributesClass", {}, False),
    ],
)
def test_a_quota_with_a_scope_concerns_the_pods_in_it(
    scope: str, spec: dict[str, Any], is_meant: bool
) -> None:
    assert bool(noted(pod(**spec), quotas=[quota({"pods": "0"}, scopes=[scope])])) is is_meant


@pytest.mark.parametrize(
    ("operator", "values", "is_meant"),
    [
        ("In", ["gold"], True),
        ("In", ["tin"], False),
        ("NotIn", ["gold"], False),
        ("NotIn", ["tin"], True),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ],
)
def test_a_scope_selects_classes_by_name(operator: str, values: list[str], is_meant: bool) -> None:
    gold = {"kind": "PriorityClass", "metadata": {"name": "gold"}, "value": 1}
    for name, spec in (("PriorityClass", pod(priorityClassName="gold")), ("VolumeAttributesClass", claim())):
        spec["spec"].update({"volumeAttributesClassName": "gold"} if spec["kind"] != "Pod" else {})
        expressions = [{"scopeName": name, "operator": operator, "values": values}]
        hard = quota(
            {"pods": "0", "persistentvolumeclaims": "0"}, scopeSelector={"matchExpressions": expressions}
        )
        assert bool(noted(spec, quotas=[gold, hard])) is is_meant


def test_pods_that_a_cluster_has_are_used_already() -> None:
    running = pod(CPU, name="running", nodeName="a")
    running["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    ended = {**pod(CPU, name="ended"), "status": {"phase": "Succeeded"}}
    ended["metadata"] |= {"uid": "v", "resourceVersion": "8"}
    assert len(noted(*pods(1, CPU), quotas=[quota({"pods": "1"}), running, ended])) == 1
    assert noted(*pods(1, CPU), quotas=[quota({"pods": "2"}), running, ended]) == []


def test_a_quota_of_a_cluster_knows_what_is_used() -> None:
    running = pod(CPU, name="running", nodeName="a")
    running["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    status = {"hard": {"pods": "3"}, "used": {"pods": "2"}}
    served = quota({"pods": "9"}, status=status)
    (note,) = noted(*pods(2, CPU), quotas=[served, running])
    assert note.endswith("pods used 3 + 1 > 3")


def test_a_pod_that_would_be_refused_does_not_count_and_none_counts_twice() -> None:
    large, small = pod(container({"cpu": "9"}), name="large"), pod(container({"cpu": "1"}), name="small")
    notes = noted(large, small, small, quotas=[quota({"requests.cpu": "1"})])
    assert len(notes) == 1


def test_each_quota_and_reason_is_counted() -> None:
    admitting = admission(quota({"pods": "1"}), quota({"limits.memory": "1"}, name="r"))
    for manifest in pods(3, CPU):
        admitting.admit(decoded(manifest))
    assert admitting.lines() == [
        "ResourceQuota: would be refused by ResourceQuota default/r: "
        "containers without amounts that it limits (3 pods)"
    ]


def test_it_can_be_switched_off() -> None:
    assert noted(*pods(2, CPU), quotas=[quota({"pods": "0"})], without=["ResourceQuota"]) == []
