"""Kinds and versions: what Kubernetes serves, served once, and never had; custom resources."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from schedframe.api import CONTROLLER_KINDS, KINDS, UnknownKindError, from_manifest, load_manifests
from schedframe.api.kinds import kind_label, near_version
from schedframe.errors import InputError

SERVED = json.loads(files("schedframe.api.validation").joinpath("kinds.json").read_text(encoding="utf-8"))[
    "served"
]
"""Made by ``docs/_tools/published_kinds.py``, which says from what."""


def error_of(version: str | None, kind: str, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        from_manifest({"apiVersion": version, "kind": kind}, kinds=CONTROLLER_KINDS, **options)
    return caught.value


@pytest.mark.parametrize("cls", [*KINDS.values(), *CONTROLLER_KINDS])
def test_every_kind_that_is_read_is_served_in_the_version_of_its_class(cls: Any) -> None:
    assert cls.KIND in SERVED[cls.API_VERSION]


@pytest.mark.parametrize(("version", "kinds"), SERVED.items())
def test_every_kind_that_is_served_is_read_or_left_out(version: str, kinds: list[str]) -> None:
    read = {cls.KIND for cls in (*KINDS.values(), *CONTROLLER_KINDS)}
    for kind in kinds:
        manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}
        if kind in read:
            assert kind == from_manifest(manifest, kinds=CONTROLLER_KINDS).KIND
        else:
            with pytest.raises(UnknownKindError):
                from_manifest(manifest, kinds=CONTROLLER_KINDS)
            assert kind_label(manifest) == kind


@pytest.mark.parametrize(
    ("version", "kind", "path", "fix"),
    [
        ("apps/v1", "Deployement", "kind", "did you mean Deployment?"),
        ("apps/v1", "deployment", "kind", "did you mean Deployment?"),
        ("apps/v1", "DEPLOYMENT", "kind", "did you mean Deployment?"),
        ("apps/v1", "Statefulset", "kind", "did you mean StatefulSet?"),
        ("v1", "pod", "kind", "did you mean Pod?"),
        ("v1", "Configmap", "kind", "did you mean ConfigMap?"),
        ("batch/v1", "Cronjob", "kind", "did you mean CronJob?"),
        ("policy/v1", "PodDisruptionBudgets", "kind", "did you mean PodDisruptionBudget?"),
        ("apps/v1", "Pod", "apiVersion", "write v1"),
        ("v1", "Deployment", "apiVersion", "write apps/v1"),
        ("batch/v1", "Deployment", "apiVersion", "write apps/v1"),
        ("v1", "Ingress", "apiVersion", "write networking.k8s.io/v1"),
        ("extensions/v1beta1", "Job", "apiVersion", "write batch/v1"),
        ("apps/v2", "StatefulSet", "apiVersion", "write apps/v1"),
        ("v2", "Pod", "apiVersion", "write v1"),
        ("", "Pod", "apiVersion", "write v1"),
        ("apps", "Deployment", "apiVersion", "write apps/v1"),
        ("apps/v1alpha1", "Deployment", "apiVersion", "write apps/v1"),
        ("policy/v2", "PodDisruptionBudget", "apiVersion", "write policy/v1"),
        ("resource.k8s.io/v3", "ResourceClaim", "apiVersion", "write resource.k8s.io/v1"),
        ("autoscaling/v3", "HorizontalPodAutoscaler", "apiVersion", "write autoscaling/v2"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_what_no_api_server_has_is_an_error(
    version: str, kind: str, path: str, fix: str, strict: bool
) -> None:
    error = error_of(version, kind, strict=strict)
    assert not isinstance(error, UnknownKindError)
    assert (error.path, error.fix) == (path, fix)
    assert kind in error.problem


def test_a_kind_that_is_like_no_other_names_those_of_its_group() -> None:
    assert error_of("batch/v1", "Xyzzy").fix == "it has CronJob, Job"
    assert "not served any more" in error_of("extensions/v1beta1", "Xyzzy").fix
    assert error_of(None, "Deployement").fix == "did you mean Deployment?"
    assert isinstance(error_of(None, "Xyzzy"), UnknownKindError)


@pytest.mark.parametrize(
    ("version", "kind", "since", "successor"),
    [
        ("apps/v1beta1", "Deployment", "1.16", "apps/v1"),
        ("apps/v1beta2", "DaemonSet", "1.16", "apps/v1"),
        ("extensions/v1beta1", "Deployment", "1.16", "apps/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", "1.25", "policy/v1"),
        ("batch/v1beta1", "CronJob", "1.25", "batch/v1"),
        ("storage.k8s.io/v1beta1", "StorageClass", "1.22", "storage.k8s.io/v1"),
        ("scheduling.k8s.io/v1beta1", "PriorityClass", "1.22", "scheduling.k8s.io/v1"),
    ],
)
def test_versions_that_are_no_longer_served(version: str, kind: str, since: str, successor: str) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
    job = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
    spec = {"CronJob": job, "Deployment": {"template": template}, "DaemonSet": {"template": template}}
    manifest: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}
    manifest |= {"spec": spec[kind]} if kind in spec else {}
    problems: list[InputError] = []
    error = error_of(version, kind)
    assert (error.path, error.fix) == ("apiVersion", f"write {successor}")
    assert error.problem == f"Kubernetes {since} and later do not serve {kind} in {version}"
    lenient = from_manifest(manifest, kinds=CONTROLLER_KINDS, strict=False)
    assert kind == lenient.KIND
    assert from_manifest(manifest, kinds=CONTROLLER_KINDS, strict=problems.append) == lenient
    assert [each.path for each in problems] == ["apiVersion"]


@pytest.mark.parametrize(("version", "has_default"), [("extensions/v1beta1", True), ("apps/v1beta2", False)])
def test_the_first_versions_select_the_labels_of_the_template(version: str, has_default: bool) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
    manifest = {"apiVersion": version, "kind": "Deployment", "spec": {"template": template}}
    made: Any = from_manifest(manifest, kinds=CONTROLLER_KINDS, strict=False)
    given = from_manifest(
        {**manifest, "spec": {"template": template, "selector": {"matchLabels": {"a": "b"}}}},
        kinds=CONTROLLER_KINDS,
        strict=False,
    )
    assert (made == given) is has_default
    for broken in (5, {"template": 5}, {"template": {"metadata": {"labels": 5}}}):
        with pytest.raises(InputError):
            from_manifest({**manifest, "spec": broken}, kinds=CONTROLLER_KINDS, strict=False)


def test_former_versions_of_kinds_that_are_not_read() -> None:
    assert error_of("extensions/v1beta1", "Ingress").fix == "write networking.k8s.io/v1"
    assert error_of("policy/v1beta1", "PodSecurityPolicy").fix == "remove it; nothing took its place"
    assert error_of("rbac.authorization.k8s.io/v1alpha1", "Role").problem.startswith(
        "Kubernetes does not serve"
    )
    problems: list[InputError] = []
    assert isinstance(error_of("extensions/v1beta1", "Ingress", strict=problems.append), UnknownKindError)
    assert isinstance(error_of("extensions/v1beta1", "Ingress", strict=False), UnknownKindError)
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("monitoring.coreos.com/v1", "ServiceMonitor"),
        ("gateway.networking.k8s.io/v1", "Gateway"),
        ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"),
        ("cert-manager.io/v1", "Certificate"),
        ("autoscaling.k8s.io/v1", "VerticalPodAutoscaler"),
        ("serving.knative.dev/v1", "Service"),
        ("apps.kruise.io/v1alpha1", "StatefulSet"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("scheduling.volcano.sh/v1beta1", "PodGroup"),
        ("kustomize.config.k8s.io/v1beta1", "Kustomization"),
        ("example.com/v1", "Deployement"),
    ],
)
def test_custom_resources_are_left_out_with_their_version(version: str, kind: str) -> None:
    manifest = {"apiVersion": version, "kind": kind}
    assert isinstance(error_of(version, kind), UnknownKindError)
    assert kind_label(manifest) == f"{version}/{kind}"
    assert near_version(manifest) is None


@pytest.mark.parametrize(
    ("version", "kind", "meant"),
    [
        ("app/v1", "Deployment", "apps/v1"),
        ("app/v1", "Anything", "apps/v1"),
        ("aps/v1", "DaemonSet", "apps/v1"),
        ("apsp/v1", "Deployment", "apps/v1"),
        ("Apps/v1", "Deployment", "apps/v1"),
        ("btch/v1", "Job", "batch/v1"),
        ("storage.k8s.oi/v1", "StorageClass", "storage.k8s.io/v1"),
        ("storage/v1", "StorageClass", "storage.k8s.io/v1"),
        ("apps.k8s.io/v1", "Deployment", "apps/v1"),
        ("core/v1", "Pod", "v1"),
        ("rbac/v1", "Role", "rbac.authorization.k8s.io/v1"),
    ],
)
def test_a_group_that_is_almost_one_of_kubernetes(version: str, kind: str, meant: str) -> None:
    problem = near_version({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}})
    assert problem is not None
    assert problem.path == "apiVersion"
    assert problem.fix == f"did you mean {meant}?"
    assert isinstance(error_of(version, kind), UnknownKindError)
    assert problem.fix in str(error_of(version, kind))


# ---- devices: older shapes -----------------------------------------------------------------------------

REQUEST = {"name": "gpu", "deviceClassName": "gpu", "count": 2, "allocationMode": "ExactCount"}
ALTERNATIVES = {"name": "any", "firstAvailable": [{"name": "big", "deviceClassName": "gpu"}]}
BASIC = {"attributes": {"model": {"string": "a"}}, "capacity": {"memory": {"value": "8Gi"}}}
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}


def claim(version: str, *requests: Any, kind: str = "ResourceClaim") -> dict[str, Any]:
    spec: dict[str, Any] = {"devices": {"requests": list(requests)}}
    spec = {"spec": spec} if kind == "ResourceClaimTemplate" else spec
    manifest = {"apiVersion": f"resource.k8s.io/{version}", "kind": kind}
    return {**manifest, "metadata": {"name": "c", "namespace": "default"}, "spec": spec}


def offer(version: str, device: Any) -> dict[str, Any]:
    manifest = {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceSlice"}
    spec = {"driver": "d.example.com", "nodeName": "n", "pool": POOL, "devices": [device]}
    return {**manifest, "metadata": {"name": "s"}, "spec": spec}


def exact(request: dict[str, Any]) -> dict[str, Any]:
    return {"name": request["name"], "exactly": {k: v for k, v in request.items() if k != "name"}}


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_requests_of_older_versions_are_those_of_v1(kind: str) -> None:
    wanted = from_manifest(claim("v1", exact(REQUEST), ALTERNATIVES, kind=kind))
    assert from_manifest(claim("v1beta2", exact(REQUEST), ALTERNATIVES, kind=kind)) == wanted
    assert from_manifest(claim("v1beta1", REQUEST, ALTERNATIVES, kind=kind)) == wanted
    assert from_manifest(claim("v1alpha3", REQUEST, ALTERNATIVES, kind=kind), strict=False) == wanted


def test_devices_of_older_versions_are_those_of_v1() -> None:
    wanted = from_manifest(offer("v1", {"name": "d0", **BASIC}))
    assert from_manifest(offer("v1beta1", {"name": "d0", "basic": BASIC})) == wanted
    plain = {**BASIC, "capacity": {"memory": "8Gi"}}
    assert from_manifest(offer("v1alpha3", {"name": "d0", "basic": plain}), strict=False) == wanted


@pytest.mark.parametrize(
    ("manifest", "paths"),
    [
        (claim("v1beta1", REQUEST | {"cout": 1}), ["spec.devices.requests[0].cout"]),
        (claim("v1beta1", REQUEST | {"count": "x"}), ["spec.devices.requests[0].count"]),
        (claim("v1beta1", exact(REQUEST)), ["spec.devices.requests[0].exactly"]),
        (
            claim("v1beta1", REQUEST | {"count": "x"}, kind="ResourceClaimTemplate"),
            ["spec.spec.devices.requests[0].count"],
        ),
        (offer("v1beta1", {"name": "d0", "basic": {"atributes": {}}}), ["spec.devices[0].basic.atributes"]),
        (offer("v1beta1", {"name": 5, "basic": {}}), ["spec.devices[0].name"]),
        (claim("v1beta1", 5), ["spec.devices.requests[0]"]),
        (claim("v1beta1") | {"spec": {"devices": {"requests": 5}}}, ["spec.devices.requests"]),
    ],
)
def test_errors_in_older_shapes_have_the_paths_of_the_manifest(manifest: Any, paths: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        from_manifest(manifest)
    assert [each.path for each in caught.value.errors] == paths


@pytest.mark.parametrize("strict", [True, False])
def test_shapes_that_cannot_be_converted_say_so(strict: bool) -> None:
    error = error_of("resource.k8s.io/v1alpha2", "ResourceClaim", strict=strict)
    assert not isinstance(error, UnknownKindError)
    assert error.fix == "convert it to resource.k8s.io/v1"


# ---- lists ----------------------------------------------------------------------------------------------

NESTED = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: PodList
  items:
  - metadata: {name: a}
  - metadata: {name: b}
    spec: {nodeNam: n}
- apiVersion: v1
  kind: List
  items:
  - kind: List
    items:
    - kind: Node
      metadata: {name: n, nam: x}
      metadata: {name: n, nam: x}
- kind: ServiceMonitorList
  apiVersion: monitoring.coreos.com/v1
  items: [{metadata: {name: m}}]
"""


def test_lists_in_lists_are_read_at_any_depth_with_their_lines() -> None:
    problems: list[InputError] = []
    skipped: list[tuple[str, str]] = []
    found = load_manifests(
        NESTED,
        strict=problems.append,
        on_unknown=lambda place, manifest: skipped.append((place, kind_label(manifest))),
    )
    assert [(place, obj.KIND, obj.name) for place, obj in found] == [
        ("line 7: item 0, item 0", "Pod", "a"),
        ("line 8: item 0, item 1", "Pod", "b"),
        ("line 15: item 1, item 0, item 0", "Node", "n"),
    ]
    assert [(each.location, each.path) for each in problems] == [
        ("line 17: item 1, item 0, item 0, Node n", "metadata"),
        ("line 9: item 0, item 1, Pod b", "spec.nodeNam"),
        ("line 17: item 1, item 0, item 0, Node n", "metadata.nam"),
    ]
    assert skipped == [("line 20: item 2, item 0", "monitoring.coreos.com/v1/ServiceMonitor")]


def test_a_list_without_a_list_in_a_list_is_an_error() -> None:
    text = "kind: List\nitems:\n- kind: List\n  items: {kind: Pod}\n"
    with pytest.raises(InputError, match="line 4: item 0, List: items: expected a list"):
        list(load_manifests(text))


def test_items_have_the_version_of_their_list() -> None:
    text = "{apiVersion: apps/v1beta1, kind: DeploymentList, items: [{metadata: {name: a}}]}"
    with pytest.raises(InputError, match="Deployment in apps/v1beta1"):
        list(load_manifests(text, kinds=CONTROLLER_KINDS))
