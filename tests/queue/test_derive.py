from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st

from schedframe import Action
from schedframe.api import (
    Container,
    ContainerStatus,
    Node,
    NodeCondition,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodResourceClaimStatus,
    Quantity,
    ResourceRequirements,
    Taint,
    Toleration,
    parse_quantity,
)
from schedframe.queue import derive_events, derive_object_events

from .support import node, pod


def labels(old: Any, new: Any, **options: Any) -> list[str]:
    return [str(event) for event in derive_events(old, new, **options)]


def changed(old: Pod, **parts: Any) -> Pod:
    """The pod with another version and these parts of spec (``spec_…``), status or metadata changed."""
    spec = {name[5:]: value for name, value in parts.items() if name.startswith("spec_")}
    status = {name[7:]: value for name, value in parts.items() if name.startswith("status_")}
    metadata = {name[5:]: value for name, value in parts.items() if name.startswith("meta_")}
    return evolve(
        old,
        metadata=evolve(old.metadata, **{"resource_version": "2", **metadata}),
        spec=evolve(old.spec, **spec),
        status=evolve(old.status, **status),
    )


def asking(cpu: str, memory: str | None = None) -> tuple[Container, ...]:
    requests = {"cpu": parse_quantity(cpu)}
    if memory is not None:
        requests["memory"] = parse_quantity(memory)
    return (Container(name="c", resources=ResourceRequirements(requests=requests)),)


class TestPods:
    def test_a_pending_pod_that_comes_or_goes_is_no_event(self) -> None:
        assert labels(None, pod()) == []
        assert labels(pod(), None) == []

    def test_a_placed_pod_that_comes_or_goes(self) -> None:
        assert labels(None, pod(node_name="n")) == ["AssignedPodAdd"]
        assert labels(pod(node_name="n"), None) == ["AssignedPodDelete"]
        assert labels(pod(node_name="n", scheduler="other"), None) == ["AssignedPodDelete"]

    def test_a_pod_that_gets_its_node_was_added_whatever_else_changed(self) -> None:
        old = pod()
        assert labels(old, changed(old, spec_node_name="n", meta_labels={"a": "b"})) == ["AssignedPodAdd"]

    def test_changes_come_in_a_fixed_order(self) -> None:
        old = changed(pod(gates=("g",)), meta_resource_version="1", spec_containers=asking("2"))
        new = changed(
            old,
            spec_tolerations=(Toleration(key="k"),),
            spec_scheduling_gates=(),
            spec_containers=asking("1"),
            meta_labels={"a": "b"},
            status_resource_claim_statuses=(PodResourceClaimStatus("r", "c"),),
        )
        assert labels(old, new) == [
            "UnschedulablePodUpdatePodLabel",
            "UnschedulablePodUpdatePodScaleDown",
            "UnschedulablePodUpdatePodSchedulingGatesEliminated",
            "UnschedulablePodUpdatePodToleration",
            "UnschedulablePodUpdatePodGeneratedResourceClaim",
        ]

    @pytest.mark.parametrize(
        "parts",
        [
            {"meta_annotations": {"a": "b"}},
            {"meta_deletion_timestamp": 1.0},
            {"spec_tolerations": (Toleration(key="other"),)},
            {"spec_scheduling_gates": ("g",)},
            {"spec_containers": asking("2000m", "1024Mi")},
            {"spec_containers": asking("3", "1Gi")},
        ],
        ids=lambda parts: next(iter(parts)),
    )
    def test_everything_else_is_a_plain_update(self, parts: dict[str, Any]) -> None:
        old = changed(
            pod(gates=("g", "h")),
            meta_resource_version="1",
            spec_tolerations=(Toleration(key="k"),),
            spec_containers=asking("2", "1Gi"),
        )
        assert labels(old, changed(old, **parts)) == ["UnschedulablePodUpdate"]
        placed = evolve(old, spec=evolve(old.spec, node_name="n"))
        assert labels(placed, changed(placed, **parts)) == ["AssignedPodUpdate"]

    @pytest.mark.parametrize(
        ("before", "after", "down"),
        [
            (asking("2"), asking("1999m"), True),
            (asking("2", "1Gi"), asking("2"), True),
            (asking("2", "1Gi"), asking("2", "1073741823"), True),
            (asking("2", "1"), asking("2", "900m"), True),
            (asking("2"), asking("2", "1Gi"), False),
            (asking("1"), asking("1000m"), False),
        ],
    )
    def test_scaled_down_by_the_thousandth(
        self, before: tuple[Container, ...], after: tuple[Container, ...], down: bool
    ) -> None:
        old = changed(pod(node_name="n"), meta_resource_version="1", spec_containers=before)
        assert ("AssignedPodUpdatePodScaleDown" in labels(old, changed(old, spec_containers=after))) is down

    def test_what_a_resized_container_still_has_counts(self) -> None:
        actual = ContainerStatus(
            name="c",
            allocated_resources={"cpu": Quantity.of(2)},
            resources=ResourceRequirements(requests={"cpu": Quantity.of(2)}),
        )
        old = changed(pod(node_name="n"), spec_containers=asking("2"), status_container_statuses=(actual,))
        asked = changed(old, spec_containers=asking("1"))
        assert labels(old, asked) == ["AssignedPodUpdate"]
        done = evolve(
            actual,
            allocated_resources={"cpu": Quantity.of(1)},
            resources=ResourceRequirements(requests={"cpu": Quantity.of(1)}),
        )
        assert labels(asked, changed(asked, status_container_statuses=(done,))) == [
            "AssignedPodUpdatePodScaleDown"
        ]

    def test_an_update_that_is_none(self) -> None:
        old = pod()
        assert labels(old, changed(old, meta_resource_version="1", meta_labels={"a": "b"})) == []
        unversioned = pod(version="")
        assert labels(unversioned, pod(version="")) == []
        assert labels(unversioned, pod(version="", labels={"a": "b"})) == ["UnschedulablePodUpdatePodLabel"]

    def test_pods_of_other_schedulers(self) -> None:
        old = pod(scheduler="other", nominated="n")
        new = changed(old, meta_labels={"a": "b"}, status_nominated_node_name="")
        assert labels(old, new) == []
        assert labels(old, None) == []
        assert labels(old, new, scheduler_names={"other"}) == [
            "UnschedulablePodUpdatePodLabel",
            "AssignedPodDelete",
        ]

    def test_a_nomination_that_ends_frees_the_node_for_pods_of_at_most_that_priority(self) -> None:
        old = pod(nominated="n", priority=7)
        *_, freed = derive_object_events(old, changed(old, status_nominated_node_name="m"))
        assert (str(freed.event), freed.old, freed.new, freed.max_priority) == (
            "AssignedPodDelete",
            old,
            None,
            7,
        )
        (freed,) = derive_object_events(old, None)
        assert (str(freed.event), freed.max_priority) == ("AssignedPodDelete", 7)
        assert labels(pod(), changed(pod(), status_nominated_node_name="n")) == ["UnschedulablePodUpdate"]

    def test_a_pod_that_took_anothers_name_is_another_pod(self) -> None:
        old, new = pod(uid="1", node_name="n"), pod(uid="2", node_name="n", version="2")
        found = derive_object_events(old, new)
        assert [(str(e.event), e.old, e.new) for e in found] == [
            ("AssignedPodDelete", old, None),
            ("AssignedPodAdd", None, new),
        ]

    def test_a_pod_that_has_ended_is_gone(self) -> None:
        old = pod(node_name="n")
        ended = changed(old, status_phase="Succeeded")
        assert labels(old, ended) == ["AssignedPodDelete"]
        assert labels(ended, changed(ended, meta_labels={"a": "b"})) == []
        assert labels(ended, None) == []
        assert labels(None, ended) == []


class TestNodes:
    def test_comes_and_goes(self) -> None:
        assert labels(None, node()) == ["NodeAdd"]
        assert labels(node(), None) == ["NodeDelete"]
        assert labels(None, None) == []

    def test_changes_come_in_a_fixed_order(self) -> None:
        old = node()
        old = evolve(old, spec=evolve(old.spec, unschedulable=True))
        new = Node(
            ObjectMeta(name="n", labels={"a": "b"}, annotations={"a": "b"}),
            evolve(old.spec, unschedulable=False, taints=(Taint("k", effect="NoSchedule"),)),
            evolve(
                old.status,
                allocatable={"cpu": Quantity.of(2)},
                conditions=(NodeCondition("Ready", "True"),),
                declared_features=("A",),
            ),
        )
        assert labels(old, new) == [
            "NodeUpdateNodeTaint",
            "NodeUpdateNodeAllocatable",
            "NodeUpdateNodeLabel",
            "NodeUpdateNodeTaint",
            "NodeUpdateNodeCondition",
            "NodeUpdateNodeAnnotation",
            "NodeUpdateNodeDeclaredFeature",
        ]

    def test_cordoning_and_heartbeats_give_no_event(self) -> None:
        old = node()
        assert labels(old, evolve(old, spec=evolve(old.spec, unschedulable=True))) == []
        assert labels(old, old.with_resource_version("9")) == []
        beating = NodeCondition("Ready", "True", last_heartbeat_time=1.0, message="a")
        one = evolve(old, status=evolve(old.status, conditions=(beating,)))
        later = evolve(beating, last_heartbeat_time=2.0, message="b")
        assert labels(one, evolve(one, status=evolve(one.status, conditions=(later,)))) == []

    def test_amounts_are_compared_by_value_and_taints_as_lists(self) -> None:
        old = evolve(
            node(),
            spec=evolve(node().spec, taints=(Taint("a"), Taint("b"))),
            status=evolve(node().status, allocatable={"cpu": parse_quantity("1")}),
        )
        same = evolve(old, status=evolve(old.status, allocatable={"cpu": parse_quantity("1000m")}))
        assert labels(old, same) == []
        capacity = evolve(old, status=NodeStatus(capacity={"cpu": parse_quantity("1")}))
        assert labels(old, capacity) == []
        smaller = evolve(old, status=NodeStatus(capacity={"cpu": parse_quantity("500m")}))
        assert labels(smaller, capacity) == ["NodeUpdateNodeAllocatable"]
        turned = evolve(old, spec=evolve(old.spec, taints=(Taint("b"), Taint("a"))))
        assert labels(old, turned) == ["NodeUpdateNodeTaint"]
        later = evolve(old, spec=evolve(old.spec, taints=(Taint("a"), Taint("b", time_added=1.0))))
        assert labels(old, later) == ["NodeUpdateNodeTaint"]


@frozen
class Widget:
    KIND: str
    uid: str = ""


class TestOtherKinds:
    def test_plain_actions(self) -> None:
        one = Widget("CSINode")
        assert labels(None, one) == ["storage.k8s.io/CSINodeAdd"]
        assert labels(one, one) == ["storage.k8s.io/CSINodeUpdate"]
        assert labels(one, None) == ["storage.k8s.io/CSINodeDelete"]

    def test_only_what_was_registered(self) -> None:
        one, other = Widget("CSINode"), Widget("Widget")
        registered = {"storage.k8s.io/CSINode": Action.ADD | Action.UPDATE}
        assert labels(None, one, registered=registered) == ["storage.k8s.io/CSINodeAdd"]
        assert labels(one, None, registered=registered) == []
        assert labels(None, other, registered=registered) == []
        assert labels(other, None, registered={"*": Action.ALL}) == ["WidgetDelete"]


META = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)


@given(META, META, st.booleans(), st.booleans(), st.integers(0, 2), st.integers(0, 2))
def test_an_updated_pending_pod_always_has_an_event_and_never_plain_update_with_others(
    old_labels: dict[str, str],
    new_labels: dict[str, str],
    was_gated: bool,
    is_gated: bool,
    tolerated: int,
    tolerates: int,
) -> None:
    old = changed(
        pod(labels=old_labels),
        meta_resource_version="1",
        spec_scheduling_gates=("g",) * was_gated,
        spec_tolerations=(Toleration(key="k"),) * tolerated,
    )
    new = changed(
        old,
        meta_labels=new_labels,
        spec_scheduling_gates=("g",) * is_gated,
        spec_tolerations=(Toleration(key="k"),) * tolerates,
    )
    found = labels(old, new)
    expected = []
    if old_labels != new_labels:
        expected.append("UnschedulablePodUpdatePodLabel")
    if was_gated and not is_gated:
        expected.append("UnschedulablePodUpdatePodSchedulingGatesEliminated")
    if tolerated != tolerates:
        expected.append("UnschedulablePodUpdatePodToleration")
    assert found == (expected or ["UnschedulablePodUpdate"])
