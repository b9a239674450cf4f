"""What the API server would have filled in."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import Namespace, ObjectMeta, Pod, PodGroup, from_manifest
from schedframe.controllers.admission import Admission
from schedframe.errors import InputError
from tests.cycle.pod_groups.helpers import group

from .manifests import pod


def admitted(manifest: dict[str, Any], *classes: dict[str, Any]) -> Any:
    known = [from_manifest({"kind": "PriorityClass", **each}) for each in classes]
    return Admission.of(known).admit(from_manifest(manifest))


def test_a_complete_pod_stays_the_same_object() -> None:
    complete = from_manifest(pod("web", priority=3))
    assert Admission().admit(complete) is complete


def test_limits_are_requests_where_none_are_given() -> None:
    manifest = pod("web")
    manifest["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2", "memory": "1Gi"}}
    assert admitted(manifest).requests == {"cpu": 2000, "memory": 2**30}


def test_priority_comes_from_the_class_and_from_the_system() -> None:
    high = {"metadata": {"name": "high"}, "value": 10, "preemptionPolicy": "Never"}
    found: Pod = admitted(pod("web", priorityClassName="high"), high)
    assert (found.priority, found.spec.preemption_policy) == (10, "Never")
    assert admitted(pod("web", priorityClassName="system-node-critical")).priority == 2_000_001_000
    assert admitted(pod("web", priorityClassName="high", priority=4), high).priority == 4


@pytest.mark.parametrize(("version", "policy"), [("v1alpha2", None), ("v1beta1", "Never")])
def test_the_priority_of_a_pod_group_comes_from_its_class(version: str, policy: str | None) -> None:
    high = {"metadata": {"name": "high"}, "value": 10, "preemptionPolicy": "Never"}
    lower = {"metadata": {"name": "lower"}, "value": 3, "globalDefault": True}
    of_high = group("g", 1, priorityClassName="high")
    of_high["apiVersion"] = f"scheduling.k8s.io/{version}"
    found: PodGroup = admitted(of_high, high)
    assert (found.priority, found.spec.preemption_policy) == (10, policy)
    assert admitted(group("g", 1), high, lower).priority == 3
    assert admitted(group("g", 1), high).spec.priority is None
    complete = from_manifest(group("g", 1, priority=4))
    assert Admission().admit(complete) is complete
    with pytest.raises(InputError, match="there is no PriorityClass"):
        admitted(of_high)


def test_of_several_default_classes_the_lowest_counts() -> None:
    classes = [
        {"metadata": {"name": name}, "value": value, "globalDefault": True}
        for name, value in (("much", 9), ("little", 5))
    ]
    found = admitted(pod("web"), *classes)
    assert (found.priority, found.spec.priority_class_name) == (5, "little")


def test_an_unknown_class_is_an_error_with_a_way_out() -> None:
    with pytest.raises(InputError, match="no PriorityClass high; add its manifest"):
        admitted(pod("web", priorityClassName="high"))


def test_ports_of_a_pod_on_the_hosts_network_are_host_ports() -> None:
    manifest = pod("web", hostNetwork=True)
    manifest["spec"]["containers"][0]["ports"] = [
        {"containerPort": 80},
        {"containerPort": 81, "hostPort": 81},
    ]
    assert [port.port for port in admitted(manifest).host_ports] == [80, 81]
    assert Admission().admit(found := admitted(manifest)) is found


def test_namespaces_carry_their_name() -> None:
    found = Admission().admit(Namespace(ObjectMeta("shop")))
    assert found.labels == {"kubernetes.io/metadata.name": "shop"}
