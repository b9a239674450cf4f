"""``schedframe schedule`` counts reasons that differ only in the names in them as one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]
Manifest = dict[str, Any]

CLASS = {
    "kind": "StorageClass",
    "apiVersion": "storage.k8s.io/v1",
    "metadata": {"name": "wait"},
    "provisioner": "disks.example.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}
CLAIM_SPEC = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "wait",
    "resources": {"requests": {"storage": "1Gi"}},
}


def claim(name: str, **fields: Any) -> Manifest:
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default"},
        "spec": CLAIM_SPEC,
        **fields,
    }


def with_claim(i: int) -> Manifest:
    return pod(f"p{i}", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": f"c{i}"}}])


def with_devices(i: int, **source: str) -> Manifest:
    return pod(f"p{i}", resourceClaims=[{"name": "gpu", **source}])


def pods_by_reason(cli: Cli, write: Write, *objects: Manifest) -> dict[str, int]:
    """Return reason → pods, of a cluster in which nothing is played for the manifests."""
    file = write("cluster.yaml", text(node("a"), CLASS, *objects))
    summary = json.loads(cli("schedule", file, "--without", "all", "-o", "json").out)["summary"]
    return {each["reason"]: each["pods"] for each in summary["pending_by_reason"]}


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ([with_claim(0), with_claim(1)], 'persistentvolumeclaim "…" not found'),
        (
            [with_claim(0), claim("c0"), with_claim(1), claim("c1")],
            "the pod waits in pre_bind of VolumeBinding",
        ),
        (
            [with_claim(i) for i in range(2)] + [claim(f"c{i}", status={"phase": "Lost"}) for i in range(2)],
            'persistentvolumeclaim "…" bound to non-existent persistentvolume "…"',
        ),
        (
            [with_devices(i, resourceClaimName=f"x{i}") for i in range(2)],
            'could not find ResourceClaim "…"',
        ),
        (
            [with_devices(i, resourceClaimTemplateName="t") for i in range(2)],
            'pod "…": ResourceClaim not created yet',
        ),
    ],
)
def test_names_in_reasons_do_not_tell_pods_apart(
    cli: Cli, write: Write, objects: list[Manifest], reason: str
) -> None:
    assert pods_by_reason(cli, write, *objects) == {reason: 2}


def test_the_message_of_each_pod_has_the_names(cli: Cli, write: Write) -> None:
    file = write("cluster.yaml", text(node("a"), with_claim(0), with_claim(1)))
    pods = json.loads(cli("schedule", file, "-o", "json").out)["pods"]
    assert [f'persistentvolumeclaim "c{i}" not found' in each["message"] for i, each in enumerate(pods)] == [
        True,
        True,
    ]
