"""Rules of the API server for device claims, slices and pod groups: each by a right and a wrong object."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from .kinds import errors_of

REQUEST = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
PART = {"name": "big", "deviceClassName": "gpu.example.com"}
DEVICE: dict[str, Any] = {"name": "d0", "attributes": {"model": {"string": "a"}}}
SLICE = {
    "driver": "gpu.example.com",
    "nodeName": "n1",
    "pool": {"name": "n1", "generation": 0, "resourceSliceCount": 1},
    "devices": [DEVICE],
}
GROUP = {"schedulingPolicy": {"gang": {"minCount": 1}}}
ATTRIBUTE = "gpu.example.com/model"
CONDITIONS = {"bindingConditions": ["a"], "bindingFailureConditions": ["b"]}


def claim(**devices: Any) -> dict[str, Any]:
    """Return a claim with these members of its devices."""
    return _of("resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": [REQUEST], **devices}})


def exactly(**members: Any) -> dict[str, Any]:
    """Return a claim with one request that has these members."""
    return claim(requests=[{"name": "gpu", "exactly": {**REQUEST["exactly"], **members}}])  # type: ignore[dict-item]


def piece(**members: Any) -> dict[str, Any]:
    """Return a slice with these members of its spec; ``None`` removes one."""
    spec = {key: value for key, value in {**SLICE, **members}.items() if value is not None}
    return _of("resource.k8s.io/v1", "ResourceSlice", spec)


def device(**members: Any) -> dict[str, Any]:
    """Return a slice with one device that has these members."""
    return piece(devices=[{**DEVICE, **members}])


def group(**members: Any) -> dict[str, Any]:
    """Return a pod group with these members of its spec."""
    return _of("scheduling.k8s.io/v1alpha2", "PodGroup", {**GROUP, **members})


def workload(*templates: dict[str, Any]) -> dict[str, Any]:
    """Return a workload with these templates of groups."""
    return _of("scheduling.k8s.io/v1alpha2", "Workload", {"podGroupTemplates": list(templates)})


def device_class(**spec: Any) -> dict[str, Any]:
    """Return a device class."""
    return _of("resource.k8s.io/v1", "DeviceClass", spec)


def _of(version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    made = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    return copy.deepcopy(made)


REQUESTS = "spec.devices.requests"
OTHER = {**REQUEST, "name": "other"}
TOLERATION = {"operator": "Equal", "key": "a", "value": "b"}
MANY = [{**REQUEST, "name": f"r{i}"} for i in range(33)]
DEVICES = [{"name": f"d{i}"} for i in range(129)]
TAINT = {"key": "a", "effect": "NoSchedule"}
SELECTOR = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}
TEMPLATE = {"name": "t", **GROUP}
CLAIM = {"name": "c", "resourceClaimName": "x"}

CLAIMS = [
    (claim(), claim(requests=[{"name": "gpu"}]), f"{REQUESTS}[0]"),
    (claim(), claim(requests=[{**REQUEST, "firstAvailable": [PART]}]), f"{REQUESTS}[0]"),
    (claim(requests=[REQUEST, OTHER]), claim(requests=[REQUEST, REQUEST]), f"{REQUESTS}[1].name"),
    (claim(), claim(requests=[{**REQUEST, "name": "A"}]), f"{REQUESTS}[0].name"),
    (claim(requests=MANY[:32]), claim(requests=MANY), REQUESTS),
    (
        claim(requests=[{"name": "gpu", "firstAvailable": [PART, {**PART, "name": "small"}]}]),
        claim(requests=[{"name": "gpu", "firstAvailable": [PART, PART]}]),
        f"{REQUESTS}[0].firstAvailable[1].name",
    ),
    (exactly(allocationMode="All"), exactly(allocationMode="All", count=1), f"{REQUESTS}[0].exactly.count"),
    (exactly(count=1), exactly(count=-1), f"{REQUESTS}[0].exactly.count"),
    (exactly(), exactly(deviceClassName="A"), f"{REQUESTS}[0].exactly.deviceClassName"),
    (
        exactly(tolerations=[TOLERATION]),
        exactly(tolerations=[{**TOLERATION, "operator": "Exists"}]),
        f"{REQUESTS}[0].exactly.tolerations[0].value",
    ),
    (
        exactly(tolerations=[TOLERATION]),
        exactly(tolerations=[{**TOLERATION, "key": "a b"}]),
        f"{REQUESTS}[0].exactly.tolerations[0].key",
    ),
    (
        claim(constraints=[{"matchAttribute": ATTRIBUTE, "requests": ["gpu"]}]),
        claim(constraints=[{"matchAttribute": ATTRIBUTE, "requests": ["cpu"]}]),
        "spec.devices.constraints[0].requests[0]",
    ),
    (
        claim(constraints=[{"distinctAttribute": ATTRIBUTE}]),
        claim(constraints=[{"matchAttribute": "model"}]),
        "spec.devices.constraints[0].matchAttribute",
    ),
    (claim(), claim(constraints=[{}]), "spec.devices.constraints[0]"),
    (
        device_class(selectors=[{"cel": {"expression": "true"}}]),
        device_class(selectors=[{"cel": {"expression": "true || " * 2000 + "true"}}]),
        "spec.selectors[0].cel.expression",
    ),
    (
        device_class(extendedResourceName="example.com/gpu"),
        device_class(extendedResourceName="gpu"),
        "spec.extendedResourceName",
    ),
]
SLICES = [
    (piece(), piece(nodeName=None), "spec"),
    (piece(), piece(allNodes=True), "spec"),
    (piece(nodeName=None, allNodes=True), piece(allNodes=False), "spec.allNodes"),
    (piece(), piece(nodeName="A"), "spec.nodeName"),
    (
        piece(nodeName=None, nodeSelector=SELECTOR),
        piece(nodeName=None, nodeSelector={"nodeSelectorTerms": SELECTOR["nodeSelectorTerms"] * 2}),
        "spec.nodeSelector.nodeSelectorTerms",
    ),
    (piece(driver="Gpu.example.com"), piece(driver="a b"), "spec.driver"),
    (piece(), piece(pool={"name": "a//b", "resourceSliceCount": 1}), "spec.pool.name"),
    (piece(), piece(pool={"name": "a", "resourceSliceCount": 0}), "spec.pool.resourceSliceCount"),
    (piece(), piece(pool={"name": "a", "resourceSliceCount": 1, "generation": -1}), "spec.pool.generation"),
    (piece(devices=None, sharedCounters=[]), piece(sharedCounters=[]), "spec"),
    (piece(devices=DEVICES[:128]), piece(devices=DEVICES), "spec.devices"),
    (
        piece(devices=[{**DEVICES[0], "taints": [TAINT]}, *DEVICES[1:64]]),
        piece(devices=[{**DEVICES[0], "taints": [TAINT]}, *DEVICES[1:65]]),
        "spec.devices",
    ),
    (piece(), piece(devices=[DEVICE, DEVICE]), "spec.devices[1].name"),
    (device(name="d-1"), device(name="D"), "spec.devices[0].name"),
    (
        piece(nodeName=None, perDeviceNodeSelection=True, devices=[{"name": "d", "allNodes": True}]),
        piece(nodeName=None, perDeviceNodeSelection=True, devices=[{"name": "d"}]),
        "spec.devices[0]",
    ),
    (device(), device(nodeName="n1"), "spec.devices[0]"),
    (device(attributes={"a": {"int": 0}}), device(attributes={"a": {}}), "spec.devices[0].attributes.a"),
    (
        device(attributes={"a": {"bool": False}}),
        device(attributes={"a": {"int": 0, "bool": False}}),
        "spec.devices[0].attributes.a",
    ),
    (
        device(attributes={"a": {"version": "1.2.3-rc.1+b"}}),
        device(attributes={"a": {"version": "1.2"}}),
        "spec.devices[0].attributes.a.version",
    ),
    (
        device(attributes={"a": {"string": "x" * 64}}),
        device(attributes={"a": {"string": "x" * 65}}),
        "spec.devices[0].attributes.a.string",
    ),
    (
        device(attributes={"a": {"ints": [1]}}),
        device(attributes={"a": {"ints": []}}),
        "spec.devices[0].attributes.a.ints",
    ),
    (
        device(attributes={ATTRIBUTE: {"int": 1}}),
        device(attributes={"1a": {"int": 1}}),
        "spec.devices[0].attributes.1a",
    ),
    (
        device(capacity={"memory": {"value": "1"}}),
        device(capacity={"a b/memory": {"value": "1"}}),
        'spec.devices[0].capacity["a b/memory"]',
    ),
    (
        device(attributes={f"a{i}": {"int": i} for i in range(32)}),
        device(attributes={f"a{i}": {"int": i} for i in range(33)}),
        "spec.devices[0]",
    ),
    (
        device(attributes={"a": {"ints": list(range(48))}}),
        device(attributes={"a": {"ints": list(range(49))}}),
        "spec.devices[0]",
    ),
    (device(taints=[TAINT]), device(taints=[{**TAINT, "key": ""}]), "spec.devices[0].taints[0].key"),
    (
        device(**CONDITIONS),
        device(bindingConditions=["a"]),
        "spec.devices[0].bindingFailureConditions",
    ),
    (
        device(**CONDITIONS),
        device(**{**CONDITIONS, "bindingFailureConditions": ["a"]}),
        "spec.devices[0].bindingFailureConditions[0]",
    ),
    (
        device(consumesCounters=[{"counterSet": "c", "counters": {"m": {"value": "1"}}}]),
        device(consumesCounters=[{"counterSet": "c", "counters": {"M": {"value": "1"}}}]),
        "spec.devices[0].consumesCounters[0].counters.M",
    ),
]
GROUPS = [
    (group(), group(schedulingPolicy={}), "spec.schedulingPolicy"),
    (group(), group(schedulingPolicy={"basic": {}, "gang": {"minCount": 1}}), "spec.schedulingPolicy"),
    (group(), group(schedulingPolicy={"gang": {"minCount": 0}}), "spec.schedulingPolicy.gang.minCount"),
    (group(resourceClaims=[CLAIM]), group(resourceClaims=[{"name": "c"}]), "spec.resourceClaims[0]"),
    (
        group(resourceClaims=[CLAIM]),
        group(resourceClaims=[{**CLAIM, "resourceClaimTemplateName": "y"}]),
        "spec.resourceClaims[0]",
    ),
    (group(resourceClaims=[CLAIM]), group(resourceClaims=[CLAIM, CLAIM]), "spec.resourceClaims[1].name"),
    (
        group(resourceClaims=[{**CLAIM, "name": f"c{i}"} for i in range(4)]),
        group(resourceClaims=[{**CLAIM, "name": f"c{i}"} for i in range(5)]),
        "spec.resourceClaims",
    ),
    (
        group(schedulingConstraints={"topology": [{"key": "zone"}]}),
        group(schedulingConstraints={"topology": [{"key": "zone"}, {"key": "rack"}]}),
        "spec.schedulingConstraints.topology",
    ),
    (workload(TEMPLATE), workload(TEMPLATE, TEMPLATE), "spec.podGroupTemplates[1].name"),
]


@pytest.mark.parametrize(("right", "wrong", "path"), [*CLAIMS, *SLICES, *GROUPS])
def test_what_a_rule_refuses(right: dict[str, Any], wrong: dict[str, Any], path: str) -> None:
    assert not errors_of(right)
    errors = errors_of(wrong)
    assert path in [error.path for error in errors]
    assert all(error.problem and error.fix for error in errors)


def test_templates_of_claims_are_checked_as_claims_are() -> None:
    spec = claim(requests=[REQUEST, REQUEST])["spec"]
    template = _of("resource.k8s.io/v1", "ResourceClaimTemplate", {"spec": spec})
    assert [error.path for error in errors_of(template)] == ["spec.spec.devices.requests[1].name"]
