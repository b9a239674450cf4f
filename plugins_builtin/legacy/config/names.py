"""Predicates and priorities of Kubernetes up to v1.22, and the plugins that replace them."""

from __future__ import annotations

from typing import Final

from attrs import evolve, frozen

FIT: Final = "NodeResourcesFit"
AFFINITY: Final = "NodeAffinity"
NODE_LABEL: Final = "NodeLabel"
SERVICE_AFFINITY: Final = "ServiceAffinity"
SELECTOR_SPREAD: Final = "SelectorSpread"
AVOID_PODS: Final = "NodePreferAvoidPods"
POD_AFFINITY: Final = "InterPodAffinity"
SPREAD: Final = "PodTopologySpread"
TAINTS: Final = "TaintToleration"

_LAST: Final = "v1.23"
"""The version that removed policies, and all names with them."""


@frozen
class Successor:
    """The plugins that replace a predicate, a priority, or a plugin of an older version."""

    plugins: tuple[str, ...] = ()
    note: str = ""
    """What is different; empty if nothing is."""
    since: str = "v1.0"
    """The first version that had the name."""
    removed: str = _LAST
    """The first version without it."""

    def __str__(self) -> str:
        names = self.plugins
        plugins = " and ".join(names) if len(names) < 3 else ", ".join(names)
        return "; ".join(text for text in (plugins or "no plugin", self.note) if text)


_BY_TAINTS: Final = Successor((TAINTS,), "conditions of a node are taints on it", removed="v1.17")
_IN_TREE: Final = "counts disks of nodes that still attach them by the in-tree plugin"
_LEAST: Final = "scoringStrategy LeastAllocated"
_MOST: Final = "scoringStrategy MostAllocated"
_RATIO: Final = "scoringStrategy RequestedToCapacityRatio"

PREDICATES: Final[dict[str, Successor]] = {
    "CheckNodeUnschedulable": Successor(("NodeUnschedulable",), since="v1.11"),
    "GeneralPredicates": Successor((FIT, "NodeName", "NodePorts", AFFINITY), since="v1.2"),
    "HostName": Successor(("NodeName",)),
    "PodFitsHostPorts": Successor(("NodePorts",), since="v1.1"),
    "PodFitsPorts": Successor(("NodePorts",)),
    "MatchNodeSelector": Successor((AFFINITY,)),
    "PodFitsResources": Successor((FIT,)),
    "NoDiskConflict": Successor(("VolumeRestrictions",)),
    "PodToleratesNodeTaints": Successor((TAINTS,), since="v1.3"),
    "PodToleratesNodeNoExecuteTaints": Successor(
        (TAINTS,), "one filter for NoSchedule and NoExecute", "v1.6", "v1.17"
    ),
    "CheckNodeCondition": evolve(_BY_TAINTS, since="v1.8"),
    "CheckNodeMemoryPressure": evolve(_BY_TAINTS, since="v1.3"),
    "CheckNodeDiskPressure": evolve(_BY_TAINTS, since="v1.4"),
    "CheckNodePIDPressure": evolve(_BY_TAINTS, since="v1.10"),
    "CheckNodeLabelPresence": Successor((NODE_LABEL,)),
    "CheckServiceAffinity": Successor((SERVICE_AFFINITY,)),
    "MaxEBSVolumeCount": Successor(("EBSLimits",), _IN_TREE, "v1.2"),
    "MaxGCEPDVolumeCount": Successor(("GCEPDLimits",), _IN_TREE, "v1.2"),
    "MaxCSIVolumeCountPred": Successor(("NodeVolumeLimits",), since="v1.12"),
    "MaxAzureDiskVolumeCount": Successor(("AzureDiskLimits",), _IN_TREE, "v1.6"),
    "MaxCinderVolumeCount": Successor(("CinderLimits",), _IN_TREE, "v1.14"),
    "CheckVolumeBinding": Successor(("VolumeBinding",), since="v1.9"),
    "NoVolumeZoneConflict": Successor(("VolumeZone",), since="v1.2"),
    "EvenPodsSpread": Successor((SPREAD,), since="v1.16"),
    "MatchInterPodAffinity": Successor((POD_AFFINITY,), since="v1.3"),
}
"""In the order in which the schedulers of these versions called them."""

PRIORITIES: Final[dict[str, Successor]] = {
    "LeastRequestedPriority": Successor((FIT,), _LEAST),
    "MostRequestedPriority": Successor((FIT,), _MOST, "v1.4"),
    "RequestedToCapacityRatioPriority": Successor((FIT,), _RATIO, "v1.11"),
    "BalancedResourceAllocation": Successor(("NodeResourcesBalancedAllocation",)),
    "SelectorSpreadPriority": Successor(
        (SELECTOR_SPREAD,), "from v1.20 on it was the default constraints of PodTopologySpread", "v1.1"
    ),
    "ServiceSpreadingPriority": Successor(
        (SELECTOR_SPREAD,), "controllers of the pod count as well as services, as from v1.18 on"
    ),
    "EvenPodsSpreadPriority": Successor((SPREAD,), since="v1.16"),
    "InterPodAffinityPriority": Successor((POD_AFFINITY,), since="v1.3"),
    "NodeAffinityPriority": Successor((AFFINITY,), since="v1.2"),
    "NodeLabelPriority": Successor((NODE_LABEL,)),
    "TaintTolerationPriority": Successor((TAINTS,), since="v1.3"),
    "ImageLocalityPriority": Successor(("ImageLocality",), since="v1.2"),
    "EqualPriority": Successor(note="it scores all nodes alike, so nothing replaces it"),
    "NodePreferAvoidPodsPriority": Successor((AVOID_PODS,), since="v1.4"),
    "ServiceAntiAffinityPriority": Successor((SERVICE_AFFINITY,)),
    "ResourceLimitsPriority": Successor(("NodeResourceLimits",), "", "v1.9", "v1.20"),
}

LABELS_PRESENCE: Final = "CheckNodeLabelPresence"
SERVICE_TOGETHER: Final = "CheckServiceAffinity"
LABEL_PREFERENCE: Final = "NodeLabelPriority"
SERVICE_APART: Final = "ServiceAntiAffinityPriority"
RATIO: Final = "RequestedToCapacityRatioPriority"

MANDATORY: Final = ("CheckNodeUnschedulable", "PodToleratesNodeTaints")
"""Predicates that a policy has whether it lists them or not."""
DEFAULT_PREDICATES: Final = (
    "GeneralPredicates",
    "NoDiskConflict",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxCSIVolumeCountPred",
    "MaxAzureDiskVolumeCount",
    "CheckVolumeBinding",
    "NoVolumeZoneConflict",
    "EvenPodsSpread",
    "MatchInterPodAffinity",
)
"""Predicates of a policy without a list of predicates, besides the mandatory ones."""
AVOID_PODS_WEIGHT: Final = 10_000
"""Weight by default of NodePreferAvoidPods, which no other score outweighs."""
DEFAULT_PRIORITIES: Final = {
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": AVOID_PODS_WEIGHT,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    "EvenPodsSpreadPriority": 2,
}
"""Priorities of a policy without a list of priorities, with their weights."""

LATER_PLUGINS: Final = ("DynamicResources", "NodeDeclaredFeatures")
"""Default plugins of today that decide on fields of pods that came after policies."""
PRE_FILTERS: Final = frozenset(
    {FIT, "NodePorts", AFFINITY, SPREAD, POD_AFFINITY, "VolumeRestrictions", "VolumeBinding", "VolumeZone"}
    | {"NodeVolumeLimits", "EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits", SERVICE_AFFINITY}
)
"""Filter plugins that also run at preFilter."""
PRE_SCORES: Final = frozenset(
    {FIT, "NodeResourcesBalancedAllocation", AFFINITY, SPREAD, POD_AFFINITY, TAINTS, SELECTOR_SPREAD}
)
"""Score plugins that also run at preScore."""

LEAST_ALLOCATED: Final = "NodeResourcesLeastAllocated"
PLUGINS: Final[dict[str, Successor]] = {
    LEAST_ALLOCATED: Successor((FIT,), _LEAST, "v1.17", _LAST),
    "NodeResourcesMostAllocated": Successor((FIT,), _MOST, "v1.17", _LAST),
    "RequestedToCapacityRatio": Successor((FIT,), _RATIO, "v1.17", _LAST),
    "DefaultPodTopologySpread": Successor((SELECTOR_SPREAD,), "", "v1.17", "v1.19"),
    SELECTOR_SPREAD: Successor((SELECTOR_SPREAD,), "", "v1.19", "v1.29"),
    "EBSLimits": Successor(("EBSLimits",), _IN_TREE, "v1.17", "v1.31"),
    "GCEPDLimits": Successor(("GCEPDLimits",), _IN_TREE, "v1.17", "v1.31"),
    "AzureDiskLimits": Successor(("AzureDiskLimits",), _IN_TREE, "v1.17", "v1.31"),
    "CinderLimits": Successor(("CinderLimits",), _IN_TREE, "v1.17", "v1.31"),
    NODE_LABEL: Successor((NODE_LABEL,), "", "v1.17", _LAST),
    SERVICE_AFFINITY: Successor((SERVICE_AFFINITY,), "", "v1.17", _LAST),
    AVOID_PODS: Successor((AVOID_PODS,), "", "v1.17", _LAST),
    "NodeResourceLimits": Successor(("NodeResourceLimits",), "", "v1.17", "v1.20"),
}
"""Plugins of v1alpha1 to v1beta3 that v1 does not name any more."""
STRATEGIES: Final = {
    "LeastRequestedPriority": LEAST_ALLOCATED,
    "MostRequestedPriority": "NodeResourcesMostAllocated",
    RATIO: "RequestedToCapacityRatio",
}
"""Priority → the plugin of older versions whose score is a scoring strategy of NodeResourcesFit now."""
STRATEGY_TYPES: Final = {
    LEAST_ALLOCATED: "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
"""Plugin of older versions → type of the scoring strategy."""
EMPTY_FIRST: Final = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
"""Shape of RequestedToCapacityRatioPriority without arguments."""
