"""Hidden names: decisions on a snapshot are the same, and each text is replaced by one of its sort."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import plugins_builtin._volumes_in_tree as in_tree
import schedframe
from plugins_builtin.legacy.plugins import volume_limits
from plugins_builtin.node_declared_features import REQUIRED_BY
from schedframe import Simulation
from schedframe.api import from_manifest
from schedframe.api.manifest import to_manifest
from schedframe.cli.offline.anonymize import MIGRATED_PLUGINS, WORDS
from schedframe.cli.offline.device_kinds import KIND_ATTRIBUTE
from schedframe.cli.offline.replacements import (
    _NITRO,
    IN_TREE,
    INSTANCE_TYPES,
    OWN_KEYS,
    ZONES,
    Replacements,
)
from schedframe.config import ConfigValidationError
from schedframe.testing import strategies
from tests.conformance.corpus import Corpus
from tests.profiles import sample

from .taken import Manifest, loaded, snapshots

FAMILIES = (
    "dra",
    "dra_more",
    "images",
    "inter_pod_affinity",
    "mixed",
    "node_affinity",
    "ports",
    "preemption",
    "profiles",
    "resources",
    "taints",
    "topology_spread",
    "volumes",
    "volumes_more",
)
# ---- decisions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_cases_are_decided_the_same(family: str) -> None:
    decided = 0
    for case in sample(Corpus().cases(family), 50):
        try:
            config = loaded(case["config"])
        except ConfigValidationError:
            continue  # recorded to be refused
        given_ = [*case["objects"], case["pod"]]
        objects = [from_manifest(each, strict=False) for each in given_]
        plain, after, hidden = snapshots(objects, config)
        name, hidden_config = hidden.names.text, hidden.configuration(config.to_manifest())
        before = schedframe.evaluate(given_[:-1], given_[-1], case["config"], strict=False)
        kept = schedframe.evaluate(plain[:-1], plain[-1], case["config"], strict=False)
        found = schedframe.evaluate(after[:-1], after[-1], hidden_config)
        assert (kept.feasible, kept.total) == (before.feasible, before.total), case["name"]
        assert found.feasible == sorted(map(name, before.feasible)), case["name"]
        assert found.total == {name(node): total for node, total in before.total.items()}, case["name"]
        decided += 1
    assert decided


LABELS: Mapping[str, tuple[str, ...]] = {
    "topology.kubernetes.io/zone": ("us-east1-b", "us-east1-c", "z"),
    "example.com/rack": ("9", "10", "010", "-1", "red"),
    "team": ("a", "a-b", "a.b"),
}


@st.composite
def clusters(draw: st.DrawFn) -> list[Any]:
    """Nodes and pods that select them by numbers and words, with tolerations, and pods that run."""
    nodes = draw(st.lists(strategies.nodes(labels=LABELS), min_size=1, max_size=5))
    pods = draw(st.lists(strategies.pods(labels=LABELS), min_size=1, max_size=6))
    objects = [to_manifest(_named(each, f"n{i}-{i % 2}")) for i, each in enumerate(nodes)]
    for i, each in enumerate(pods):
        pod = to_manifest(_named(each, f"p{9 - i}"))
        operator = draw(st.sampled_from(("Gt", "Lt", "In", "NotIn")))
        key = draw(st.sampled_from(sorted(LABELS)))
        value = draw(st.sampled_from(LABELS[key] if operator in ("In", "NotIn") else ("9", "10", "-5")))
        expression = {"key": key, "operator": operator, "values": [value]}
        if draw(st.booleans()):
            pod["spec"]["affinity"] = {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [expression]}]
                    }
                }
            }
        objects.append(pod)
    return [from_manifest(each, strict=False) for each in objects]


def _named(obj: Any, name: str) -> Any:
    return evolve(obj, metadata=evolve(obj.metadata, name=name, uid=f"uid of {name}"))


@given(clusters(), st.integers(0, 3))
def test_random_clusters_are_scheduled_the_same(objects: list[Any], seed: int) -> None:
    plain, hidden_manifests, hidden = snapshots(objects)
    before = Simulation(objects, seed=seed, strict=False).schedule()
    kept = Simulation(plain, seed=seed, strict=False).schedule()
    after = Simulation(hidden_manifests, seed=seed).schedule()
    name = hidden.names.text
    assert [(each.pod.key, each.node_name) for each in kept] == [
        (each.pod.key, each.node_name) for each in before
    ]
    assert [(each.pod.name, each.node_name) for each in after] == [
        (name(each.pod.name), None if each.node_name is None else name(each.node_name)) for each in before
    ]


# ---- single rules ------------------------------------------------------------------------------------------


def replaced(*texts: str) -> tuple[Replacements, list[str]]:
    names = Replacements()
    for text in texts:
        names.text(text)
    names.close()
    return names, [names.text(text) for text in texts]


def test_replacements_come_in_the_order_of_the_originals() -> None:
    texts = ["web-10", "web-2", "db", "15", "zoo", "web"]
    _, found = replaced(*texts)
    assert [found.index(each) for each in sorted(found)] == [texts.index(each) for each in sorted(texts)]
    assert not set(texts).intersection(found)
    # db and 15 may be two digits of a hash
    assert all(text not in each for text, each in zip(texts, found, strict=True) if text not in ("db", "15"))


def test_each_snapshot_has_its_own_hashes() -> None:
    assert replaced("name")[1] != replaced("name")[1]


def test_values_that_are_compared_as_numbers_stay_numbers_in_their_order() -> None:
    names = Replacements()
    names.compare("gen")
    texts = ["-3", "7", "07", "10", "9999999999999999999", "x"]
    for text in texts:
        names.value("gen", text)
    names.close()
    low, seven, other, ten, *words = [names.value("gen", text) for text in texts]
    assert int(low) < int(seven) == int(other) < int(ten)
    assert seven != other
    assert not any(word.isdigit() for word in words)
    assert not names.value("other", "7").isdigit()


@pytest.mark.parametrize(
    ("resource", "begins", "ends"),
    [
        ("cpu", "cpu", "cpu"),
        ("hugepages-2Mi", "hugepages-2Mi", "hugepages-2Mi"),
        ("acme.com/gpu", "d", ""),
        ("x.kubernetes.io/gpu", "d", ""),
        ("deviceclass.resource.kubernetes.io/acme", "deviceclass.resource.kubernetes.io/x", ""),
        ("requests.acme.com/gpu", "requests.x", ""),
        ("attachable-volumes-csi-acme", "attachable-volumes-x", ""),
    ],
)
def test_resources_stay_native_or_extended(resource: str, begins: str, ends: str) -> None:
    names = Replacements()
    names.resource(resource)
    names.close()
    hidden = names.resource(resource)
    assert hidden.startswith(begins)
    assert hidden.endswith(ends)
    assert ("kubernetes.io/" in hidden) == ("kubernetes.io/" in resource)
    assert "acme" not in hidden


def test_resources_of_one_domain_stay_in_one() -> None:
    names = Replacements()
    one, other = names.resource("acme.com/a"), names.resource("acme.com/b")
    assert one.partition("/")[0] == other.partition("/")[0] == names.domain("acme.com")
    assert one != other


def test_zones_keep_their_region_and_disks_their_zone() -> None:
    key = "topology.kubernetes.io/zone"
    names = Replacements()
    names.value(key, "us-east1-b__us-east1-c")
    names.close()
    first, _, second = names.value(key, "us-east1-b__us-east1-c").partition("__")
    assert first.count("-") == 2
    assert first.rpartition("-")[0] == second.rpartition("-")[0]
    assert first != second
    assert first in names.handle("projects/UNSPECIFIED/zones/us-east1-b/disks/d")
    assert names.handle("aws://us-1a/vol-1").rpartition("/")[2] == names.handle("vol-1")
    assert "node-role.kubernetes.io/acme" not in OWN_KEYS


CLASS = "gpu.acme.com"
DEVICES = (
    {"name": "d0", "attributes": {"model": {"string": "secret-a"}, "uuid": {"string": "serial-1"}}},
    {"name": "d1", "attributes": {"model": {"string": "secret-b"}, "numa": {"int": 7}}},
)
SLICE = {
    "kind": "ResourceSlice",
    "apiVersion": "resource.k8s.io/v1",
    "metadata": {"name": "slice"},
    "spec": {
        "driver": CLASS,
        "nodeName": "alpha",
        "pool": {"name": "alpha", "generation": 1, "resourceSliceCount": 1},
        "devices": list(DEVICES),
    },
}


def with_selector(expression: str) -> list[Manifest]:
    head = {"apiVersion": "resource.k8s.io/v1"}
    selectors = [{"cel": {"expression": expression}}]
    exactly = {"deviceClassName": CLASS, "allocationMode": "ExactCount", "count": 1}
    claim = {"requests": [{"name": "r", "exactly": exactly}]}
    claims = [{"name": "c", "resourceClaimName": "claim"}]
    containers = [{"name": "c", "resources": {"claims": [{"name": "c"}]}}]
    return [
        {"kind": "Node", "metadata": {"name": "alpha"}, "status": {"allocatable": {"pods": "9"}}},
        SLICE,
        {**head, "kind": "DeviceClass", "metadata": {"name": CLASS}, "spec": {"selectors": selectors}},
        {**head, "kind": "ResourceClaim", "metadata": {"name": "claim"}, "spec": {"devices": claim}},
        {
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": containers, "resourceClaims": claims},
        },
    ]


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        (f"device.attributes['{CLASS}'].model == 'secret-a'", True),
        (f"device.attributes['{CLASS}'].model == 'other'", False),
        (f"device.driver == '{CLASS}'", True),
        (f"device.attributes['{CLASS}'].numa == 7", False),  # fails for the first device
        (f"device.attributes['{CLASS}'].model == 'secret-a' && !device.allowMultipleAllocations", True),
        ("not an expression", False),
    ],
)
def test_selectors_become_the_devices_that_they_select(expression: str, fits: bool) -> None:
    manifests = with_selector(expression)
    _, hidden, _ = snapshots([from_manifest(each, strict=False) for each in manifests])
    text = json.dumps(hidden)
    assert not any(word in text for word in ("secret", "serial", "acme", "numa", 'expression": "not'))
    assert KIND_ATTRIBUTE in text
    (before,) = Simulation(manifests, strict=False).schedule()
    (after,) = Simulation(hidden).schedule()
    assert (before.node_name is not None) == (after.node_name is not None) == fits


CONFIG = {
    "kind": "KubeSchedulerConfiguration",
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "clientConnection": {"kubeconfig": "/home/acme/config"},
    "leaderElection": {"leaderElect": False, "resourceName": "acme"},
    "profiles": [
        {
            "schedulerName": "acme-scheduler",
            "pluginConfig": [
                {
                    "name": "NodeAffinity",
                    "args": {
                        "addedAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {
                                        "matchExpressions": [
                                            {"key": "acme", "operator": "In", "values": ["acme-1"]}
                                        ]
                                    }
                                ]
                            }
                        }
                    },
                },
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "ignoredResources": ["acme.com/x"],
                        "ignoredResourceGroups": ["acme.com"],
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [
                                {"name": "acme.com/gpu", "weight": 3},
                                {"name": "cpu", "weight": 1},
                            ],
                        },
                    },
                },
                {
                    "name": "PodTopologySpread",
                    "args": {
                        "defaultingType": "List",
                        "defaultConstraints": [
                            {"maxSkew": 1, "topologyKey": "acme", "whenUnsatisfiable": "DoNotSchedule"}
                        ],
                    },
                },
            ],
        }
    ],
    "extenders": [
        {
            "urlPrefix": "https://acme.example.com/",
            "filterVerb": "acme",
            "managedResources": [{"name": "acme.com/gpu", "ignoredByScheduler": True}],
            "ignorable": True,
        }
    ],
}


def test_names_in_the_configuration_are_replaced_alike() -> None:
    config = loaded(CONFIG)
    node = {
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"acme": "acme-1"}},
        "status": {"allocatable": {"cpu": "4", "pods": "9"}},
    }
    requests = {"requests": {"cpu": "1", "acme.com/x": "1", "acme.com/gpu": "1"}}
    spec = {"schedulerName": "acme-scheduler", "containers": [{"name": "c", "resources": requests}]}
    pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    _, after, hidden = snapshots([from_manifest(each) for each in (node, pod)], config)
    hidden_config = hidden.configuration(config.to_manifest())
    assert "acme" not in json.dumps(hidden_config)
    assert "MostAllocated" in json.dumps(hidden_config)
    local = {key: value for key, value in CONFIG.items() if key != "extenders"}
    without_extenders = {key: value for key, value in hidden_config.items() if key != "extenders"}
    (before,) = Simulation([node, pod], local).schedule()
    (found,) = Simulation(after, without_extenders).schedule()
    assert before.node_name == "n"
    assert found.node_name == hidden.names.text("n")


def test_a_claim_of_an_ephemeral_volume_is_named_by_its_pod_and_volume() -> None:
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    pod = {"kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [], "volumes": volumes}}
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "web-scratch"}, "spec": template["spec"]}
    _, (hidden_pod, hidden_claim), _ = snapshots([from_manifest(each, strict=False) for each in (pod, claim)])
    names = hidden_pod["metadata"]["name"], hidden_pod["spec"]["volumes"][0]["name"]
    assert hidden_claim["metadata"]["name"] == "-".join(names)


def test_the_rules_are_those_of_the_plugins() -> None:
    assert {name for each in in_tree.PLUGINS for name in (each.name, each.driver)} < IN_TREE
    assert {each.topology_key for each in in_tree.PLUGINS if each.topology_key} < ZONES
    assert {in_tree.ZONE, in_tree.BETA_ZONE} < ZONES
    assert {in_tree.REGION, in_tree.BETA_REGION} < OWN_KEYS
    assert set(volume_limits._INSTANCE_TYPE) == INSTANCE_TYPES
    assert volume_limits._EBS_NITRO == _NITRO
    assert in_tree.MIGRATED_PLUGINS == MIGRATED_PLUGINS
    assert set(REQUIRED_BY) <= WORDS
