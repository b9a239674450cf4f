"""Admission as a whole: order, switches, objects of a cluster, shared specs, refusals that do not raise."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from schedframe.api import Node, ObjectMeta, from_manifest
from schedframe.controllers.admission import DEEDS, Admission, AdmissionPart, AdmissionRefused
from schedframe.errors import InputError

from .made import (
    admission,
    admit,
    admitted_pod,
    claim,
    container,
    decoded,
    limit_range,
    pod,
    priority_class,
    quota,
    runtime_class,
    storage_class,
)

DEFAULT_CLASS = {"storageclass.kubernetes.io/is-default-class": "true"}
CLUSTER = (
    limit_range({"default": {"cpu": "1"}}, {"type": "Pod", "max": {"cpu": "3"}}),
    priority_class("standard", 3, globalDefault=True),
    runtime_class(overhead={"podFixed": {"cpu": "250m"}}),
    storage_class("fast", annotations=DEFAULT_CLASS),
    quota({"pods": "0"}),
)


def test_what_an_api_server_has_stored_stays_as_it_is() -> None:
    for manifest in (pod(priorityClassName="unknown", priority=4), claim()):
        manifest["metadata"] |= {"uid": "u", "resourceVersion": "7"}
        obj = decoded(manifest)
        admitted = admission(*CLUSTER).admit(obj)
        assert admitted.object is obj
        assert (admitted.changes, admitted.notes) == ((), ())


def test_a_uid_alone_does_not_make_an_object_of_a_cluster() -> None:
    manifest = claim()
    manifest["metadata"]["uid"] = "u"
    assert admit(manifest, *CLUSTER).object.spec.storage_class_name == "fast"


def test_a_pod_that_has_a_node_is_admitted_like_others() -> None:
    found = admitted_pod(pod(nodeName="a"), *CLUSTER)
    assert (found.node_name, found.priority, found.requests) == ("a", 3, {"cpu": 1000})


def test_objects_without_rules_stay_as_they_are() -> None:
    for obj in (Node(ObjectMeta("n")), decoded(limit_range({})), object(), None):
        assert admission(*CLUSTER).admit(obj).object is obj


def test_bounds_apply_to_what_was_filled_in() -> None:
    assert admitted_pod(pod({}, {}, {}), *CLUSTER).requests == {"cpu": 3000}
    with pytest.raises(AdmissionRefused, match="the limit 4 is above 3"):
        admit(pod({}, {}, {}, {}), *CLUSTER)


def test_pods_with_one_spec_share_what_becomes_of_it() -> None:
    admitting = admission(*CLUSTER)
    first, second, third = (
        admitting.admit(decoded(pod(name=name, **spec))).object
        for name, spec in (("a", {}), ("b", {}), ("c", {"nodeName": "n"}))
    )
    assert first.spec is second.spec
    assert third.spec.memo is first.spec.memo
    assert (third.node_name, third.requests) == ("n", {"cpu": 1000})
    assert third.metadata.annotations == second.metadata.annotations == first.metadata.annotations


def test_pods_with_one_spec_in_two_namespaces_and_clusters_do_not() -> None:
    manifest = pod()
    elsewhere = {**manifest, "metadata": {"name": "p", "namespace": "elsewhere"}}
    admitting = admission(*CLUSTER)
    assert [admitting.admit(decoded(each)).object.requests for each in (manifest, elsewhere, manifest)] == [
        {"cpu": 1000},
        {},
        {"cpu": 1000},
    ]
    assert admitted_pod(manifest).requests == {}


def test_all_parts_can_be_switched_off() -> None:
    assert tuple(DEEDS) == tuple(AdmissionPart)
    for manifest in (pod(container(limits={"cpu": "9"}), priority=4, runtimeClassName="x"), claim()):
        obj = decoded(manifest)
        admitted = admission(*CLUSTER, without=list(AdmissionPart)).admit(obj)
        assert admitted.object is obj
        assert (admitted.changes, admitted.notes) == ((), ())


def test_a_part_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match="no admission part 'Limits'; use Defaults, LimitRanger"):
        Admission.of((), without=["Limits"])
    assert admitted_pod(pod(), *CLUSTER, without="limitranger").requests == {}


def test_refusals_need_not_raise() -> None:
    broken: dict[str, Any] = pod(*(container(limits={"cpu": "2"}),) * 2, runtimeClassName="unknown")
    refusals: list[InputError] = []
    admitted = admission(*CLUSTER).admit(decoded(broken), strict=refusals.append)
    assert [error.path for error in refusals] == ["spec.runtimeClassName", "spec.resources.limits.cpu"]
    assert admitted.object.priority == 3
    assert admission(*CLUSTER).admit(decoded(broken), strict=False).object == admitted.object


def test_a_refusal_is_told_for_each_pod_with_the_spec() -> None:
    admitting = admission(*CLUSTER)
    for name in ("a", "b"):
        with pytest.raises(AdmissionRefused):
            admitting.admit(decoded(pod(name=name, priorityClassName="unknown")))


def test_priorities_without_a_class_can_stay() -> None:
    for spec in ({"priority": 7}, {"priority": 7, "priorityClassName": "unknown"}):
        found = admitted_pod(pod(**spec), *CLUSTER, keep_priorities=True)
        assert (found.priority, found.spec.priority_class_name) == (7, spec.get("priorityClassName", ""))
    with pytest.raises(AdmissionRefused, match="class standard has 3"):
        admit(pod(priority=7, priorityClassName="standard"), *CLUSTER, keep_priorities=True)
    assert admitted_pod(pod(), *CLUSTER, keep_priorities=True).priority == 3


def test_lines_count_objects_by_part() -> None:
    admitting = admission(*CLUSTER)
    for manifest in (pod(name="a"), pod(name="b", runtimeClassName="kata"), claim(name="a"), claim(name="b")):
        admitting.admit(decoded(manifest))
    assert admitting.lines() == [
        "LimitRanger: requests and limits by LimitRange default/limits (2 pods)",
        "Priority: 3 of class standard (2 pods)",
        "DefaultStorageClass: class fast (2 claims)",
        "RuntimeClass: overhead of class kata (1 pod)",
        "ResourceQuota: would be refused by ResourceQuota default/q: pods used up (2 pods)",
    ]


def test_a_refusal_keeps_its_part_at_any_place() -> None:
    with pytest.raises(AdmissionRefused) as caught:
        admit(
            pod(container(limits={"cpu": "9"}), container(limits={"cpu": "9"})),
            limit_range({"max": {"cpu": "1"}}),
        )
    refused = caught.value
    for each in (
        refused,
        refused.at("items[0]"),
        refused.in_location("a.yaml:1"),
        pickle.loads(pickle.dumps(refused)),
    ):
        assert isinstance(each, AdmissionRefused)
        assert each.part is AdmissionPart.LIMIT_RANGER
        assert len(each.errors) == 2
    assert refused.in_location("a.yaml:1").errors[1].location == "a.yaml:1"
    assert refused.at("items[0]").errors[1].path.startswith("items[0].spec.containers[1]")


@pytest.mark.parametrize("kind", ["LimitRange", "RuntimeClass", "ResourceQuota"])
def test_without_the_classes_the_error_says_how_to_read_the_kind(kind: str) -> None:
    with pytest.raises(InputError, match="pass kinds=ADMISSION_KINDS"):
        from_manifest({"kind": kind, "metadata": {"name": "x"}})
