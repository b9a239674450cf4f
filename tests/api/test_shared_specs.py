"""Pods of one template share one spec; copies of pods share what they can."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import InputError, Pod
from schedframe.api import (
    Container,
    ContainerStatus,
    ObjectMeta,
    PodCondition,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    from_manifest,
    parse_quantity,
    to_manifest,
)
from schedframe.api.codec import sharing


def pod(name: str, **spec: Any) -> Pod:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]
    found = from_manifest(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": containers, **spec},
        }
    )
    assert isinstance(found, Pod)
    return found


def test_pods_of_one_template_share_a_spec() -> None:
    assert pod("a").spec is pod("b").spec
    assert pod("a").spec is not pod("b", priority=1).spec


def test_and_what_is_derived_from_it_wherever_they_run() -> None:
    pending, placed, elsewhere = pod("a"), pod("b", nodeName="n1"), pod("c", nodeName="n2")
    assert (placed.spec.node_name, elsewhere.spec.node_name) == ("n1", "n2")
    assert placed.spec.memo is pending.spec.memo is elsewhere.spec.memo
    assert to_manifest(placed)["spec"]["nodeName"] == "n1"
    assert "nodeName" not in to_manifest(pending)["spec"]


def test_a_wrong_spec_is_refused_every_time() -> None:
    for _ in range(2):
        with pytest.raises(InputError, match=r"spec\.priority"):
            pod("a", priority="high")
        with pytest.raises(InputError, match=r"spec\.nodeName"):
            pod("a", nodeName=3)


def resized(name: str) -> Pod:
    requests = {"cpu": parse_quantity("1")}
    actual = ResourceRequirements(requests={"cpu": parse_quantity("2")})
    return Pod(
        ObjectMeta(name=name, labels={"a": "b"}),
        PodSpec(containers=(Container(name="c", resources=ResourceRequirements(requests=requests)),)),
        PodStatus(container_statuses=(ContainerStatus(name="c", resources=actual),)),
    )


@pytest.mark.parametrize("make", [pod, resized])
def test_a_bound_copy_is_the_pod_on_its_node_in_another_version(make: Any) -> None:
    before = make("a")
    before.requests  # noqa: B018 - worked out while it has no node
    placed = before.with_node_name("n1")
    bound = before.bound_as(placed, "7")
    assert bound.spec is placed.spec
    assert bound.metadata.resource_version == "7"
    assert bound == before.with_node_name("n1").with_resource_version("7")
    assert bound.requests == Pod(bound.metadata, bound.spec, bound.status).requests
    assert (bound.key, bound.labels, bound.uid) == (before.key, before.labels, before.uid)


def test_a_bound_copy_takes_only_the_node_of_a_pod_with_another_spec() -> None:
    other = pod("a", priority=3).with_node_name("n1")
    bound = pod("a").bound_as(other, "7")
    assert (bound.spec.node_name, bound.priority, bound.spec.priority) == ("n1", 0, None)


def test_a_restated_copy_has_the_new_status_and_what_follows_from_it() -> None:
    before = resized("a").with_node_name("n1")
    assert before.requests == {"cpu": 2000}
    condition = PodCondition("PodScheduled", "False")
    after = before.restated(PodStatus(conditions=(condition,)), "9")
    assert (after.status.condition("PodScheduled"), after.metadata.resource_version) == (condition, "9")
    assert after.requests == {"cpu": 1000}
    assert before.requests == {"cpu": 2000}


def test_statuses_are_alike_but_for_what_schedulers_write() -> None:
    status = PodStatus(phase="Pending")
    written = status.with_nomination("n1").with_conditions((PodCondition("PodScheduled", "False").at(3.0),))
    assert (written.nominated_node_name, written.conditions[0].last_transition_time) == ("n1", 3.0)
    assert status.is_like(written)
    assert not status.is_like(PodStatus(phase="Running"))


def test_a_condition_without_its_times() -> None:
    condition = PodCondition("PodScheduled", "False", "Unschedulable", "no room", 3, 1.0, 2.0)
    assert condition.timeless() == PodCondition("PodScheduled", "False", "Unschedulable", "no room", 3)


def test_values_that_keep_coming_stay_shared_however_often_the_memo_is_full() -> None:
    shared = sharing(lambda value: [value], values=8)
    first = shared("often")
    for number in range(100):
        shared(f"once {number}")
        assert shared("often") is first
