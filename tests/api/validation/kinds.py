"""Objects of each kind that an API server takes, to be changed by tests, and the paths of what is wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from schedframe.api import ADMISSION_KINDS, CONTROLLER_KINDS, from_manifest
from schedframe.errors import InputError

Manifest = dict[str, Any]
Row = tuple[Manifest, Manifest, str]
"""A change that is right, one that is wrong, and the path that the error has."""

KINDS = (*CONTROLLER_KINDS, *ADMISSION_KINDS)

_TEMPLATE: Manifest = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}]},
}
_SELECTOR = {"matchLabels": {"app": "web"}}
_JOB = {"template": {"spec": {**_TEMPLATE["spec"], "restartPolicy": "Never"}}}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

RIGHT: dict[str, Manifest] = {
    "Node": {"apiVersion": "v1", "spec": {}, "status": {"allocatable": {"cpu": "4"}}},
    "PersistentVolume": {
        "apiVersion": "v1",
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "disk.example.com", "volumeHandle": "v1"},
        },
    },
    "PersistentVolumeClaim": {"apiVersion": "v1", "spec": _CLAIM},
    "PodDisruptionBudget": {"apiVersion": "policy/v1", "spec": {"selector": _SELECTOR}},
    "PriorityClass": {"apiVersion": "scheduling.k8s.io/v1", "value": 100},
    "StorageClass": {"apiVersion": "storage.k8s.io/v1", "provisioner": "disk.example.com"},
    "Deployment": {"apiVersion": "apps/v1", "spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "ReplicaSet": {"apiVersion": "apps/v1", "spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "StatefulSet": {"apiVersion": "apps/v1", "spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "DaemonSet": {"apiVersion": "apps/v1", "spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "ReplicationController": {
        "apiVersion": "v1",
        "spec": {"selector": {"app": "web"}, "template": _TEMPLATE},
    },
    "Job": {"apiVersion": "batch/v1", "spec": _JOB},
    "CronJob": {
        "apiVersion": "batch/v1",
        "spec": {"schedule": "0 3 * * 1-5", "jobTemplate": {"spec": _JOB}},
    },
    "LimitRange": {"apiVersion": "v1", "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}},
    "ResourceQuota": {"apiVersion": "v1", "spec": {"hard": {"pods": "5"}}},
    "RuntimeClass": {"apiVersion": "node.k8s.io/v1", "handler": "kata"},
    "CSIDriver": {"apiVersion": "storage.k8s.io/v1", "spec": {}},
    "CSINode": {
        "apiVersion": "storage.k8s.io/v1",
        "spec": {"drivers": [{"name": "disk.example.com", "nodeID": "n1"}]},
    },
    "CSIStorageCapacity": {"apiVersion": "storage.k8s.io/v1", "storageClassName": "fast"},
    "VolumeAttachment": {
        "apiVersion": "storage.k8s.io/v1",
        "spec": {
            "attacher": "disk.example.com",
            "nodeName": "n1",
            "source": {"persistentVolumeName": "v1"},
        },
    },
}
"""Kind → a right manifest of it, without its name."""


def changed(kind: str, change: Manifest) -> Manifest:
    """Return a right manifest of *kind* with some members: path → value, ``None`` to remove it."""
    manifest = {"kind": kind, "metadata": {"name": "web"}, **copy.deepcopy(RIGHT[kind])}
    for path, value in change.items():
        *outer, last = path.split(".")
        inner: Any = manifest
        for key in outer:
            inner = inner.setdefault(key, {})
        if value is None:
            inner.pop(last, None)
        else:
            inner[last] = copy.deepcopy(value)
    return manifest


def errors_of(manifest: Manifest, *, required: bool = True) -> tuple[InputError, ...]:
    """Return what is wrong with *manifest*."""
    try:
        from_manifest(manifest, required=required, kinds=KINDS)
    except InputError as error:
        return error.errors
    return ()


def each_rule(rows: dict[str, list[Row]]) -> pytest.MarkDecorator:
    """Return a test's cases: kind, right, wrong and path."""
    cases = [
        pytest.param(kind, *row, id=f"{kind}-{index}-{row[2]}")
        for kind, of_kind in rows.items()
        for index, row in enumerate(of_kind)
    ]
    return pytest.mark.parametrize(("kind", "right", "wrong", "path"), cases)


def check_rule(kind: str, right: Manifest, wrong: Manifest, path: str) -> None:
    """Fail unless the right change is taken and the wrong one refused, with *path* and a fix."""
    assert not errors_of(changed(kind, right))
    errors = errors_of(changed(kind, wrong))
    assert path in [error.path for error in errors]
    assert all(error.problem and error.fix for error in errors)
