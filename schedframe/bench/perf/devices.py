"""Operations of scheduler_perf about devices: a driver that offers some, claims that have theirs already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from random import Random
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from ...api import Pod, ResourceClaim, from_manifest
from ..devices import node_slice
from .creating import HOSTNAME
from .definitions import Fields
from .files import Manifest, ObjectTemplate

if TYPE_CHECKING:
    from .operations import Player

_ALLOCATION_SEED: Final = 1
_HEAVIEST: Final = 100


def create_resource_driver(player: Player, fields: Fields, number: int) -> None:
    """A slice with so many devices for each node whose name matches."""
    driver, pattern = fields.required("driverName"), fields.required("nodes")
    count = fields.number("maxClaimsPerNode")
    names = [node.name for node in player.stage.cluster.list("Node") if fnmatchcase(node.name, pattern)]
    player.stage.create(node_slice(driver, name, count) for name in names)
    player.stage.scheduler.sync()


def create_resource_claims(player: Player, fields: Fields, number: int) -> None:
    """Claims from a template."""
    template, count = player.template(fields.required("templatePath")), fields.number("count", 1)
    namespace = fields.required("namespace")
    player.stage.ensure_namespace(namespace)

    def change(manifest: Manifest) -> None:
        manifest["metadata"]["namespace"] = namespace

    player.stage.create(template.make(i, count, change) for i in range(count))


def alloc_resource_claims(player: Player, fields: Fields, number: int) -> None:
    """Every claim gets its devices on a node chosen at random, and nobody uses it.

    A pod for each claim is scheduled, rather to that node than to any other, and deleted again.
    """
    stage, namespace = player.stage, fields.text("namespace")
    claims = [
        claim
        for claim in stage.cluster.list(ResourceClaim.KIND)
        if claim.status.allocation is None and namespace in (None, claim.namespace)
    ]
    nodes = [node.name for node in stage.cluster.list("Node")]
    if not claims or not nodes:
        return
    pods = stage.create(_users(claims, nodes))
    stage.await_pods(pods)
    for claim in claims:
        now: Any = stage.cluster.get(ResourceClaim.KIND, claim.key)
        stage.cluster.update(evolve(now, status=evolve(now.status, reserved_for=())))
    for key in pods:
        stage.cluster.delete(Pod.KIND, key)
    stage.scheduler.sync()


def _users(claims: Iterable[ResourceClaim], nodes: list[str]) -> Iterator[Any]:
    rng = Random(_ALLOCATION_SEED)
    for claim in claims:
        on_node = {"key": HOSTNAME, "operator": "In", "values": [rng.choice(nodes)]}
        preferred = {"weight": _HEAVIEST, "preference": {"matchExpressions": [on_node]}}
        affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}
        manifest: Mapping[str, Any] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"user-of-{claim.name}", "namespace": claim.namespace},
            "spec": {
                "containers": [{"name": "pause", "image": "pause"}],
                "affinity": affinity,
                "resourceClaims": [{"name": "claim", "resourceClaimName": claim.name}],
            },
        }
        yield from_manifest(manifest)


def create_pods_steadily(
    player: Player, fields: Fields, template: ObjectTemplate, namespace: str, seconds: float
) -> None:
    """Pods are created, scheduled and deleted again, so many at a time, for so long."""
    stage, count = player.stage, fields.number("count")
    there: list[str] = []

    def change(manifest: Manifest) -> None:
        manifest["metadata"]["namespace"] = namespace

    def next_batch() -> list[str]:
        for key in there:
            stage.cluster.delete(Pod.KIND, key)
        there[:] = stage.create(template.make(i, count, change) for i in range(count))
        return there

    stage.steady(next_batch, seconds)
