"""What may be changed in an object that exists."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from schedframe.api.validation.updates import refused_update

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"app": "web"}},
    "spec": {
        "containers": [{"name": "main", "image": "a", "resources": {"requests": {"cpu": "1"}}}],
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "schedulingGates": [{"name": "one"}, {"name": "two"}],
        "nodeSelector": {"disk": "ssd"},
    },
}
VOLUME: dict[str, Any] = {
    "kind": "PersistentVolume",
    "metadata": {"name": "v"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "csi": {"driver": "d", "volumeHandle": "h"},
        "volumeMode": "Block",
    },
}
CLAIM: dict[str, Any] = {
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c"},
    "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
}
TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "main"}]}}
DEPLOYMENT: dict[str, Any] = {
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "d"}}, "template": TEMPLATE},
}
SET: dict[str, Any] = {
    **DEPLOYMENT,
    "kind": "StatefulSet",
    "spec": {**DEPLOYMENT["spec"], "volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
}
JOB: dict[str, Any] = {
    "kind": "Job",
    "metadata": {"name": "j"},
    "spec": {"parallelism": 1, "template": TEMPLATE},
}
NODE: dict[str, Any] = {
    "kind": "Node",
    "metadata": {"name": "n"},
    "spec": {},
    "status": {"allocatable": {"cpu": "1"}},
}
CLASS: dict[str, Any] = {"kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": "p"}


def changed(manifest: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """*manifest* with *value* at *path*; ``None`` removes it."""
    result = deepcopy(manifest)
    *parents, last = path.split(".")
    inner: Any = result
    for key in parents:
        inner = inner[int(key)] if isinstance(inner, list) else inner.setdefault(key, {})
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return result


@pytest.mark.parametrize(
    ("manifest", "path", "value"),
    [
        (POD, "metadata.labels.app", "other"),
        (POD, "metadata.annotations", {"note": "x"}),
        (POD, "spec.containers.0.image", "b"),
        (POD, "spec.tolerations", [*POD["spec"]["tolerations"], {"key": "b"}]),
        (POD, "spec.schedulingGates", [{"name": "two"}]),
        (POD, "spec.schedulingGates", None),
        (POD, "status", {"phase": "Running"}),
        (VOLUME, "spec.claimRef", {"name": "c"}),
        (VOLUME, "spec.capacity.storage", "2Gi"),
        (VOLUME, "spec.nodeAffinity", {"required": {}}),
        (CLAIM, "spec.resources.requests.storage", "2Gi"),
        (CLAIM, "spec.volumeName", "v"),
        (DEPLOYMENT, "spec.replicas", 3),
        (DEPLOYMENT, "spec.template.spec.nodeSelector", {"disk": "ssd"}),
        (SET, "spec.template.spec.containers.0.image", "b"),
        (JOB, "spec.parallelism", 2),
        (NODE, "spec.unschedulable", True),
        (NODE, "metadata.labels", {"disk": "ssd"}),
        (NODE, "status.allocatable.cpu", "2"),
        (CLASS, "allowVolumeExpansion", True),
    ],
)
def test_what_may_change(manifest: dict[str, Any], path: str, value: Any) -> None:
    assert refused_update(manifest, changed(manifest, path, value)) == []


@pytest.mark.parametrize(
    ("manifest", "path", "value", "refused"),
    [
        (POD, "metadata.name", "other", "metadata.name"),
        (POD, "spec.nodeSelector.disk", "hdd", "spec.nodeSelector.disk"),
        (POD, "spec.nodeSelector", None, "spec.nodeSelector"),
        (POD, "spec.affinity", {}, "spec.affinity"),
        (POD, "spec.tolerations", [], "spec.tolerations"),
        (POD, "spec.tolerations", None, "spec.tolerations"),
        (POD, "spec.schedulingGates", [{"name": "three"}], "spec.schedulingGates"),
        (POD, "spec.containers.0.resources.requests.cpu", "2", "spec.containers[].resources.requests.cpu"),
        (VOLUME, "spec.csi.volumeHandle", "other", "spec.csi.volumeHandle"),
        (VOLUME, "spec.csi", None, "spec.csi"),
        (VOLUME, "spec.volumeMode", "Filesystem", "spec.volumeMode"),
        (CLAIM, "spec.storageClassName", "slow", "spec.storageClassName"),
        (DEPLOYMENT, "spec.selector.matchLabels.app", "x", "spec.selector.matchLabels.app"),
        (SET, "spec.volumeClaimTemplates", [], "spec.volumeClaimTemplates"),
        (JOB, "spec.template.spec.nodeSelector", {"a": "b"}, "spec.template.spec.nodeSelector"),
        (CLASS, "provisioner", "other", "provisioner"),
    ],
)
def test_what_may_not(manifest: dict[str, Any], path: str, value: Any, refused: str) -> None:
    (error,) = refused_update(manifest, changed(manifest, path, value))
    assert error.path == refused
    assert error.problem == f"cannot be changed in a {manifest['kind']} that exists"


def test_a_volume_that_is_tied_stays_where_it_is_and_a_claim_keeps_its_volume() -> None:
    tied = changed(VOLUME, "spec.nodeAffinity", {"required": {"nodeSelectorTerms": []}})
    assert refused_update(tied, VOLUME)
    bound = changed(CLAIM, "spec.volumeName", "v")
    assert refused_update(bound, changed(CLAIM, "spec.volumeName", "w"))
