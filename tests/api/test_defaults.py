from __future__ import annotations

from typing import Any

from schedframe.api import Pod, from_manifest, with_default_requests


def pod(container: dict[str, Any], **spec: Any) -> Pod:
    resources = {"name": "c", "resources": container}
    made = from_manifest(
        {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [resources], **spec}}
    )
    assert isinstance(made, Pod)
    return made


def test_containers_request_what_they_are_limited_to() -> None:
    limited = pod({"limits": {"cpu": "2", "memory": "1"}, "requests": {"cpu": "1"}})
    assert with_default_requests(limited).requests == {"cpu": 1000, "memory": 1}
    assert limited.requests == {"cpu": 1000}


def test_init_containers_do_too() -> None:
    init = {"name": "i", "resources": {"limits": {"cpu": "2"}}}
    assert with_default_requests(pod({}, initContainers=[init])).requests == {"cpu": 2000}


def test_a_pod_that_says_everything_stays_the_same_object() -> None:
    for complete in (
        pod({}),
        pod({"requests": {"cpu": "1"}}),
        pod({"limits": {"cpu": "1"}, "requests": {"cpu": "0"}}),
    ):
        assert with_default_requests(complete) is complete


def test_the_pod_as_a_whole_requests_the_sum_or_else_its_limit() -> None:
    limits = {"limits": {"cpu": "5", "memory": "7", "hugepages-2Mi": "2Mi"}}
    whole = with_default_requests(pod({"requests": {"cpu": "1"}}, resources=limits))
    assert whole.requests == {"cpu": 1000, "memory": 7, "hugepages-2Mi": 2 * 2**20}
    said = with_default_requests(pod({"requests": {"cpu": "1"}}, resources={"requests": {"cpu": "2"}}))
    assert said.requests == {"cpu": 2000}


def test_it_is_done_only_once() -> None:
    once = with_default_requests(pod({"limits": {"cpu": "2"}}, resources={"limits": {"memory": "7"}}))
    assert with_default_requests(once) is once
