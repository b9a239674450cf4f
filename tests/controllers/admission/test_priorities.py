"""Priority: pods and groups get the number, the name and the policy of their class."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.controllers.admission import AdmissionPart, AdmissionRefused
from tests.cycle.pod_groups.helpers import group

from .made import admission, admit, admitted_pod, decoded, pod, priority_class

HIGH = priority_class("high", 10, preemptionPolicy="Never")
DEFAULT = priority_class("standard", 3, globalDefault=True)


def test_a_pod_gets_what_its_class_says() -> None:
    spec = admitted_pod(pod(priorityClassName="high"), HIGH).spec
    assert (spec.priority, spec.priority_class_name, spec.preemption_policy) == (10, "high", "Never")


def test_classes_of_the_system_are_in_every_cluster() -> None:
    assert admitted_pod(pod(priorityClassName="system-node-critical")).priority == 2_000_001_000
    assert admitted_pod(pod(priorityClassName="system-cluster-critical")).priority == 2_000_000_000


def test_a_pod_without_a_class_gets_the_default_class_or_0() -> None:
    spec = admitted_pod(pod(), HIGH, DEFAULT).spec
    assert (spec.priority, spec.priority_class_name) == (3, "standard")
    spec = admitted_pod(pod(), HIGH).spec
    assert (spec.priority, spec.priority_class_name) == (0, "")
    assert spec.preemption_policy == "PreemptLowerPriority"


def test_of_several_default_classes_the_lowest_counts() -> None:
    much = priority_class("much", 9, globalDefault=True)
    assert admitted_pod(pod(), much, DEFAULT).spec.priority_class_name == "standard"


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"priorityClassName": "unknown"}, "spec.priorityClassName"),
        ({"priorityClassName": "high", "priority": 4}, "spec.priority"),
        ({"priority": 4}, "spec.priority"),
        ({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"}, "spec.preemptionPolicy"),
        ({"preemptionPolicy": "Never"}, "spec.preemptionPolicy"),
    ],
)
def test_what_contradicts_the_class_is_refused(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(AdmissionRefused) as refused:
        admit(pod(**spec), HIGH)
    assert (refused.value.path, refused.value.part) == (path, AdmissionPart.PRIORITY)
    assert refused.value.fix


def test_the_number_of_the_class_beside_it_is_right() -> None:
    assert admitted_pod(pod(priorityClassName="high", priority=10), HIGH).priority == 10
    assert admitted_pod(pod(priority=0)).priority == 0


@pytest.mark.parametrize(("version", "policy"), [("v1alpha2", None), ("v1beta1", "Never")])
def test_the_priority_of_a_pod_group_comes_from_its_class(version: str, policy: str | None) -> None:
    of_high = group("g", 1, priorityClassName="high")
    of_high["apiVersion"] = f"scheduling.k8s.io/{version}"
    found = admit(of_high, HIGH).object
    assert (found.priority, found.spec.preemption_policy) == (10, policy)
    with pytest.raises(AdmissionRefused, match="no PriorityClass high"):
        admit(of_high)


def test_a_pod_group_without_a_class_keeps_its_priority() -> None:
    assert admit(group("g", 1), HIGH, DEFAULT).object.priority == 3
    assert admit(group("g", 1), HIGH).object.spec.priority is None
    assert admit(group("g", 1, priority=4), DEFAULT).object.priority == 4


def test_it_can_be_switched_off() -> None:
    found = admit(pod(priorityClassName="unknown", priority=4), without=["Priority"]).object
    assert found.priority == 4


def test_only_the_default_class_gets_a_line() -> None:
    admitting = admission(HIGH, DEFAULT)
    for name, spec in (("a", {}), ("b", {}), ("c", {"priorityClassName": "high"})):
        admitting.admit(decoded(pod(name=name, **spec)))
    assert admitting.lines() == ["Priority: 3 of class standard (2 pods)"]
    assert "Priority: 10 of class high (1 pod)" in admitting.lines(routine=True)
