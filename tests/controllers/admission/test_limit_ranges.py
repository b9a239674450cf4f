"""LimitRanger: default amounts of containers, and bounds for containers, pods and claims."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import ResourceRequirements
from schedframe.controllers.admission import AdmissionPart, AdmissionRefused

from .made import admission, admit, admitted_pod, claim, container, decoded, limit_range, pod

ANNOTATION = "kubernetes.io/limit-ranger"


def amounts(resources: ResourceRequirements) -> tuple[dict[str, str], dict[str, str]]:
    requests = {name: str(amount) for name, amount in resources.requests.items()}
    return requests, {name: str(amount) for name, amount in resources.limits.items()}


@pytest.mark.parametrize(
    ("item", "requests", "limits"),
    [
        ({"default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}, {"cpu": "1"}, {"cpu": "2"}),
        ({"default": {"cpu": "2"}}, {"cpu": "2"}, {"cpu": "2"}),
        ({"defaultRequest": {"cpu": "1"}}, {"cpu": "1"}, {}),
        ({"max": {"cpu": "4"}}, {"cpu": "4"}, {"cpu": "4"}),
        ({"max": {"cpu": "4"}, "default": {"cpu": "2"}}, {"cpu": "2"}, {"cpu": "2"}),
        ({"min": {"cpu": "1"}}, {"cpu": "1"}, {}),
        ({"min": {"cpu": "1"}, "max": {"cpu": "4"}}, {"cpu": "4"}, {"cpu": "4"}),
        ({"type": "Pod", "max": {}, "default": {"cpu": "2"}}, {}, {}),
    ],
)
def test_containers_without_amounts_get_those_of_the_item(
    item: dict[str, Any], requests: dict[str, str], limits: dict[str, str]
) -> None:
    init = [{"name": "i"}]
    spec = admitted_pod(pod(initContainers=init), limit_range(item)).spec
    assert amounts(spec.containers[0].resources) == (requests, limits)
    assert amounts(spec.init_containers[0].resources) == (requests, limits)


def test_given_amounts_stay() -> None:
    bounds = limit_range({"default": {"cpu": "2", "memory": "1Gi"}, "defaultRequest": {"cpu": "1"}})
    spec = admitted_pod(pod(container({"cpu": "3"}, {"cpu": "4"})), bounds).spec
    assert amounts(spec.containers[0].resources) == (
        {"cpu": "3", "memory": "1Gi"},
        {"cpu": "4", "memory": "1Gi"},
    )


def test_what_was_given_stands_in_an_annotation() -> None:
    bounds = limit_range({"default": {"memory": "1Gi", "cpu": "1"}})
    found = admitted_pod(pod(container({"cpu": "1"}), {}), bounds)
    assert found.metadata.annotations[ANNOTATION] == (
        "LimitRanger plugin set: memory request for container c0; cpu, memory limit for container c0; "
        "cpu, memory request for container c1; cpu, memory limit for container c1"
    )
    assert ANNOTATION not in admitted_pod(pod(), limit_range({})).metadata.annotations


def test_of_several_limit_ranges_the_first_by_name_gives_the_default() -> None:
    ranges = [limit_range({"default": {"cpu": cpu}}, name=name) for name, cpu in (("b", "2"), ("a", "1"))]
    assert admitted_pod(pod(), *ranges).requests == {"cpu": 1000}


def test_other_namespaces_are_not_concerned() -> None:
    elsewhere = limit_range({"default": {"cpu": "1"}, "max": {"cpu": "1"}}, namespace="elsewhere")
    assert admitted_pod(pod(container({"cpu": "9"})), elsewhere).requests == {"cpu": 9000}


@pytest.mark.parametrize(
    ("item", "given", "path"),
    [
        ({"min": {"cpu": "2"}}, container({"cpu": "1"}), "requests.cpu"),
        ({"max": {"cpu": "2"}}, container({"cpu": "1"}, {"cpu": "3"}), "limits.cpu"),
        ({"max": {"cpu": "2"}}, container({"cpu": "3"}, {"cpu": "1"}), "requests.cpu"),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, container({"cpu": "1"}, {"cpu": "2001m"}), "limits.cpu"),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, container({"cpu": "1"}), "limits.cpu"),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, container({"cpu": "0"}, {"cpu": "1"}), "requests.cpu"),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, container(), "requests.cpu"),
        ({"max": {"memory": "1Gi"}}, container({}, {"memory": f"{2**40 + 1}Mi"}), "limits.memory"),
    ],
)
def test_containers_out_of_bounds_are_refused(item: dict[str, Any], given: dict[str, Any], path: str) -> None:
    for place, spec in (("containers[0]", pod(given)), ("initContainers[0]", pod(initContainers=[given]))):
        bounds = limit_range({**item, "defaultRequest": item.get("min", {})})
        init = [{"name": "i", **each} for each in spec["spec"].get("initContainers", ())]
        containers = spec["spec"]["containers"] if not init else [{"name": "c", **container(*FITTING)}]
        spec["spec"] = {"containers": containers, "initContainers": init}
        with pytest.raises(AdmissionRefused) as refused:
            admit(spec, bounds)
        assert refused.value.path == f"spec.{place}.resources.{path}"
        assert refused.value.part is AdmissionPart.LIMIT_RANGER
        assert "by LimitRange default/limits" in refused.value.problem
        assert refused.value.fix


FITTING = ({"cpu": "2", "memory": "1"}, {"cpu": "2", "memory": "1"})


@pytest.mark.parametrize("ratio", ["2", "2000m", "2.5"])
def test_the_ratio_itself_is_allowed(ratio: str) -> None:
    bounds = limit_range({"maxLimitRequestRatio": {"cpu": ratio}})
    assert admitted_pod(pod(container({"cpu": "1"}, {"cpu": "2"})), bounds).requests == {"cpu": 1000}


def test_pods_are_bounded_by_their_sums_or_what_they_say_as_a_whole() -> None:
    bounds = limit_range({"type": "Pod", "max": {"cpu": "3"}})
    two = container({"cpu": "1"}, {"cpu": "2"})
    assert admitted_pod(pod(two), bounds).requests == {"cpu": 1000}
    with pytest.raises(AdmissionRefused, match="the limit 4 is above 3, the maximum per Pod"):
        admit(pod(two, two), bounds)
    with pytest.raises(AdmissionRefused, match="there is no limit, and 3 is the maximum per Pod"):
        admit(pod(container({"cpu": "1"})), bounds)
    whole = {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}
    assert admitted_pod(pod(two, two, resources=whole), bounds).requests == {"cpu": 2000}


def test_sidecars_count_beside_the_containers_and_other_init_containers_by_their_peak() -> None:
    bounds = limit_range({"type": "Pod", "max": {"cpu": "3"}})
    one, three = container({"cpu": "1"}, {"cpu": "1"}), container({"cpu": "3"}, {"cpu": "3"})
    sidecar = {"name": "s", "restartPolicy": "Always", **one}
    peak = {"name": "i", **three}
    assert admitted_pod(pod(one, initContainers=[peak]), bounds).requests == {"cpu": 3000}
    assert admitted_pod(pod(one, one, initContainers=[sidecar]), bounds).requests == {"cpu": 3000}
    with pytest.raises(AdmissionRefused, match="the limit 4 is above 3"):
        admit(pod(one, initContainers=[sidecar, peak]), bounds)


def test_sums_are_written_like_the_bound() -> None:
    one = container({}, {"memory": "1Gi"})
    with pytest.raises(AdmissionRefused, match="the limit 2Gi is above 1536Mi"):
        admit(pod(one, one), limit_range({"type": "Pod", "max": {"memory": "1.5Gi"}}))
    with pytest.raises(AdmissionRefused, match="the request 2Gi is below 3Gi"):
        admit(pod(one, one), limit_range({"type": "Pod", "min": {"memory": "3Gi"}}))


@pytest.mark.parametrize(("storage", "problem"), [("512Mi", "below 1Gi"), ("21Gi", "above 20Gi")])
def test_claims_are_bounded(storage: str, problem: str) -> None:
    item = {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "20Gi"}}
    assert admit(claim("20Gi"), limit_range(item)).object.name == "c"
    with pytest.raises(AdmissionRefused, match=problem):
        admit(claim(storage), limit_range(item))


@pytest.mark.parametrize(
    ("item", "spec", "path", "problem"),
    [
        (
            {"default": {"cpu": "1"}},
            {"requests": {"cpu": "2"}},
            "containers[0].resources.requests.cpu",
            "the request of 2 is above the limit of 1",
        ),
        (
            {"defaultRequest": {"memory": "2Gi"}},
            {"limits": {"cpu": "1"}},
            "resources.requests.memory",
            "1Gi is below 2Gi, the sum of the containers",
        ),
        (
            {"default": {"memory": "2Gi"}, "defaultRequest": {"memory": "1Mi"}},
            {"limits": {"cpu": "1"}},
            "resources.containers[0].memory.limits",
            "the limit of 2Gi is above that of the pod, 1Gi",
        ),
        (
            {"defaultRequest": {"example.com/gpu": "1"}},
            {},
            'containers[0].resources.limits["example.com/gpu"]',
            "there is no limit for example.com/gpu",
        ),
        (
            {"default": {"example.com/gpu": "2"}, "defaultRequest": {"example.com/gpu": "1"}},
            {},
            'containers[0].resources.requests["example.com/gpu"]',
            "the request of 1 differs from the limit of 2",
        ),
    ],
)
def test_defaults_that_contradict_what_the_pod_has_are_refused(
    item: dict[str, Any], spec: dict[str, Any], path: str, problem: str
) -> None:
    whole = {"limits": {"memory": "1Gi"}}
    with pytest.raises(AdmissionRefused) as refused:
        admit(pod(container(**spec), resources=whole), limit_range(item))
    assert refused.value.path == f"spec.{path}"
    assert problem in refused.value.problem


def test_huge_pages_need_cpu_or_memory_which_a_default_may_give() -> None:
    huge = {"hugepages-2Mi": "4Mi"}
    with pytest.raises(AdmissionRefused) as refused:
        admit(pod(container(huge, huge)))
    assert refused.value.path == "spec.containers[0].resources"
    found = admitted_pod(pod(container(huge, huge)), limit_range({"defaultRequest": {"cpu": "1"}}))
    assert found.requests == {"cpu": 1000, "hugepages-2Mi": 4 * 2**20}
    assert admitted_pod(pod(container(huge, huge)), without=["LimitRanger"]).requests == {
        "hugepages-2Mi": 4 * 2**20
    }


def test_all_that_is_out_of_bounds_is_named() -> None:
    bounds = limit_range({"max": {"cpu": "1", "memory": "1Gi"}})
    with pytest.raises(AdmissionRefused) as refused:
        admit(pod(container({}, {"cpu": "2", "memory": "2Gi"})), bounds)
    paths = [error.path.partition("resources.")[2] for error in refused.value.errors]
    assert paths == ["limits.cpu", "limits.memory"]
    assert str(refused.value).count("\n") == 1


def test_it_can_be_switched_off() -> None:
    bounds = limit_range({"default": {"cpu": "1"}, "max": {"cpu": "1"}})
    assert admitted_pod(pod(container({"cpu": "9"})), bounds, without=["LimitRanger"]).requests == {
        "cpu": 9000
    }
    item = {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}
    assert admit(claim("2Gi"), limit_range(item), without=["LimitRanger"]).object.name == "c"


def test_the_deed_is_counted() -> None:
    admitting = admission(limit_range({"default": {"cpu": "2"}}, {"defaultRequest": {"memory": "1Gi"}}))
    for name in ("a", "b"):
        admitting.admit(decoded(pod(container({"memory": "1"}), name=name)))
    assert admitting.lines() == ["LimitRanger: requests and limits by LimitRange default/limits (2 pods)"]
