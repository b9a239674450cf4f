from __future__ import annotations

import copy
from types import MappingProxyType
from typing import Any, ClassVar

import pytest
from hypothesis import given

from schedframe.api import (
    KINDS,
    ClusterObject,
    Node,
    Pod,
    PodDisruptionBudget,
    UnknownKindError,
    from_manifest,
    parse_time,
    to_manifest,
)
from schedframe.errors import InputError
from tests.api.strategies import objects

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-0",
        "namespace": "shop",
        "uid": "u-1",
        "labels": {"app": "web"},
        "creationTimestamp": "2026-01-31T12:00:00Z",
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
        ],
    },
    "spec": {
        "nodeSelector": {"disk": "ssd"},
        "priority": 0,
        "schedulerName": "default-scheduler",
        "schedulingGates": [{"name": "example.com/wait"}],
        "os": {"name": "linux"},
        "hostUsers": False,
        "containers": [
            {
                "name": "c",
                "image": "registry.example/app:1",
                "resources": {"requests": {"cpu": "250m", "nvidia.com/gpu": "1"}},
                "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}],
            }
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
                    ]
                }
            },
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 1,
                        "podAffinityTerm": {
                            "labelSelector": {},
                            "topologyKey": "kubernetes.io/hostname",
                            "namespaceSelector": {"matchLabels": {"team": "x"}},
                        },
                    }
                ]
            },
        },
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
    },
    "status": {"phase": "Pending", "nominatedNodeName": "n1"},
}


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}


def test_a_pod_is_read_and_written() -> None:
    made = from_manifest(POD)
    assert isinstance(made, Pod)
    assert made.key == "shop/web-0"
    assert made.metadata.creation_timestamp == parse_time("2026-01-31T12:00:00Z")
    assert made.metadata.owner_references[0].controller is True
    assert made.requests == {"cpu": 250, "nvidia.com/gpu": 1}
    assert made.spec.scheduling_gates == ("example.com/wait",)
    assert made.spec.os_name == "linux"
    assert made.spec.host_users is False
    assert made.spec.priority == 0
    affinity = made.spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    assert affinity.node_affinity.required is not None
    assert affinity.node_affinity.required.terms[0].match_expressions[0].values == ("a", "b")
    assert affinity.pod_anti_affinity is not None
    assert affinity.pod_anti_affinity.preferred[0].term.label_selector is not None
    assert to_manifest(made) == POD


@given(objects)
def test_what_is_written_is_read_back(made: ClusterObject) -> None:
    manifest = to_manifest(made)
    # not strict: the names and enumerations of these values are any text
    assert from_manifest(manifest, strict=False) == made
    assert to_manifest(from_manifest(manifest, strict=False)) == manifest


def test_empties_and_defaults_are_left_out() -> None:
    for kind, cls in KINDS.items():
        made: Any = cls
        written = to_manifest(made())
        assert written["kind"] == kind
        assert written["apiVersion"] == cls.API_VERSION
        assert "metadata" not in written
    assert to_manifest(Node()) == {"apiVersion": "v1", "kind": "Node"}


def test_null_means_absent_everywhere() -> None:
    nulls = pod(
        nodeSelector=None,
        affinity=None,
        tolerations=None,
        priority=None,
        containers=[{"name": "c", "resources": None, "ports": None}],
        overhead={"cpu": None},
    )
    nulls["metadata"] |= {"labels": None, "creationTimestamp": None, "annotations": {"a": None}}
    nulls["status"] = None
    assert from_manifest(nulls) == from_manifest(pod(containers=[{"name": "c"}]))


def test_unknown_fields_are_ignored() -> None:
    strange = pod(containers=[{"name": "c", "env": [{"name": "A"}]}], dnsPolicy="ClusterFirst")
    assert from_manifest(strange) == from_manifest(pod(containers=[{"name": "c"}]))


def test_empty_and_missing_selectors_differ() -> None:
    def budget(**spec: Any) -> PodDisruptionBudget:
        made = from_manifest({"kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec})
        assert isinstance(made, PodDisruptionBudget)
        return made

    assert budget().spec.selector is None
    assert budget(selector={}).spec.selector is not None
    assert to_manifest(budget(selector={}))["spec"] == {"selector": {}}
    assert budget(minAvailable="50%").spec.min_available == "50%"
    assert budget(minAvailable=0).spec.min_available == 0


@pytest.mark.parametrize(
    ("manifest", "path", "words"),
    [
        (pod(containers={}), "spec.containers", ["list", "object"]),
        (pod(containers=["c"]), "spec.containers[0]", ["object", "'c'"]),
        (pod(containers=[{"name": 5}]), "spec.containers[0].name", ["5", "quotes"]),
        (pod(containers=[{"name": True}]), "spec.containers[0].name", ["true", '"true"']),
        (pod(nodeName=["n"]), "spec.nodeName", ["text", "list"]),
        (pod(hostNetwork="yes"), "spec.hostNetwork", ["'yes'", "true or false"]),
        (pod(priority="5"), "spec.priority", ["'5'", "quotes"]),
        (pod(priority=1.5), "spec.priority", ["1.5", "whole number"]),
        (pod(priority=True), "spec.priority", ["true", "whole number"]),
        (pod(priority=2**31), "spec.priority", ["2147483648", "32 bits"]),
        (pod(nodeSelector={"a/b": 1}), 'spec.nodeSelector["a/b"]', ["1", '"1"']),
        (pod(nodeSelector={1: "a"}), "spec.nodeSelector", ["1", "quotes"]),
        (pod(nodeSelector="a"), "spec.nodeSelector", ["object"]),
        (pod(overhead={"cpu": "lots"}), "spec.overhead.cpu", ["'lots'", "500m"]),
        (
            pod(containers=[{"name": "c", "resources": {"requests": {"nvidia.com/gpu": "-1"}}}]),
            'spec.containers[0].resources.requests["nvidia.com/gpu"]',
            ["-1", "negative"],
        ),
        (
            pod(containers=[{"name": "c", "resources": {"limits": {"cpu": True}}}]),
            "spec.containers[0].resources.limits.cpu",
            ["True"],
        ),
        (pod(schedulingGates=["wait"]), "spec.schedulingGates[0]", ["object"]),
        (pod(os="linux"), "spec.os", ["object"]),
        (
            pod(
                topologySpreadConstraints=[
                    {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "in"}]}}
                ]
            ),
            "spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator",
            ["'in'", "In, NotIn"],
        ),
        (
            pod(topologySpreadConstraints=[{"labelSelector": {"matchExpressions": [{}]}}]),
            "spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].key",
            ["missing"],
        ),
        (
            {"kind": "Pod", "metadata": {"creationTimestamp": "yesterday"}},
            "metadata.creationTimestamp",
            ["'yesterday'"],
        ),
        ({"kind": "Pod", "metadata": {"creationTimestamp": 5}}, "metadata.creationTimestamp", ["5", "2026"]),
        ({"kind": "Pod", "metadata": []}, "metadata", ["object", "list"]),
    ],
)
def test_wrong_types_name_path_value_and_fix(manifest: dict[str, Any], path: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        from_manifest(manifest)
    assert caught.value.path == path
    assert caught.value.fix
    for word in words:
        assert word in str(caught.value)


def test_node_affinity_that_the_api_server_refuses_is_refused() -> None:
    def affinity(**term: Any) -> dict[str, Any]:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}, term]}}
        return pod(containers=[], affinity={"nodeAffinity": required})

    prefix = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1]"
    for term, path in (
        ({"matchExpressions": [{"key": "a", "operator": "="}]}, "matchExpressions[0].operator"),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "matchExpressions[0].values"),
        (
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1", "2"]}]},
            "matchExpressions[0].values",
        ),
        ({"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}, "matchFields[0].operator"),
    ):
        with pytest.raises(InputError) as caught:
            from_manifest(affinity(**term))
        assert caught.value.path == f"{prefix}.{path}"
    number = {"key": "a", "operator": "Gt", "values": ["five"]}
    assert from_manifest(affinity(matchExpressions=[number]))


def test_the_error_names_the_object() -> None:
    with pytest.raises(InputError, match="Pod web"):
        from_manifest(pod(containers=5))


@pytest.mark.parametrize(
    "manifest",
    [
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"apiVersion": "serving.knative.dev/v1", "kind": "Service"},
    ],
)
def test_unknown_kinds_have_an_error_of_their_own(manifest: dict[str, Any]) -> None:
    with pytest.raises(UnknownKindError, match=manifest["kind"]):
        from_manifest(manifest)


@pytest.mark.parametrize("manifest", [{}, {"kind": 5}, {"kind": ""}, [], "Pod", None])
def test_what_is_no_manifest_is_refused(manifest: Any) -> None:
    with pytest.raises(InputError):
        from_manifest(manifest)


def test_the_kind_may_be_known_from_outside() -> None:
    assert from_manifest({"metadata": {"name": "n1"}}, kind="Node").name == "n1"


def test_a_label_of_a_million_characters_is_kept() -> None:
    long = "x" * 1_000_000
    manifest = pod(containers=[])
    manifest["metadata"]["labels"] = {"a": long}
    assert from_manifest(manifest, strict=False).labels == {"a": long}


def test_equal_labels_are_kept_once() -> None:
    one, two = (from_manifest({"kind": "Pod", "metadata": {"labels": {"app": "web"}}}) for _ in range(2))
    assert one.labels is two.labels


class TestSharing:
    """Equal values of the pods of a workload are one object; different ones never are."""

    CONTAINERS: ClassVar[list[Any]] = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]

    @staticmethod
    def read(**spec: Any) -> Pod:
        made = from_manifest(pod(**spec))
        assert isinstance(made, Pod)
        return made

    def test_equal_containers_are_one_object(self) -> None:
        one, two = (self.read(containers=copy.deepcopy(self.CONTAINERS)) for _ in range(2))
        assert one.spec.containers is two.spec.containers

    def test_equal_values_of_other_types_are_told_apart(self) -> None:
        def toleration(seconds: Any) -> Pod:
            made = {"key": "a", "effect": "NoExecute", "tolerationSeconds": seconds}
            return self.read(containers=[], tolerations=[made])

        assert toleration(1).spec.tolerations[0].toleration_seconds == 1
        for seconds in (True, 1.0, "1"):
            with pytest.raises(InputError, match="tolerationSeconds"):
                toleration(seconds)
        assert self.read(nodeSelector={"a": "1"}).spec.node_selector == {"a": "1"}
        with pytest.raises(InputError):
            self.read(nodeSelector={"a": 1})

    def test_errors_are_found_every_time(self) -> None:
        for _ in range(2):
            with pytest.raises(InputError):
                self.read(containers=[{"name": 5}])

    def test_mappings_of_other_kinds_are_read_too(self) -> None:
        resources = MappingProxyType({"requests": MappingProxyType({"cpu": "1"})})
        made = self.read(containers=[MappingProxyType({"name": "c", "resources": resources})])
        assert made.requests == {"cpu": 1000}

    def test_what_was_read_first_is_forgotten_in_time(self) -> None:
        for number in range(5000):
            assert self.read(nodeSelector={"a": str(number)}).spec.node_selector == {"a": str(number)}
