"""What can be measured, as small declarations; a new benchmark joins by standing in :data:`TEMPLATES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from attrs import frozen

from ..api import Pod, from_manifest
from .queue_alone import measure_queue
from .workload import Create, Operation, Options, Progress, SchedulePods

Figures = dict[str, Any]
"""Plain numbers by name, in the order in which they are shown."""


@frozen
class Size:
    """How large a workload is."""

    nodes: int
    init: int
    """Pods that run before."""
    pods: int
    """Pods that are measured."""

    def with_options(self, options: Options) -> Size:
        """This size where *options* do not say otherwise."""
        return Size(
            self.nodes if options.nodes is None else options.nodes,
            self.init if options.init is None else options.init,
            self.pods if options.pods is None else options.pods,
        )


@frozen
class Template:
    """A benchmark by name: either operations for the scheduler, or something measured its own way."""

    summary: str
    size: Size
    """If nobody says otherwise."""
    operations: Callable[[Size], Sequence[Operation]] | None = None
    own: Callable[[Size, Progress], Figures] | None = None


# ---- objects -----------------------------------------------------------------------------------------------


def default_node(i: int) -> Any:
    """4 CPUs, 32Gi, 110 pods: the default node of scheduler_perf."""
    name = f"node-{i:06d}"
    return from_manifest(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": {"cpu": "4", "memory": "32Gi", "pods": "110"}},
        }
    )


def default_pod(name: str, node_name: str = "") -> Pod:
    """100m and 500Mi: the default pod of scheduler_perf, made from a manifest of its own as all pods are."""
    amounts = {"cpu": "100m", "memory": "500Mi"}
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10.2",
        "ports": [{"containerPort": 80}],
        "resources": {"requests": amounts, "limits": amounts},
    }
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], "nodeName": node_name},
    }
    return cast("Pod", from_manifest(manifest))


# ---- workloads ---------------------------------------------------------------------------------------------


def basic(size: Size) -> Sequence[Operation]:
    """SchedulingBasic: equal nodes, equal pods; those that run before are spread evenly."""
    return (
        Create("nodes", size.nodes, default_node),
        Create(
            "running pods",
            size.init,
            lambda i: default_pod(f"running-{i:06d}", f"node-{i % max(size.nodes, 1):06d}"),
        ),
        SchedulePods(size.pods, lambda i: default_pod(f"pod-{i:06d}")),
    )


TEMPLATES: Final[Mapping[str, Template]] = {
    "basic": Template(
        "equal pods on equal nodes: the whole cycle, pop to bound (SchedulingBasic of scheduler_perf)",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=basic,
    ),
    "queue": Template(
        "the queue alone: add + pop + done with many queued, an event that concerns none of many",
        Size(nodes=0, init=0, pods=100_000),
        own=lambda size, progress: measure_queue(size.pods, progress),
    ),
}
