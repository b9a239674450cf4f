"""PodGroup and Workload: three versions, one class; what the API server refuses."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import (
    DISRUPT_GROUP,
    DISRUPT_PODS,
    GangSchedulingPolicy,
    PodGroup,
    Workload,
    from_manifest,
    to_manifest,
)
from schedframe.errors import InputError

CLAIM = {"name": "gpu", "resourceClaimName": "shared"}


def manifest(version: str = "v1alpha2", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "team"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}, **spec},
    }


def test_a_gang_with_a_topology_constraint() -> None:
    group = from_manifest(manifest(schedulingConstraints={"topology": [{"key": "rack"}]}, priority=7))
    assert isinstance(group, PodGroup)
    assert group.key == "team/g"
    assert group.spec.scheduling_policy.gang == GangSchedulingPolicy(3)
    assert (group.spec.min_count, group.spec.topology_key, group.priority) == (3, "rack", 7)


def test_a_basic_group_has_no_minimum_and_keeps_its_policy_in_the_manifest() -> None:
    given = manifest(schedulingPolicy={"basic": {}}, schedulingConstraints={})
    group = from_manifest(given)
    assert isinstance(group, PodGroup)
    assert (group.spec.min_count, group.spec.topology_key, group.priority) == (0, "", 0)
    assert group.spec.scheduling_constraints is not None
    assert to_manifest(group) == given


@pytest.mark.parametrize(
    ("version", "written", "read"),
    [
        ("v1alpha2", "Pod", DISRUPT_PODS),
        ("v1alpha2", "PodGroup", DISRUPT_GROUP),
        ("v1alpha3", {"all": {}}, DISRUPT_GROUP),
        ("v1beta1", {"single": {}}, DISRUPT_PODS),
    ],
)
def test_disruption_modes_of_all_versions_are_read(version: str, written: Any, read: str) -> None:
    group = from_manifest(manifest(version, disruptionMode=written))
    assert isinstance(group, PodGroup)
    assert group.spec.disruption_mode == read


def test_each_version_has_its_own_reference_to_the_workload() -> None:
    alpha = {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}
    assert from_manifest(manifest(podGroupTemplateRef=alpha))
    assert from_manifest(manifest("v1beta1", workloadRef={"workloadName": "w", "templateName": "t"}))
    with pytest.raises(InputError, match="no such field"):
        from_manifest(manifest("v1beta1", podGroupTemplateRef=alpha))
    with pytest.raises(InputError, match="no such field"):
        from_manifest(manifest(workloadRef={"workloadName": "w", "templateName": "t"}))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"schedulingPolicy": {}}, "neither basic nor gang"),
        ({"schedulingPolicy": {"basic": {}, "gang": {"minCount": 1}}}, "both basic and gang"),
        ({"schedulingPolicy": {"gang": {"minCount": 0}}}, "out of range"),
        ({"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}}, "at most 1"),
        ({"schedulingConstraints": {"topology": [{"key": ""}]}}, "name a label"),
        ({"disruptionMode": "Some"}, "is not one of Pod, PodGroup"),
        ({"minCount": 3}, "no such field"),
        ({"resourceClaims": [{"name": "gpu"}]}, "neither of resourceClaimName"),
        ({"resourceClaims": [{**CLAIM, "resourceClaimTemplateName": "t"}]}, "both of resourceClaimName"),
        ({"resourceClaims": [CLAIM, CLAIM]}, "there twice"),
        ({"resourceClaims": [{**CLAIM, "name": f"gpu{i}"} for i in range(5)]}, "at most 4"),
    ],
)
def test_what_the_api_server_refuses_is_refused(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        from_manifest(manifest(**spec))


def test_a_workload_has_at_most_eight_templates() -> None:
    template = {"name": "t", "schedulingPolicy": {"basic": {}}}
    given = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "team"},
        "spec": {"podGroupTemplates": [template]},
    }
    workload = from_manifest(given)
    assert isinstance(workload, Workload)
    assert to_manifest(workload) == given
    with pytest.raises(InputError, match="at most 8"):
        from_manifest({**given, "spec": {"podGroupTemplates": [template] * 9}})


@pytest.mark.parametrize("version", ["v1alpha3", "v1beta1"])
def test_an_object_is_written_in_the_version_in_which_it_was_read(version: str) -> None:
    api_version = f"scheduling.k8s.io/{version}"
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"all": {}}}
    metadata = {"name": "g", "namespace": "default"}
    group = {"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": policy}
    template = {"name": "t", **policy, "disruptionMode": {"single": {}}}
    spec = {"podGroupTemplates": [template, {"name": "u", "schedulingPolicy": {"basic": {}}}]}
    workload = {"apiVersion": api_version, "kind": "Workload", "metadata": metadata, "spec": spec}
    for manifest in (group, workload):
        assert to_manifest(from_manifest(manifest)) == manifest


def test_the_version_of_v1_36_is_the_default() -> None:
    version = "scheduling.k8s.io/v1alpha2"
    read = from_manifest({"apiVersion": version, "kind": "PodGroup", "metadata": {"name": "g"}})
    assert isinstance(read, PodGroup)
    assert read.api_version == ""
    assert to_manifest(read)["apiVersion"] == version
    assert read.scheduled_type == "PodGroupScheduled"


def test_templates_within_templates_are_checked() -> None:
    inner = {"name": "inner", "compositePodGroupTemplates": [{"name": "x", "unknown": 1}]}
    workload = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": {"compositePodGroupTemplates": [{"name": "outer", "compositePodGroupTemplates": [inner]}]},
    }
    with pytest.raises(InputError, match="unknown"):
        from_manifest(workload)


@pytest.mark.parametrize("version", ["v1alpha2", "v1alpha3", "v1beta1"])
def test_claims_of_a_group_are_kept(version: str) -> None:
    template = {"name": "link", "resourceClaimTemplateName": "t"}
    given = manifest(version, resourceClaims=[CLAIM, template])
    group = from_manifest(given)
    assert isinstance(group, PodGroup)
    assert [claim.name for claim in group.spec.resource_claims] == ["gpu", "link"]
    assert to_manifest(group) == given
