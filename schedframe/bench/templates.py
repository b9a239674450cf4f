"""What can be measured, as small declarations; a new benchmark joins by standing in :data:`TEMPLATES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import field, frozen

from ..framework.registry import Factory
from . import devices, plugin, shapes, volumes
from .loading import measure_loading
from .queue_alone import measure_queue
from .sizes import Size
from .workload import Operation, Progress

Figures = dict[str, Any]
"""Plain numbers by name, in the order in which they are shown."""


@frozen
class Template:
    """A benchmark by name: either operations for the scheduler, or something measured its own way."""

    summary: str
    size: Size
    """If nobody says otherwise."""
    operations: Callable[[Size], Sequence[Operation]] | None = None
    own: Callable[[Size, Progress], Figures] | None = None
    plugins: Mapping[str, Factory] = field(factory=dict)
    """Plugins that the profile has besides the default ones."""


TEMPLATES: Final[Mapping[str, Template]] = {
    "basic": Template(
        "equal pods on equal nodes: the whole cycle, pop to bound (SchedulingBasic of scheduler_perf)",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=shapes.basic,
    ),
    "mixed-sizes": Template(
        "pods of twelve sizes",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=shapes.mixed_sizes,
    ),
    "distinct-classes": Template(
        "pods of 1,000 sizes, shuffled: hardly ever two alike in a row",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=shapes.distinct_classes,
    ),
    "taints": Template(
        "half of the nodes are tainted, a quarter with a taint that the pods tolerate",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=shapes.taints,
    ),
    "node-affinity": Template(
        "a required term on the zone (SchedulingNodeAffinity)",
        Size(nodes=5000, init=5000, pods=10_000),
        operations=shapes.node_affinity,
    ),
    "spread-required": Template(
        "a DoNotSchedule constraint over three zones (TopologySpreading)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=shapes.spread_required,
    ),
    "spread-preferred": Template(
        "a ScheduleAnyway constraint over three zones (PreferredTopologySpreading)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=shapes.spread_preferred,
    ),
    "anti-affinity": Template(
        "no two pods on one node, by a required term (SchedulingPodAntiAffinity)",
        Size(nodes=5000, init=1000, pods=2000),
        operations=shapes.anti_affinity,
    ),
    "anti-affinity-preferred": Template(
        "rather no two pods on one node (SchedulingPreferredPodAntiAffinity)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=shapes.anti_affinity_preferred,
    ),
    "pod-affinity": Template(
        "all pods in one zone, by a required term (SchedulingPodAffinity)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=shapes.pod_affinity,
    ),
    "pod-affinity-preferred": Template(
        "rather where others are (SchedulingPreferredPodAffinity)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=shapes.pod_affinity_preferred,
    ),
    "unschedulable-backlog": Template(
        "as many pods as --init says have found no node and wait, while others are scheduled (Unschedulable)",
        Size(nodes=5000, init=10_000, pods=10_000),
        operations=shapes.unschedulable_backlog,
    ),
    "unschedulable-attempts": Template(
        "pods that fit nowhere, one attempt each",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=shapes.unschedulable_attempts,
    ),
    "preemption": Template(
        "each pod evicts three of four pods of lower priority; --init counts for nothing (PreemptionBasic)",
        Size(nodes=5000, init=0, pods=2000),
        operations=shapes.preemption,
    ),
    "node-churn": Template(
        "every tenth cycle a node joins or leaves (SchedulingWithMixedChurn, by cycles and not by time)",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=shapes.node_churn,
    ),
    "secrets": Template(
        "pods with a volume that scheduling ignores (SchedulingSecrets)",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=volumes.secrets,
    ),
    "csi-pvs": Template(
        "each pod has a claim, bound to a volume of a CSI driver with a limit by node (SchedulingCSIPVs)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=volumes.csi,
    ),
    "migrated-pvs": Template(
        "the same with volumes of a plugin that a CSI driver took over from (SchedulingMigratedInTreePVs)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=volumes.migrated,
    ),
    "dra-claims": Template(
        "each pod has a claim to a device; in the end all are in use (SchedulingWithResourceClaimTemplate)",
        Size(nodes=500, init=2500, pods=2500),
        operations=devices.claims,
    ),
    "custom-plugin": Template(
        "one more plugin, which filters and scores node by node and signs no pods",
        Size(nodes=500, init=500, pods=2000),
        operations=shapes.basic,
        plugins={plugin.NAME: plugin.NodeByNode},
    ),
    "load": Template(
        "loading alone: nodes as values from an iterator, then --init pods that run; time and memory",
        Size(nodes=100_000, init=100_000, pods=0),
        own=measure_loading,
    ),
    "queue": Template(
        "the queue alone: add + pop + done with many queued, an event that concerns none of many",
        Size(nodes=0, init=0, pods=100_000),
        own=lambda size, progress: measure_queue(size.pods, progress),
    ),
}
