"""Operations of scheduler_perf about devices: drivers, claims, and pods that come and go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from random import Random
from typing import Any, Final

from attrs import evolve

from ...api import Pod, ResourceClaim, from_manifest
from ..bench_run import BenchRun
from ..objects import HOSTNAME, node_slice
from .files import ObjectTemplate, into_namespace
from .step import Step

_ALLOCATION_SEED: Final = 1
_HEAVIEST: Final = 100


def create_resource_driver(bench: BenchRun, step: Step) -> None:
    """Create a slice with devices for each node whose name matches the pattern."""
    fields, fixture = step.fields, bench.fixture
    driver, pattern = fields.required("driverName"), fields.required("nodes")
    count = fields.number("maxClaimsPerNode")
    names = [node.name for node in fixture.cluster.list("Node") if fnmatchcase(node.name, pattern)]
    fixture.create(node_slice(driver, name, count) for name in names)
    fixture.scheduler.sync()


def create_resource_claims(bench: BenchRun, step: Step) -> None:
    """Create claims from a template."""
    template, count = step.template("templatePath"), step.fields.number("count", 1)
    namespace = step.fields.required("namespace")
    bench.fixture.ensure_namespace(namespace)
    change = into_namespace(namespace)
    bench.fixture.create(template.make(i, count, change) for i in range(count))


def alloc_resource_claims(bench: BenchRun, step: Step) -> None:
    """Allocate every claim on a node chosen at random, so that no pod uses it.

    For each claim a pod that prefers that node is scheduled and then deleted.
    """
    fixture, namespace = bench.fixture, step.fields.text("namespace")
    claims = [
        claim
        for claim in fixture.cluster.list(ResourceClaim.KIND)
        if claim.status.allocation is None and namespace in (None, claim.namespace)
    ]
    nodes = [node.name for node in fixture.cluster.list("Node")]
    if not claims or not nodes:
        return
    pods = fixture.create(_users(claims, nodes))
    bench.schedule_pods(pods)
    for claim in claims:
        now: Any = fixture.cluster.get(ResourceClaim.KIND, claim.key)
        fixture.cluster.update(evolve(now, status=evolve(now.status, reserved_for=())))
    for key in pods:
        fixture.cluster.delete(Pod.KIND, key)
    fixture.scheduler.sync()


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


def create_pods_steadily(bench: BenchRun, step: Step, template: ObjectTemplate, namespace: str) -> None:
    """Create, schedule and delete one batch of pods after the other for a duration."""
    fixture, count = bench.fixture, step.fields.number("count")
    seconds = step.fields.seconds("duration", step.fields.parameter("duration"))
    change = into_namespace(namespace)
    batch: list[str] = []

    def next_batch() -> list[str]:
        for key in batch:
            fixture.cluster.delete(Pod.KIND, key)
        batch[:] = fixture.create(template.make(i, count, change) for i in range(count))
        return batch

    bench.schedule_batches(next_batch, seconds)
