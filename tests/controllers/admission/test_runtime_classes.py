"""RuntimeClass: overhead, node selector and tolerations of the class of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import Toleration
from schedframe.controllers.admission import AdmissionPart, AdmissionRefused
from schedframe.controllers.admission.tolerations import merged

from .made import admission, admit, admitted_pod, container, decoded, pod, runtime_class

OVERHEAD = {"cpu": "250m", "memory": "64Mi"}
KATA = runtime_class(
    overhead={"podFixed": OVERHEAD},
    scheduling={"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata", "operator": "Exists"}]},
)
PLAIN = runtime_class("plain")


def test_a_pod_gets_what_its_class_says() -> None:
    found = admitted_pod(pod(container({"cpu": "1"}), runtimeClassName="kata"), KATA)
    assert found.requests == {"cpu": 1250, "memory": 64 * 2**20}
    assert found.spec.node_selector == {"kata": "yes"}
    assert [each.key for each in found.spec.tolerations] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "kata",
    ]


def test_the_selector_of_the_pod_stays_beside_it() -> None:
    selector = {"disk": "ssd", "kata": "yes"}
    assert (
        admitted_pod(pod(runtimeClassName="kata", nodeSelector=selector), KATA).spec.node_selector == selector
    )


def test_a_class_without_overhead_and_nodes_changes_nothing() -> None:
    with_class = admitted_pod(pod(runtimeClassName="plain"), PLAIN).spec
    without = admitted_pod(pod()).spec
    assert (with_class.overhead, with_class.tolerations) == (without.overhead, without.tolerations)


def test_the_overhead_of_the_class_beside_it_is_right() -> None:
    same = {"cpu": "0.25", "memory": "65536Ki"}
    assert admitted_pod(pod(runtimeClassName="kata", overhead=same), KATA).requests["cpu"] == 250


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"runtimeClassName": "unknown"}, "spec.runtimeClassName"),
        ({"runtimeClassName": ""}, "spec.runtimeClassName"),
        ({"runtimeClassName": "kata", "overhead": {"cpu": "1"}}, "spec.overhead"),
        ({"runtimeClassName": "plain", "overhead": OVERHEAD}, "spec.overhead"),
        ({"overhead": OVERHEAD}, "spec.overhead"),
        ({"runtimeClassName": "kata", "nodeSelector": {"kata": "no"}}, "spec.nodeSelector[kata]"),
    ],
)
def test_what_contradicts_the_class_is_refused(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(AdmissionRefused) as refused:
        admit(pod(**spec), KATA, PLAIN)
    assert (refused.value.path, refused.value.part) == (path, AdmissionPart.RUNTIME_CLASS)
    assert refused.value.fix


def test_it_can_be_switched_off() -> None:
    found = admitted_pod(pod(runtimeClassName="unknown", overhead=OVERHEAD), without=["RuntimeClass"])
    assert found.requests["cpu"] == 250


def test_the_deed_is_counted() -> None:
    admitting = admission(KATA, PLAIN)
    admitting.admit(decoded(pod(runtimeClassName="kata")))
    admitting.admit(decoded(pod(runtimeClassName="plain", name="other")))
    assert admitting.lines() == [
        "RuntimeClass: overhead, node selector and tolerations of class kata (1 pod)"
    ]


ANY = Toleration(operator="Exists")
KEY = Toleration("a", "Exists")
VALUE = Toleration("a", "Equal", "1")
BRIEF = Toleration("a", "Exists", effect="NoExecute", toleration_seconds=5)
LONG = Toleration("a", "Exists", effect="NoExecute", toleration_seconds=50)
FOREVER = Toleration("a", "Exists", effect="NoExecute")
UNNAMED = Toleration("a", "", "1")


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ([VALUE], [KEY], [KEY]),
        ([KEY], [VALUE], [KEY]),
        ([KEY, VALUE], [ANY], [ANY]),
        ([VALUE], [VALUE], [VALUE]),
        ([BRIEF], [LONG], [LONG]),
        ([FOREVER], [LONG], [FOREVER]),
        ([BRIEF], [KEY], [KEY]),
        ([VALUE], [Toleration("b", "Exists")], [VALUE, Toleration("b", "Exists")]),
        ([UNNAMED], [VALUE], [UNNAMED]),
        ([VALUE], [UNNAMED], [UNNAMED]),
        ([UNNAMED], [Toleration("a", "", "2")], [UNNAMED, Toleration("a", "", "2")]),
        ([Toleration("a", "Gt", "1")], [VALUE], [Toleration("a", "Gt", "1"), VALUE]),
    ],
)
def test_of_two_tolerations_the_wider_one_stays(
    first: list[Toleration], second: list[Toleration], kept: list[Toleration]
) -> None:
    assert list(merged(first, second)) == kept
