"""Predicates and priorities of Kubernetes v1.15 to v1.22, and the plugins that replace them."""

from __future__ import annotations

from typing import Final

from attrs import frozen


@frozen
class Successor:
    """The plugins that replace a predicate or a priority."""

    plugins: tuple[str, ...] = ()
    note: str = ""
    """What is different; empty if nothing is."""
    kept: bool = True
    """``False``: the decision cannot be kept."""


FIT: Final = "NodeResourcesFit"
AFFINITY: Final = "NodeAffinity"
LIMITS: Final = "NodeVolumeLimits"
SPREAD: Final = "PodTopologySpread"
TAINTS: Final = "TaintToleration"
_GENERAL: Final = (FIT, "NodeName", "NodePorts", AFFINITY)
_BY_TAINTS: Final = Successor((TAINTS,), "conditions of a node are taints on it")
_BY_CSI: Final = Successor((LIMITS,), "limits are those that the CSI driver reports in the CSINode")

PREDICATES: Final[dict[str, Successor]] = {
    "CheckNodeUnschedulable": Successor(("NodeUnschedulable",)),
    "GeneralPredicates": Successor(_GENERAL),
    "HostName": Successor(("NodeName",)),
    "PodFitsHostPorts": Successor(("NodePorts",)),
    "PodFitsPorts": Successor(("NodePorts",)),
    "MatchNodeSelector": Successor((AFFINITY,)),
    "PodFitsResources": Successor((FIT,)),
    "NoDiskConflict": Successor(("VolumeRestrictions",)),
    "PodToleratesNodeTaints": Successor((TAINTS,)),
    "PodToleratesNodeNoExecuteTaints": Successor((TAINTS,), "one filter for NoSchedule and NoExecute"),
    "CheckNodeCondition": _BY_TAINTS,
    "CheckNodeMemoryPressure": _BY_TAINTS,
    "CheckNodeDiskPressure": _BY_TAINTS,
    "CheckNodePIDPressure": _BY_TAINTS,
    "CheckNodeLabelPresence": Successor(
        (AFFINITY,), "the labels are added to the affinity of every pod, which is checked, too"
    ),
    "CheckServiceAffinity": Successor(
        note="give the pods of the service an affinity to one another", kept=False
    ),
    "MaxEBSVolumeCount": _BY_CSI,
    "MaxGCEPDVolumeCount": _BY_CSI,
    "MaxCSIVolumeCountPred": Successor((LIMITS,)),
    "MaxAzureDiskVolumeCount": _BY_CSI,
    "MaxCinderVolumeCount": _BY_CSI,
    "CheckVolumeBinding": Successor(("VolumeBinding",)),
    "NoVolumeZoneConflict": Successor(("VolumeZone",)),
    "EvenPodsSpread": Successor((SPREAD,)),
    "MatchInterPodAffinity": Successor(("InterPodAffinity",)),
}
"""In the order in which the schedulers of these versions called them."""

PRIORITIES: Final[dict[str, Successor]] = {
    "LeastRequestedPriority": Successor((FIT,), "scoringStrategy LeastAllocated"),
    "MostRequestedPriority": Successor((FIT,), "scoringStrategy MostAllocated"),
    "RequestedToCapacityRatioPriority": Successor((FIT,), "scoringStrategy RequestedToCapacityRatio"),
    "BalancedResourceAllocation": Successor(("NodeResourcesBalancedAllocation",)),
    "SelectorSpreadPriority": Successor((SPREAD,), "its default constraints are similar, not equal"),
    "ServiceSpreadingPriority": Successor((SPREAD,), "its default constraints are similar, not equal"),
    "EvenPodsSpreadPriority": Successor((SPREAD,)),
    "InterPodAffinityPriority": Successor(("InterPodAffinity",)),
    "NodeAffinityPriority": Successor((AFFINITY,)),
    "NodeLabelPriority": Successor((AFFINITY,), "a preferred term of the affinity that every pod gets"),
    "TaintTolerationPriority": Successor((TAINTS,)),
    "ImageLocalityPriority": Successor(("ImageLocality",)),
    "EqualPriority": Successor(note="it scores all nodes alike, so nothing replaces it"),
    "NodePreferAvoidPodsPriority": Successor(
        note="taint the nodes with the effect PreferNoSchedule instead of annotating them", kept=False
    ),
    "ServiceAntiAffinityPriority": Successor(
        (SPREAD,), "a default constraint spreads the pods of each service and controller", kept=False
    ),
    "ResourceLimitsPriority": Successor(note="limits are not scored any more", kept=False),
}

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
DEFAULT_PRIORITIES: Final = {
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10_000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    "EvenPodsSpreadPriority": 2,
}
"""Priorities of a policy without a list of priorities, with their weights."""

PRE_FILTERS: Final = frozenset(
    {FIT, "NodePorts", AFFINITY, SPREAD, "InterPodAffinity", "VolumeRestrictions", "VolumeBinding"}
    | {"VolumeZone", LIMITS}
)
"""Filter plugins that also run at preFilter."""
WITHOUT_PRE_SCORE: Final = frozenset({"ImageLocality"})
"""Score plugins that do not run at preScore."""

RENAMED_PLUGINS: Final[dict[str, Successor]] = {
    "NodeResourcesLeastAllocated": Successor((FIT,), "scoringStrategy LeastAllocated"),
    "NodeResourcesMostAllocated": Successor((FIT,), "scoringStrategy MostAllocated"),
    "RequestedToCapacityRatio": Successor((FIT,), "scoringStrategy RequestedToCapacityRatio"),
    "DefaultPodTopologySpread": PRIORITIES["SelectorSpreadPriority"],
    "SelectorSpread": PRIORITIES["SelectorSpreadPriority"],
    "EBSLimits": _BY_CSI,
    "GCEPDLimits": _BY_CSI,
    "AzureDiskLimits": _BY_CSI,
    "CinderLimits": _BY_CSI,
    "NodeLabel": Successor(note="write the labels as addedAffinity of NodeAffinity", kept=False),
    "ServiceAffinity": PREDICATES["CheckServiceAffinity"],
    "NodePreferAvoidPods": PRIORITIES["NodePreferAvoidPodsPriority"],
    "NodeResourceLimits": PRIORITIES["ResourceLimitsPriority"],
}
"""Plugins of v1alpha1 to v1beta3 that v1 has no more."""
STRATEGIES: Final = {
    "LeastRequestedPriority": "LeastAllocated",
    "MostRequestedPriority": "MostAllocated",
    "RequestedToCapacityRatioPriority": "RequestedToCapacityRatio",
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
"""Priority or plugin → scoring strategy of NodeResourcesFit."""
