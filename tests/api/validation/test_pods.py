"""Pods and templates: what their parts have to do with each other, and where they may be placed."""

from __future__ import annotations

from typing import Any

import pytest

from .pods import claim_template, container, deployment, one, paths, pod

GPU = "example.com/gpu"
ZONE = "topology.kubernetes.io/zone"
SELECTOR = {"matchLabels": {"app": "a"}}
NODE = "affinity.nodeAffinity"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
EXPRESSION = f"{NODE}.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
FIELD = f"{NODE}.{REQUIRED}.nodeSelectorTerms[0].matchFields[0]"
TERM = f"affinity.podAffinity.{REQUIRED}[0]"


def tolerating(**members: Any) -> Any:
    return pod(tolerations=[members])


@pytest.mark.parametrize(
    ("members", "refused"),
    [
        ({"operator": "Equal", "value": "b"}, "operator"),
        ({"effect": "NoSchedule"}, "operator"),
        ({"key": "a", "operator": "Exists", "value": "b"}, "operator"),
        ({"key": "a", "value": "b c"}, "operator"),
        ({"key": "a", "operator": "Gt", "value": "0550"}, "operator"),
        ({"key": "a", "operator": "Lt", "value": "5"}, "operator"),
        ({"key": "a b", "operator": "Exists"}, "key"),
        ({"key": "a", "effect": "Never"}, "effect"),
        ({"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}, "effect"),
        ({"key": "a", "tolerationSeconds": 0}, "effect"),
    ],
)
def test_tolerations_whose_members_do_not_go_together(members: Any, refused: str) -> None:
    assert paths(tolerating(**members)) == [f"tolerations[0].{refused}"]


@pytest.mark.parametrize(
    "members",
    [
        {"operator": "Exists"},
        {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1},
        {"key": "a"},
        {"key": "a", "operator": "", "value": "b", "effect": ""},
        {"key": "a", "operator": "Exists", "value": ""},
    ],
)
def test_tolerations_that_go_together(members: Any) -> None:
    assert paths(tolerating(**members)) == []


def spreading(labels: Any = None, **members: Any) -> Any:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **members}
    return pod({"labels": labels or {}}, topologySpreadConstraints=[constraint])


@pytest.mark.parametrize(
    ("manifest", "refused"),
    [
        (spreading(minDomains=2, whenUnsatisfiable="ScheduleAnyway"), ".minDomains"),
        (spreading(minDomains=0), ".minDomains"),
        (spreading(maxSkew=0), ".maxSkew"),
        (spreading(topologyKey=""), ".topologyKey"),
        (spreading(nodeTaintsPolicy=""), ".nodeTaintsPolicy"),
        (spreading(matchLabelKeys=["app"]), ".matchLabelKeys"),
        (spreading(matchLabelKeys=["x y"], labelSelector=SELECTOR), ".matchLabelKeys[0]"),
        (spreading(matchLabelKeys=[""], labelSelector=SELECTOR), ".matchLabelKeys[0]"),
        # the index of the key is all that the API server names
        (spreading({"app": "a"}, matchLabelKeys=["x", "app"], labelSelector=SELECTOR), "[1]"),
        (
            spreading(labelSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
            ".labelSelector.matchExpressions[0].values",
        ),
        (
            spreading(
                labelSelector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}
            ),
            ".labelSelector.matchExpressions[0].values",
        ),
    ],
)
def test_spread_constraints_that_no_server_takes(manifest: Any, refused: str) -> None:
    assert paths(manifest) == [f"topologySpreadConstraints[0]{refused}"]


@pytest.mark.parametrize(
    "manifest",
    [
        spreading(minDomains=2),
        spreading(topologyKey="any key"),
        spreading(matchLabelKeys=["app"], labelSelector=SELECTOR),
        spreading({"app": "a"}, matchLabelKeys=["rev"], labelSelector=SELECTOR),
        # as a cluster writes it: the expression is the one that it has added
        spreading(
            {"rev": "1"},
            matchLabelKeys=["rev"],
            labelSelector={"matchExpressions": [{"key": "rev", "operator": "In", "values": ["1"]}]},
        ),
        spreading(matchLabelKeys=[]),
    ],
)
def test_spread_constraints_that_servers_take(manifest: Any) -> None:
    assert paths(manifest) == []


def test_two_constraints_for_the_same_are_one_too_many() -> None:
    same = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    path = "topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}"
    assert paths(pod(topologySpreadConstraints=[same, {**same, "maxSkew": 2}])) == [path]
    assert paths(pod(topologySpreadConstraints=[same, {**same, "topologyKey": "rack"}])) == []


def on_nodes(**members: Any) -> Any:
    term = {"matchExpressions": [members]}
    return pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}})


def by_field(**members: Any) -> Any:
    return pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [members]}]}}})


@pytest.mark.parametrize(
    ("manifest", "refused"),
    [
        (on_nodes(key="a", operator="In"), f"{EXPRESSION}.values"),
        (on_nodes(key="a", operator="NotIn", values=[]), f"{EXPRESSION}.values"),
        (on_nodes(key="a", operator="Exists", values=["b"]), f"{EXPRESSION}.values"),
        (on_nodes(key="a", operator="Gt", values=["1", "2"]), f"{EXPRESSION}.values"),
        (on_nodes(key="a", operator="In", values=["b", "c d"]), f"{EXPRESSION}.values[1]"),
        (on_nodes(key="a", operator="Equal", values=["b"]), f"{EXPRESSION}.operator"),
        (on_nodes(key="a b", operator="Exists"), f"{EXPRESSION}.key"),
        (by_field(key="metadata.name", operator="In", values=["a", "b"]), f"{FIELD}.values"),
        (by_field(key="metadata.name", operator="In"), f"{FIELD}.values"),
        (by_field(key="metadata.name", operator="In", values=["A_b"]), f"{FIELD}.values[0]"),
        (by_field(key="metadata.name", operator="Exists"), f"{FIELD}.operator"),
        (by_field(key="metadata.uid", operator="In", values=["a"]), f"{FIELD}.key"),
        (
            pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}),
            f"{NODE}.{REQUIRED}.nodeSelectorTerms",
        ),
    ],
)
def test_node_affinity_that_no_server_takes(manifest: Any, refused: str) -> None:
    assert refused in paths(manifest)


def test_a_preference_may_name_values_that_no_label_has() -> None:
    expression = {"key": "a", "operator": "In", "values": ["b c"]}
    preference = {"weight": 1, "preference": {"matchExpressions": [expression]}}
    assert paths(pod(affinity={"nodeAffinity": {PREFERRED: [preference]}})) == []
    del expression["values"]
    assert paths(pod(affinity={"nodeAffinity": {PREFERRED: [preference]}})) == [
        f"{NODE}.{PREFERRED}[0].preference.matchExpressions[0].values"
    ]
    assert paths(on_nodes(key="a", operator="Gt", values=["5"])) == []
    assert paths(by_field(key="metadata.name", operator="NotIn", values=["n1"])) == []


def near(labels: Any = None, **members: Any) -> Any:
    term = {"topologyKey": ZONE, "labelSelector": SELECTOR, **members}
    return pod({"labels": labels or {}}, affinity={"podAffinity": {REQUIRED: [term]}})


@pytest.mark.parametrize(
    ("manifest", "refused"),
    [
        (near(namespaces=["ok", "Not_OK"]), f"{TERM}.namespace"),
        (near(namespaces=[""]), f"{TERM}.namespace"),
        (near(topologyKey="a b"), f"{TERM}.topologyKey"),
        (near(mismatchLabelKeys=["app"], labelSelector=None), f"{TERM}.mismatchLabelKeys"),
        (near(matchLabelKeys=["x"], mismatchLabelKeys=["x"]), f"{TERM}.matchLabelKeys[0]"),
        (near({"app": "a"}, matchLabelKeys=["app"]), f"{TERM}[0]"),
    ],
)
def test_terms_of_pod_affinity_that_no_server_takes(manifest: Any, refused: str) -> None:
    assert paths(manifest) == [refused]


def test_keys_of_a_preferred_term_are_found_in_it() -> None:
    term = {"topologyKey": ZONE, "labelSelector": SELECTOR, "matchLabelKeys": ["app"]}
    preferred = [{"weight": 1, "podAffinityTerm": term}]
    manifest = pod({"labels": {"app": "a"}}, affinity={"podAntiAffinity": {PREFERRED: preferred}})
    assert paths(manifest) == [f"affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm[0]"]
    assert paths(near({"app": "a"}, mismatchLabelKeys=["app"], namespaces=["ok"])) == []


def test_labels_of_a_template_are_not_added_to_selectors() -> None:
    assert paths(deployment(near({"app": "web"}, matchLabelKeys=["app"]))) == []


PORT = {"containerPort": 80, "hostPort": 8080}


@pytest.mark.parametrize(
    ("manifest", "refused"),
    [
        (pod(containers=[container(), container()]), "containers[1].name"),
        (pod(containers=[container("A")]), "containers[0].name"),
        (pod(initContainers=[container("i"), container("i")]), "initContainers[1].name"),
        (one(ports=[PORT, {**PORT, "containerPort": 81}]), "containers[0].ports[1].hostPort"),
        (
            pod(containers=[container(ports=[PORT]), container("b", ports=[{**PORT, "protocol": "TCP"}])]),
            "containers[1].ports[0].hostPort",
        ),
        (
            pod(containers=[container(ports=[PORT])], hostNetwork=True),
            "containers[0].ports[0].hostPort",
        ),
        (
            pod(
                containers=[
                    container(ports=[{"containerPort": 80}]),
                    container("b", ports=[{"containerPort": 80}]),
                ],
                hostNetwork=True,
            ),
            "containers[1].ports[0].hostPort",
        ),
        (pod(ephemeralContainers=[container("e")]), "ephemeralContainers"),
        (pod(nodeName="Node_1"), "nodeName"),
        (pod(nodeName="n", schedulingGates=[{"name": "a"}]), "nodeName"),
        (pod(schedulingGates=[{"name": "a"}, {"name": "a"}]), "schedulingGates[1]"),
        (pod(schedulingGates=[{"name": "a/b/c"}]), "schedulingGates[0]"),
        (pod(nodeSelector={"": "x"}), 'nodeSelector[""]'),
        (pod(nodeSelector={"a": "x y"}), "nodeSelector.a"),
        (pod(resourceClaims=[{"name": "c"}]), "resourceClaims[0]"),
        (
            pod(resourceClaims=[{"name": "c", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}]),
            "resourceClaims[0]",
        ),
        (
            pod(
                resourceClaims=[
                    {"name": "c", "resourceClaimName": "x"},
                    {"name": "c", "resourceClaimName": "y"},
                ]
            ),
            "resourceClaims[1].name",
        ),
        (one(resources={"claims": [{"name": "c"}]}), "containers[0].resources.claims[0]"),
        (pod(hostUsers=False, hostPID=True), "HostPID"),
        (pod(dnsPolicy="None"), "dnsConfig"),
        (pod(dnsConfig={"nameservers": ["10.0.0.01"]}), "dnsConfig.nameservers[0]"),
        (pod(dnsConfig={"nameservers": ["10.0.0.1"] * 4}), "dnsConfig.nameservers"),
        (pod(hostAliases=[{"ip": "1.2.3", "hostnames": ["a"]}]), "hostAliases[0].ip"),
        (pod(hostAliases=[{"ip": "::1", "hostnames": ["a", "A_b"]}]), "hostAliases[0].hostnames[1]"),
        (pod(hostnameOverride="a", hostNetwork=True), "hostnameOverride"),
        (pod(activeDeadlineSeconds=0), "activeDeadlineSeconds"),
        (pod(priorityClassName="High_1"), "priorityClassName"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(manifest: Any, refused: str) -> None:
    assert paths(manifest) == [refused]


CLAIMS = [{"name": "c", "resourceClaimName": "x"}]


@pytest.mark.parametrize(
    "manifest",
    [
        one(ports=[PORT, {**PORT, "hostIP": "10.0.0.1"}, {**PORT, "protocol": "UDP"}]),
        pod(containers=[container(ports=[{"containerPort": 80, "hostPort": 80}])], hostNetwork=True),
        pod(schedulingGates=[{"name": "a"}, {"name": "example.com/a"}]),
        pod(resourceClaims=CLAIMS, containers=[container(resources={"claims": [{"name": "c"}]})]),
        pod(hostUsers=False, hostNetwork=True),
        pod(schedulerName="any scheduler"),
        pod(
            {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}},
            dnsPolicy="None",
            dnsConfig={"nameservers": ["10.0.0.1"]},
        ),
    ],
)
def test_parts_that_go_together_are_taken(manifest: Any) -> None:
    assert paths(manifest) == []


@pytest.mark.parametrize(
    ("cost", "is_refused"), [("100", False), ("0", False), ("1.5", True), ("007", True), (str(2**31), True)]
)
def test_the_cost_of_deletion_is_a_number_of_32_bits(cost: str, is_refused: bool) -> None:
    found = paths(pod({"annotations": {"controller.kubernetes.io/pod-deletion-cost": cost}}))
    assert bool(found) == is_refused


@pytest.mark.parametrize(
    ("volumes", "refused"),
    [
        ([{"name": "a"}, {"name": "a"}], "volumes[1].name"),
        ([{"name": "A"}], "volumes[0].name"),
        ([{"name": "a", "secret": {"secretName": "s"}, "emptyDir": {}}], "volumes[0].secret"),
        ([{"name": "a", "persistentVolumeClaim": {}}], "volumes[0].persistentVolumeClaim.claimName"),
        ([{"name": "a", "ephemeral": {}}], "volumes[0].ephemeral.volumeClaimTemplate"),
        (
            [{"name": "a", "ephemeral": claim_template(name="x")}],
            "volumes[0].ephemeral.volumeClaimTemplate.metadata.name",
        ),
        (
            [
                {"name": "a", "ephemeral": claim_template()},
                {"name": "b", "persistentVolumeClaim": {"claimName": "web-a"}},
            ],
            "volumes[1].persistentVolumeClaim.claimName",
        ),
        ([{"name": "a", "hostPath": {"path": "/x/../y"}}], "volumes[0].hostPath.path"),
        ([{"name": "a", "hostPath": {"path": "/x", "type": "Disk"}}], "volumes[0].hostPath.type"),
        ([{"name": "a", "emptyDir": {"sizeLimit": "-1"}}], "volumes[0].emptyDir.sizeLimit"),
        ([{"name": "a", "emptyDir": {"sizeLimit": "much"}}], "volumes[0].emptyDir.sizeLimit"),
        (
            [{"name": "a", "configMap": {"name": "c", "items": [{"key": "k", "path": "/abs"}]}}],
            "volumes[0].configMap.items[0].path",
        ),
        ([{"name": "a", "csi": {"driver": "no driver"}}], "volumes[0].csi.driver"),
    ],
)
def test_volumes_that_no_server_takes(volumes: Any, refused: str) -> None:
    assert paths(pod(volumes=volumes)) == [refused]


def test_the_claim_of_an_ephemeral_volume_needs_a_name() -> None:
    volumes = [{"name": "a" * 60, "ephemeral": claim_template(labels={"a": "b"})}]
    assert paths(pod(volumes=volumes)) == []
    assert paths(pod({"name": "b" * 200}, volumes=volumes)) == ["volumes[0].name"]
