"""Pods as a whole: what they ask for, templates, and what a cluster has written."""

from __future__ import annotations

from typing import Any

import pytest

from .pods import asking, container, deployment, one, paths, pod, refusals

GPU = "example.com/gpu"


def whole(requests: Any, limits: Any = None, containers: Any = None) -> Any:
    return pod(
        resources={"requests": requests, "limits": limits or {}},
        containers=containers or [container(resources={"requests": {"cpu": "1", "memory": "1Gi"}})],
    )


LIMITED = [container(resources={"limits": {"cpu": "2", "hugepages-2Mi": "4Mi"}})]
SIDE = container("s", resources={"requests": {"cpu": "1"}}, restartPolicy="Always")
LARGE = container("l", resources={"requests": {"cpu": "3"}})


@pytest.mark.parametrize(
    ("manifest", "refused"),
    [
        (whole({"cpu": "999m"}), ["resources.requests.cpu"]),
        (whole({"cpu": "4"}, {"cpu": "3"}), ["resources.requests.cpu"]),
        (whole({"cpu": "1"}, None, LIMITED), ["resources.requests.cpu"]),
        # the request of the pod is that of its containers, and above its limit
        (whole({}, {"cpu": "500m"}), ["resources.requests.cpu"]),
        (
            whole({}, {"cpu": "1"}, LIMITED),
            ["resources.containers[0].cpu.limits", "resources.requests.cpu"],
        ),
        (
            whole({"cpu": "2", "hugepages-2Mi": "2Mi"}, {"hugepages-2Mi": "2Mi"}, LIMITED),
            [
                "resources.containers[0].hugepages-2Mi.limits",
                "resources.limits.hugepages-2Mi",
                "resources.requests.hugepages-2Mi",
            ],
        ),
        (
            whole({GPU: "1"}),
            [f'resources.limits["{GPU}"]', f'resources.requests["{GPU}"]'],
        ),
        (whole({"ephemeral-storage": "1"}), ["resources.requests.ephemeral-storage"]),
        (
            pod(resources={"requests": {"cpu": "3"}}, initContainers=[SIDE, LARGE]),
            ["resources.requests.cpu"],
        ),
    ],
)
def test_a_pod_asks_for_no_less_than_its_containers(manifest: Any, refused: list[str]) -> None:
    assert paths(manifest) == refused


@pytest.mark.parametrize(
    "manifest",
    [
        whole({"cpu": "1"}),
        whole({"cpu": "1000m", "memory": "2Gi"}, {"cpu": "2"}),
        whole({"cpu": "2"}, None, LIMITED),
        pod(resources={"requests": {"cpu": "4"}}, initContainers=[SIDE, LARGE]),
        pod(resources={"requests": {"cpu": "3"}}, initContainers=[LARGE, SIDE]),
        pod(resources={"limits": {"cpu": "1"}}),
    ],
)
def test_a_pod_that_asks_for_enough_is_taken(manifest: Any) -> None:
    assert paths(manifest) == []


def test_a_template_is_validated_without_the_defaults_of_pods() -> None:
    limited = whole({"cpu": "1"}, None, [container(resources={"limits": {"cpu": "2"}})])
    ports = [container(n, ports=[{"containerPort": 80}]) for n in ("a", "b")]
    on_node = pod(containers=ports, hostNetwork=True)
    assert paths(limited)
    assert paths(on_node)
    assert paths(deployment(limited)) == paths(deployment(on_node)) == []


def test_templates_are_refused_for_what_pods_are_refused_for() -> None:
    for manifest in (
        one(volumeMounts=[{"name": "x", "mountPath": "/x"}]),
        asking({"cpu": "2"}, {"cpu": "1"}),
        pod(containers=[container(), container()]),
    ):
        assert paths(manifest) == paths(deployment(manifest)) != []
    alone = asking({"hugepages-2Mi": "2Mi"}, {"hugepages-2Mi": "2Mi"})
    assert paths(deployment(alone)) == ["containers[0].resources"]


DUMPED = {"uid": "u-1", "resourceVersion": "17"}


def test_what_a_cluster_has_written_is_checked_field_by_field_only() -> None:
    def wrong(metadata: Any) -> Any:
        gates = [{"name": "a"}]
        return pod(metadata, nodeName="n", schedulingGates=gates, containers=[container(), container()])

    assert paths(wrong(DUMPED)) == []
    for partial in ({"uid": "u-1"}, {"resourceVersion": "17"}, {"uid": "", "resourceVersion": ""}):
        assert paths(wrong(partial)) == ["containers[1].name", "nodeName"]


def test_types_and_unknown_fields_count_in_what_a_cluster_has_written() -> None:
    assert paths(pod(DUMPED, nodname="n")) == ["nodname"]
    assert paths(pod(DUMPED, tolerations=[{"key": 5}])) == ["tolerations[0].key"]
    assert paths(pod(DUMPED, restartPolicy="Sometimes")) == ["restartPolicy"]


def test_what_follows_from_a_misspelt_field_is_not_reported() -> None:
    misspelt = pod(tolerations=[{"key": "a", "efect": "NoExecute", "tolerationSeconds": 5}])
    assert [error.path for error in refusals(misspelt)] == ["spec.tolerations[0].efect"]
