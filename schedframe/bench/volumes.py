"""Workloads of pods with volumes, in the shape of those in volumes/ of scheduler_perf.

Every pod has a volume of its own, which is bound to its claim before the pod is created.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from ..api import from_manifest
from .objects import make_node, make_pod, node_name
from .sizes import Size
from .workload import Create, Operation, SchedulePods

Manifest = Mapping[str, Any]

DRIVER: Final = "ebs.csi.aws.com"
IN_TREE: Final = "kubernetes.io/aws-ebs"
VOLUMES_A_NODE: Final = 39
_MIGRATED: Final = "storage.alpha.kubernetes.io/migrated-plugins"
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_PER_POD: Final = 2
_STORAGE: Final = {"storage": "1Gi"}


def secrets(size: Size) -> Sequence[Operation]:
    """A secret is a volume that scheduling has nothing to do with."""
    volumes = [{"name": "secret", "secret": {"secretName": "secret"}}]

    def running(i: int) -> Any:
        return make_pod(f"running-{i:06d}", node=_home(i, size), volumes=volumes)

    return (
        Create("nodes", size.nodes, make_node),
        Create("running pods", size.init, running),
        SchedulePods(size.pods, lambda i: make_pod(f"pod-{i:06d}", volumes=volumes)),
    )


def csi(size: Size) -> Sequence[Operation]:
    """Volumes of a CSI driver that says how many of them a node can have."""
    return _with_claims(size, _csi_source, "")


def migrated(size: Size) -> Sequence[Operation]:
    """The same, the volumes being those of the plugin that the driver took over from."""
    return _with_claims(size, _in_tree_source, IN_TREE)


def _csi_source(name: str) -> Manifest:
    return {"csi": {"driver": DRIVER, "volumeHandle": name}}


def _in_tree_source(name: str) -> Manifest:
    return {"awsElasticBlockStore": {"volumeID": name}}


def _with_claims(size: Size, source: Callable[[str], Manifest], migrated_plugins: str) -> Sequence[Operation]:
    first, second = _Storage("running", source), _Storage("pod", source)
    return (
        Create("nodes", size.nodes, make_node),
        Create("CSINodes", size.nodes, lambda i: _csi_node(node_name(i), migrated_plugins)),
        Create("volumes and claims", _PER_POD * size.init, first.make),
        Create("running pods", size.init, lambda i: first.pod(i, _home(i, size))),
        Create("volumes and claims", _PER_POD * size.pods, second.make),
        SchedulePods(size.pods, lambda i: second.pod(i, "")),
    )


def _home(i: int, size: Size) -> str:
    """The node of the i-th running pod."""
    return node_name(i % max(size.nodes, 1))


def _csi_node(name: str, migrated_plugins: str) -> Any:
    driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": VOLUMES_A_NODE}}
    return from_manifest(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {
                "name": name,
                "annotations": {_MIGRATED: migrated_plugins} if migrated_plugins else {},
            },
            "spec": {"drivers": [driver]},
        }
    )


@frozen
class _Storage:
    """Volumes and claims that are bound to each other, and pods that use them, all numbered alike."""

    prefix: str
    source: Callable[[str], Manifest]

    def make(self, i: int) -> Any:
        """The i-th object: each volume is followed by its claim."""
        number, is_claim = divmod(i, _PER_POD)
        return from_manifest(self._claim(number) if is_claim else self._volume(number))

    def pod(self, i: int, node: str) -> Any:
        """The i-th pod."""
        source = {"name": "vol", "persistentVolumeClaim": {"claimName": self._claim_name(i)}}
        return make_pod(f"{self.prefix}-{i:06d}", node=node, volumes=[source])

    def _claim_name(self, i: int) -> str:
        return f"claim-{self.prefix}-{i:06d}"

    def _volume_name(self, i: int) -> str:
        return f"volume-{self.prefix}-{i:06d}"

    def _volume(self, i: int) -> Manifest:
        name = self._volume_name(i)
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadOnlyMany"],
                "capacity": _STORAGE,
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": "default",
                    "name": self._claim_name(i),
                },
                **self.source(name),
            },
            "status": {"phase": "Bound"},
        }

    def _claim(self, i: int) -> Manifest:
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": self._claim_name(i),
                "namespace": "default",
                "annotations": {_BIND_COMPLETED: "true"},
            },
            "spec": {
                "accessModes": ["ReadOnlyMany"],
                "resources": {"requests": _STORAGE},
                "volumeName": self._volume_name(i),
            },
            "status": {"phase": "Bound"},
        }
