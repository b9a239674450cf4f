"""Decoding: fields that scheduling never reads make no difference, and equal values are one object."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schedframe.api import KINDS, Node, Pod, from_manifest
from schedframe.cluster.kubernetes.decoding import LAST_APPLIED, Decoder, WatchFailure
from schedframe.errors import ClusterError

from .scripted import listed, pod


def decoded(cls: Any, *manifests: dict[str, Any]) -> list[Any]:
    return Decoder(cls).page(json.dumps(listed("1", *manifests)).encode()).objects


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_decoder(kind: str) -> None:
    manifest = {"metadata": {"name": "a", "managedFields": [{"manager": "x"}], "labels": {"a": "b"}}}
    assert decoded(KINDS[kind], manifest)[0].labels == {"a": "b"}


def workload_pod(number: int) -> dict[str, Any]:
    made = pod(f"web-{number}", str(number), node="n1", phase="Running", podIP=f"10.0.0.{number}")
    token = f"kube-api-access-{number}"
    made["metadata"] |= {
        "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}],
        "annotations": {LAST_APPLIED: "{}" * number, "kept": "yes"},
    }
    made["spec"] |= {
        "volumes": [
            {"name": token, "projected": {}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "c"}},
        ],
        "containers": [
            {
                "name": "c",
                "resources": {"requests": {"cpu": "1"}},
                "env": [{"name": "NUMBER", "value": str(number)}],
                "volumeMounts": [{"name": token, "mountPath": "/token"}],
            }
        ],
    }
    return made


def test_pods_of_a_workload_share_what_they_ask_for() -> None:
    first, second = decoded(Pod, workload_pod(1), workload_pod(2))
    assert first.spec == second.spec
    assert first.spec.containers is second.spec.containers
    assert first.spec.memo is second.spec.memo
    assert first.metadata.annotations == {"kept": "yes"}
    assert [volume.name for volume in first.spec.volumes] == ["d"]
    assert first.status.pod_ip == ""


def test_what_remains_is_what_the_manifest_says() -> None:
    manifest = pod("a", "3", conditions=[{"type": "PodScheduled", "status": "False", "reason": "r"}])
    assert decoded(Pod, manifest) == [from_manifest(manifest, strict=False)]


def test_images_and_amounts_of_nodes_are_shared() -> None:
    def node(name: str, size: int) -> dict[str, Any]:
        images = [{"names": ["app:1"], "sizeBytes": 7}, {"names": [f"{name}:1"], "sizeBytes": size}]
        condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
        status = {"allocatable": {"cpu": "4"}, "images": images, "conditions": [condition]}
        return {"metadata": {"name": name}, "status": status}

    first, second = decoded(Node, node("a", 1), node("b", 2))
    assert first.status.images[0] is second.status.images[0]
    assert first.status.images[1] != second.status.images[1]
    assert first.status.allocatable is second.status.allocatable
    assert first.status.conditions[0].last_heartbeat_time is None


def test_null_is_absent() -> None:
    manifest = pod("a")
    manifest["spec"]["affinity"] = manifest["metadata"]["labels"] = manifest["status"]["conditions"] = None
    assert decoded(Pod, manifest)[0].labels == {}
    assert Decoder(Pod).page(b'{"metadata": {"resourceVersion": "1"}, "items": null}').objects == []


def test_events() -> None:
    decoder = Decoder(Pod)
    type, obj = decoder.event(json.dumps({"type": "ADDED", "object": pod("a")}).encode())
    assert (type, obj.name) == ("ADDED", "a")
    bookmark = {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "5"}}}
    assert decoder.event(json.dumps(bookmark).encode()) == ("BOOKMARK", "5")
    with pytest.raises(WatchFailure, match="410: too old"):
        decoder.event(b'{"type": "ERROR", "object": {"code": 410, "message": "too old"}}')
    for broken in (b'{"type": "ADDED", "obj', b"[]", b'{"type": "ADDED", "object": 5}'):
        with pytest.raises(ClusterError):
            decoder.event(broken)


def test_an_object_of_another_form_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """Kinds of packages may have any form, and a later API server a field of another type."""
    bad = pod("bad", "7")
    bad["spec"]["nodeName"], bad["metadata"]["namespace"] = {"not": "a name"}, "shop"
    decoder = Decoder(Pod)
    page = decoder.page(json.dumps(listed("9", pod("a"), bad, pod("b"), more="token")).encode())
    assert [obj.name for obj in page.objects] == ["a", "b"]
    assert (page.version, page.more) == ("9", "token")
    event = json.dumps({"type": "MODIFIED", "object": bad}).encode()
    type, left = decoder.event(event)
    assert (type, left.key, left.metadata.resource_version) == ("UNREADABLE", "shop/bad", "7")
    assert [each.key for each in page.unreadable] == ["shop/bad"]
    assert caplog.text.count("Pod shop/bad is left out") == 1


def test_the_last_state_of_what_is_deleted_need_not_be_readable() -> None:
    bad = pod("bad", "7")
    bad["spec"] = "none"
    type, marked = Decoder(Pod).event(json.dumps({"type": "DELETED", "object": bad}).encode())
    assert (type, marked.key, marked.metadata.resource_version) == ("DELETED", "default/bad", "7")


def test_the_bookmark_after_a_streaming_list() -> None:
    metadata = {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}
    line = json.dumps({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": metadata}}).encode()
    assert Decoder(Pod).event(line) == ("LISTED", "5")


def test_what_is_no_object_is_an_error() -> None:
    for broken in (b"", b"[]", b'{"items": 5}', b"<html>"):
        with pytest.raises(ClusterError, match="cannot be read"):
            Decoder(Pod).page(broken)
    with pytest.raises(ClusterError, match="cannot be read"):
        Decoder(Pod).one(b'{"metadata": {"labels": {"a": 5}}}')
