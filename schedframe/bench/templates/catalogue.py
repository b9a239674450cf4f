"""All templates. A new benchmark is a new entry of :data:`TEMPLATES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from attrs import field

from ..._base.value import record
from ...framework.factories import Factory
from ..measurement import Figures
from ..objects import ZONE
from ..operations import Operation
from ..options import Progress, Size
from . import devices, groups, node_by_node, shapes, volumes
from .backlog import measure_backlog, measure_waiting_gangs
from .extender import measure_extender
from .forks import measure_fork
from .loading import measure_loading
from .queue_alone import measure_queue


@record(frozen=True)
class Template:
    """A benchmark: operations for the scheduler, or a function that measures something else."""

    summary: str
    size: Size
    """Default size."""
    operations: Callable[[Size], Sequence[Operation]] | None = None
    measure: Callable[[Size, Progress], Figures] | None = None
    """Returns its own figures; set if and only if ``operations`` is ``None``."""
    plugins: Mapping[str, Factory] = field(factory=dict)
    """Plugins that are enabled in addition to the default ones, by name."""
    feature_gates: Mapping[str, bool] = field(factory=dict)


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
        "pods of 1,000 sizes in random order: two consecutive pods are rarely equal",
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
        "no two pods on one node if possible, by a preferred term (SchedulingPreferredPodAntiAffinity)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=shapes.anti_affinity_preferred,
    ),
    "pod-affinity": Template(
        "all pods in one zone, by a required term (SchedulingPodAffinity)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=shapes.pod_affinity,
    ),
    "pod-affinity-preferred": Template(
        "pods on nodes with such pods, by a preferred term (SchedulingPreferredPodAffinity)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=shapes.pod_affinity_preferred,
    ),
    "unschedulable-backlog": Template(
        "--init pods that fit no node stay pending while others are scheduled (Unschedulable)",
        Size(nodes=5000, init=10_000, pods=10_000),
        operations=shapes.unschedulable_backlog,
    ),
    "backlog": Template(
        "--init pods wait, alike or of 1,000 sizes, and --pods running pods end, one a second",
        Size(nodes=5000, init=100_000, pods=5000),
        measure=measure_backlog,
    ),
    "gangs-waiting": Template(
        "--init gangs of 8 in 10 classes wait, and --pods tasks end, each followed by another",
        Size(nodes=64, init=10_000, pods=200),
        measure=measure_waiting_gangs,
    ),
    "unschedulable-attempts": Template(
        "pods that fit no node, one attempt each",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=shapes.unschedulable_attempts,
    ),
    "preemption": Template(
        "each pod evicts three of four pods of lower priority; --init has no effect (PreemptionBasic)",
        Size(nodes=5000, init=0, pods=2000),
        operations=shapes.preemption,
    ),
    "node-churn": Template(
        "a node joins or leaves every ten cycles (SchedulingWithMixedChurn, by cycles instead of time)",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=shapes.node_churn,
    ),
    "gang-100": Template(
        "gangs of 100 equal pods that all fit",
        Size(nodes=5000, init=0, pods=10_000),
        operations=groups.gangs_of(100),
        feature_gates=groups.GANGS,
    ),
    "gang-1000": Template(
        "gangs of 1,000 equal pods that all fit",
        Size(nodes=5000, init=0, pods=10_000),
        operations=groups.gangs_of(1000),
        feature_gates=groups.GANGS,
    ),
    "gang-topology": Template(
        "gangs of 50 equal pods, each within one of 20 zones",
        Size(nodes=5000, init=0, pods=10_000),
        operations=groups.gangs_of(50, ZONE),
        feature_gates=groups.TOPOLOGY,
    ),
    "secrets": Template(
        "pods with a volume that no plugin looks at (SchedulingSecrets)",
        Size(nodes=5000, init=1000, pods=10_000),
        operations=volumes.secrets,
    ),
    "csi-pvs": Template(
        "each pod has a volume of a CSI driver that limits the volumes per node (SchedulingCSIPVs)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=volumes.csi,
    ),
    "migrated-pvs": Template(
        "the same with volumes of an in-tree plugin that a CSI driver replaces (SchedulingMigratedInTreePVs)",
        Size(nodes=5000, init=5000, pods=5000),
        operations=volumes.migrated,
    ),
    "dra-claims": Template(
        "each pod has a claim to a device; at the end all are in use (SchedulingWithResourceClaimTemplate)",
        Size(nodes=500, init=2500, pods=2500),
        operations=devices.claims,
    ),
    "custom-plugin": Template(
        "the default profile and one plugin that filters and scores node by node and is not cached",
        Size(nodes=500, init=500, pods=2000),
        operations=shapes.basic,
        plugins={node_by_node.NAME: node_by_node.NodeByNode},
    ),
    "extender": Template(
        "equal pods, and an extender in another process that keeps all nodes and answers after 1 ms",
        Size(nodes=5000, init=1000, pods=2000),
        measure=measure_extender(rejected=0),
    ),
    "extender-rejects": Template(
        "the same, and the extender rejects one node of ten",
        Size(nodes=5000, init=1000, pods=2000),
        measure=measure_extender(rejected=10),
    ),
    "load": Template(
        "only loading: nodes from an iterator, then --init running pods; time and memory",
        Size(nodes=100_000, init=100_000, pods=0),
        measure=measure_loading,
    ),
    "fork": Template(
        "only forks: of --nodes nodes and --init pods, and --pods trials of one pod in it; CPU times",
        Size(nodes=5000, init=100_000, pods=2000),
        measure=measure_fork,
    ),
    "queue": Template(
        "only the queue: add + pop + done with --pods queued, and an event that concerns none of them",
        Size(nodes=0, init=0, pods=100_000),
        measure=lambda size, progress: measure_queue(size.pods, progress),
    ),
}
