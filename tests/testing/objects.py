"""Pods that use volumes and devices, and the objects behind these: for plugins that look at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve
from hypothesis import strategies as st

from schedframe import Node, Pod, from_manifest
from schedframe.api import (
    AWSElasticBlockStore,
    ClaimVolumeSource,
    DeviceRequest,
    ExactDeviceRequest,
    GCEPersistentDisk,
    PodResourceClaim,
    Volume,
)
from schedframe.testing import strategies

from ..plugins.devices import claim, device, device_class, slice_of
from ..plugins.storage import (
    HOSTNAME,
    ZONE,
    make_attachment,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
)

CLAIMS = ("c0", "c1", "c2")
SIZES = ("1Gi", "2Gi", "3Gi")
CLASSES = ("wait", "local")
ONE = DeviceRequest("r", ExactDeviceRequest("gpu"))

_USES = (
    *(Volume(f"use-{name}", persistent_volume_claim=ClaimVolumeSource(name)) for name in CLAIMS),
    Volume("gce", gce_persistent_disk=GCEPersistentDisk("disk-1")),
    Volume("aws", aws_elastic_block_store=AWSElasticBlockStore("vol-1")),
)


def _with_volumes(pod: Pod, volumes: Sequence[Volume]) -> Pod:
    metadata = evolve(pod.metadata, namespace="default")
    return Pod(metadata, evolve(pod.spec, volumes=tuple(volumes)), pod.status)


def pods_with_volumes() -> st.SearchStrategy[Pod]:
    """Pods with claims and disks in the namespace of the claims."""
    uses = st.lists(st.sampled_from(_USES), max_size=2, unique_by=lambda volume: volume.name)
    return st.builds(_with_volumes, strategies.pods("pod"), uses)


def zoned_nodes() -> st.SearchStrategy[Node]:
    """Nodes that volumes may be confined to."""
    return strategies.nodes(labels={ZONE: ("a", "b")})


@st.composite
def storage(draw: st.DrawFn) -> list[Any]:
    """Classes, claims, volumes and what CSI drivers say."""
    objects: list[Any] = [make_class("wait"), make_class("local", "kubernetes.io/no-provisioner")]
    claims = []
    for name in CLAIMS[: draw(st.integers(0, 3))]:
        bound = draw(st.sampled_from(("", "", "v0", "v1")))
        modes = draw(st.sampled_from((("ReadWriteOnce",), ("ReadWriteOncePod",))))
        claims.append(
            make_claim(
                name, draw(st.sampled_from(CLASSES)), draw(st.sampled_from(SIZES)), volume=bound, modes=modes
            )
        )
    objects += claims
    for i in range(draw(st.integers(0, 3))):
        objects.append(
            make_volume(
                f"v{i}",
                draw(st.sampled_from(CLASSES)),
                draw(st.sampled_from(SIZES)),
                only=draw(st.sampled_from((None, {ZONE: ["a"]}, {HOSTNAME: ["n1"]}))),
                claim=draw(st.sampled_from((None, *claims))),
                labels=draw(st.sampled_from(({}, {ZONE: "b"}))),
                modes=("ReadWriteOnce", "ReadWriteOncePod"),
            )
        )
    for i in range(draw(st.integers(0, 2))):
        objects.append(make_csi_node(f"n{i}", disks_example_com=draw(st.sampled_from((0, 1, 2)))))
    if draw(st.booleans()):
        objects += [make_driver(), make_capacity("k", draw(st.sampled_from(SIZES)), zone="a")]
    if draw(st.booleans()):
        objects.append(make_attachment("at", "n0", draw(st.sampled_from(("v0", "v2")))))
    return objects


def services() -> st.SearchStrategy[list[Any]]:
    """A service for pods of an app in each namespace."""
    return st.builds(
        lambda app: [_service(each, app) for each in ("default", "shop")], st.sampled_from(("web", "db"))
    )


def _service(namespace: str, app: str) -> Any:
    manifest = {
        "kind": "Service",
        "metadata": {"name": app, "namespace": namespace},
        "spec": {"selector": {"app": app}},
    }
    return from_manifest(manifest)


def _with_devices(pod: Pod, names: Sequence[str]) -> Pod:
    metadata = evolve(pod.metadata, namespace="default")
    claims = tuple(PodResourceClaim(name, resource_claim_name=name) for name in names)
    return Pod(metadata, evolve(pod.spec, resource_claims=claims), pod.status)


def pods_with_devices() -> st.SearchStrategy[Pod]:
    """Pods with claims of devices, often none."""
    names = st.lists(st.sampled_from(("d0", "d1")), max_size=2, unique=True)
    return st.builds(_with_devices, strategies.pods("pod"), names)


@st.composite
def devices(draw: st.DrawFn) -> list[Any]:
    """A class, claims of it, and what nodes have to offer."""
    objects: list[Any] = [device_class("gpu")] if draw(st.integers(0, 4)) else []
    for name in ("d0", "d1")[: draw(st.integers(0, 2))]:
        requests = draw(st.sampled_from(((ONE,), (ONE,), ())))
        objects.append(claim(name, *requests))
    for i in range(draw(st.integers(0, 3))):
        count = draw(st.integers(0, 2))
        objects.append(slice_of(f"n{i}", [device(f"gpu-{j}") for j in range(count)]))
    return objects
