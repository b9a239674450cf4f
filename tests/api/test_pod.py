from __future__ import annotations

import copy
import pickle
from typing import Any

import attrs
import pytest
from hypothesis import given

from schedframe.api import (
    KINDS,
    Container,
    ContainerPort,
    HostPort,
    Node,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    Service,
    key_of,
)
from schedframe.api._wire import EMPTY
from tests.api.strategies import values_of


def test_names_come_from_the_metadata() -> None:
    pod = Pod(ObjectMeta("web", "shop", "u1", {"app": "web"}))
    assert (pod.key, pod.name, pod.namespace, pod.uid, pod.labels) == (
        "shop/web",
        "web",
        "shop",
        "u1",
        {"app": "web"},
    )
    assert key_of(pod) == "shop/web"


def test_no_namespace_means_default() -> None:
    for made in (Pod(ObjectMeta("web")), Service(ObjectMeta("web"))):
        assert made.key == "default/web"
        assert made.namespace == "default"
        assert made.metadata.namespace == ""


def test_cluster_wide_objects_have_no_namespace() -> None:
    node = Node(ObjectMeta("n1", "ignored"))
    assert node.key == "n1"
    assert node.namespace == ""


def test_priority_is_zero_where_none_is_set() -> None:
    assert Pod().priority == 0
    assert Pod(spec=PodSpec(priority=-5)).priority == -5


def test_values_cannot_be_changed() -> None:
    pod = Pod(ObjectMeta("web"))
    for value, name in (
        (pod, "spec"),
        (pod, "key"),
        (pod.spec, "node_name"),
        (pod.metadata, "name"),
        (pod, "new"),
    ):
        with pytest.raises((attrs.exceptions.FrozenInstanceError, AttributeError)):
            setattr(value, name, "x")
    for default in (pod.labels, pod.spec.node_selector):
        with pytest.raises(TypeError, match="immutable"):
            default["a"] = "b"  # type: ignore[index]  # that is what is tested
    assert not EMPTY


def test_with_node_name_changes_nothing_else_and_shares_the_memo() -> None:
    pod = Pod(ObjectMeta("web"))
    bound = pod.with_node_name("n1")
    bound.spec.memo["mine"] = 1
    assert pod.spec.memo["mine"] == 1
    assert (pod.node_name, bound.node_name) == ("", "n1")
    assert bound.with_node_name("") == pod


def test_a_new_spec_has_a_memo_of_its_own() -> None:
    spec = PodSpec()
    spec.memo["mine"] = 1
    assert attrs.evolve(spec, priority=1).memo == {}


@given(values_of(Pod))
def test_copies_keep_every_field(pod: Pod) -> None:
    spec = attrs.evolve(pod.spec, node_name="n1")
    assert pod.with_node_name("n1") == Pod(pod.metadata, spec, pod.status)
    status = attrs.evolve(pod.status, phase="Running")
    assert pod.with_status(phase="Running") == Pod(pod.metadata, pod.spec, status)
    metadata = attrs.evolve(pod.metadata, resource_version="7")
    assert pod.with_resource_version("7") == Pod(metadata, pod.spec, pod.status)
    assert pod.metadata.with_finalizers(("a",)) == attrs.evolve(pod.metadata, finalizers=("a",))
    for copied in (
        pod.with_node_name("n1"),
        pod.with_status(phase="Running"),
        pod.with_resource_version("7"),
    ):
        assert type(copied) is Pod
        assert (copied.key, copied.uid, copied.labels, copied.priority) == (
            pod.key,
            pod.uid,
            pod.labels,
            pod.priority,
        )
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            copied.spec = pod.spec  # type: ignore[misc]  # that is what is tested


@given(values_of(Pod))
def test_pods_survive_pickling_and_copying(pod: Pod) -> None:
    pod.spec.memo["unpicklable"] = lambda: None
    again = pickle.loads(pickle.dumps(pod))
    assert again == pod
    assert again.requests == pod.requests
    assert again.spec.memo == {}
    assert copy.deepcopy(pod) == pod


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_hashable_and_equal_by_value(kind: str) -> None:
    cls: Any = KINDS[kind]
    one, two = cls(ObjectMeta("a", labels={"x": "y"})), cls(ObjectMeta("a", labels={"x": "y"}))
    assert one == two
    assert hash(one) == hash(two)
    assert one != cls(ObjectMeta("b"))
    assert (cls.KIND, one.name, one.uid, one.labels) == (kind, "a", "", {"x": "y"})


def test_a_subclass_of_a_value_is_made_like_any_class() -> None:
    class Special(PodStatus):
        pass

    assert Special(phase="Running").phase == "Running"
    assert PodStatus("Running") == PodStatus(phase="Running")
    with pytest.raises(TypeError):
        PodStatus(nonsense=1)  # type: ignore[call-arg]  # that is what is tested


class TestHostPorts:
    @staticmethod
    def spec(*ports: ContainerPort, policy: str | None = None) -> PodSpec:
        made = Container("c", ports=ports, restart_policy=policy or "")
        return PodSpec((made,)) if policy is None else PodSpec(init_containers=(made,))

    def test_only_ports_of_the_node_count(self) -> None:
        spec = self.spec(ContainerPort(80), ContainerPort(80, 8080), ContainerPort(53, 53, "10.0.0.1", "UDP"))
        assert spec.host_ports == (HostPort("0.0.0.0", "TCP", 8080), HostPort("10.0.0.1", "UDP", 53))

    def test_those_of_sidecars_count_and_those_of_other_init_containers_do_not(self) -> None:
        assert self.spec(ContainerPort(80, 80), policy="Always").host_ports == (
            HostPort("0.0.0.0", "TCP", 80),
        )
        assert self.spec(ContainerPort(80, 80), policy="").host_ports == ()

    @pytest.mark.parametrize(
        ("left", "right", "conflict"),
        [
            (("0.0.0.0", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
            (("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
            (("10.0.0.1", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
            (("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False),
            (("10.0.0.1", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
            (("0.0.0.0", "TCP", 80), ("0.0.0.0", "UDP", 80), False),
            (("0.0.0.0", "TCP", 80), ("0.0.0.0", "TCP", 81), False),
            (("::", "TCP", 80), ("10.0.0.1", "TCP", 80), False),
        ],
    )
    def test_conflicts(self, left: tuple[str, str, int], right: tuple[str, str, int], conflict: bool) -> None:
        assert HostPort(*left).conflicts(HostPort(*right)) is conflict
        assert HostPort(*right).conflicts(HostPort(*left)) is conflict


def test_what_phase_and_deletion_say() -> None:
    assert Pod(status=PodStatus("Succeeded")).is_terminated
    assert Pod(status=PodStatus("Failed")).is_terminated
    assert not Pod(status=PodStatus("Running")).is_terminated
    assert Pod(ObjectMeta("a", deletion_timestamp=1.0)).is_terminating
    assert not Pod().is_terminating
