"""Reasons: the causes that plugins name, and names that may be meant."""

from __future__ import annotations

from schedframe import explain

from .manifests import node, pod


def test_a_reason_has_the_cause_that_the_plugin_names() -> None:
    port = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}]
    web = pod("web", on="n", containers=port)
    (reason,) = explain([node("n"), web], pod("p", containers=port)).reasons
    assert reason.numbers == "8080/TCP is taken by default/web on n"
    others = [pod(f"web-{name}", on=name, containers=port) for name in ("a", "b")]
    (reason,) = explain([node("b"), node("a"), *others], pod("p", containers=port)).reasons
    assert (reason.nodes, reason.numbers) == (2, "8080/TCP is taken by default/web-a on a (so on a)")


def test_a_rejection_of_the_pod_as_a_whole_has_a_cause() -> None:
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"storageClassName": "fats", "resources": {"requests": {"storage": "1Gi"}}},
    }
    known = {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disks.example.com"}
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    (reason,) = explain([node("n"), claim, known], pod("p", volumes=[volume]), changes=0).reasons
    assert reason.numbers == (
        "claim data (1Gi, class fats): there is no storage class fats; did you mean fast?"
    )


def test_a_resource_that_no_node_has_is_compared_with_those_that_nodes_have() -> None:
    gpu = node("n")
    gpu["status"]["allocatable"]["nvidia.com/gpu"] = "2"
    container = {"name": "c", "resources": {"requests": {"nvidia.com/gpus": "1"}}}
    (reason,) = explain([gpu], pod("p", containers=[container]), changes=0).reasons
    assert reason.remark == "no node has nvidia.com/gpus; did you mean nvidia.com/gpu?"
    container["resources"]["requests"] = {"example.com/fpga": "1"}
    (reason,) = explain([gpu], pod("p", containers=[container]), changes=0).reasons
    assert reason.remark == "no node has example.com/fpga"


def test_what_a_plugin_says_of_the_pod_is_shown_if_it_rejects_it() -> None:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "namespaceSelector": {"matchLabels": {"team": "a"}},
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = explain([node("n")], pod("p", affinity=affinity), changes=0)
    (line,) = found.findings["InterPodAffinity"]
    assert f"known:\n  InterPodAffinity: {line}" in str(found)
    assert found.to_dict()["findings"] == {"InterPodAffinity": [line]}
    fits = explain([node("n")], pod("p"))
    assert (fits.findings, "known:" in str(fits)) == ({}, False)


def test_an_overhead_that_counts_twice_is_said() -> None:
    big = pod("big", on="n", overhead={"cpu": "500m"}, resources={"requests": {"cpu": "2"}})
    resized = {"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "2500m"}}
    line = "as in kube-scheduler v1.36, the overhead of default/big counts twice"
    (near,) = explain([node("n"), {**big, "status": resized}], pod("p", "1500m"), changes=0).nearest
    assert near.obstacles[0].remark == line
    assert f"(needs 1.5 cpu, 1 free; {line})" in str(near.obstacles[0])
    (near,) = explain([node("n"), big], pod("p", "2"), changes=0).nearest
    assert near.obstacles[0].remark == ""
