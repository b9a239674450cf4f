"""Names that ``schedframe`` exported once and that are imported from one of its packages now."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any, Final

_NAMES: Final[dict[str, str]] = {
    "api": """
        ALL_DEVICES ANY_ADDRESS AWSElasticBlockStore Affinity AllocatedDeviceStatus AllocationResult
        AzureDisk BINARY_SI CSIDriver CSINode CSIStorageCapacity CapacityRequestPolicy
        CapacityRequestPolicyRange CapacityRequirements CompiledAffinityTerm CompiledNodeSelector
        CompiledNodeTerm CompiledPreferredTerms CompiledSelector ContainerExtendedResourceRequest
        ContainerRestartRule CounterSet DOES_NOT_EXIST DO_NOT_SCHEDULE Device
        DeviceAllocationConfiguration DeviceAllocationResult DeviceAttribute DeviceCapacity
        DeviceClaim DeviceClaimConfiguration DeviceClassSpec DeviceConstraint DeviceRequest
        DeviceRequestAllocationResult DeviceSelector DeviceSubRequest DeviceTaint DeviceToleration
        EXACT_COUNT EXISTS ExactDeviceRequest FIELD_NAME GCEPersistentDisk GT HostPort IN
        ISCSIVolume LT LabelSelectorRequirement NOT_IN NodeAffinity NodeSelector
        NodeSelectorRequirement NodeSelectorTerm NodeSpec NodeStatus ObjectReference OwnerReference
        PodAffinity PodAffinityTerm PodAntiAffinity PodExtendedResourceClaimStatus PodResourceClaim
        PodStatus PreferredSchedulingTerm RBDVolume RESTART_ALWAYS RequiredNodeAffinity Requirement
        ResourceClaimConsumerReference ResourceClaimSpec ResourceClaimStatus ResourceRequirements
        ResourceSliceSpec SCHEDULE_ANYWAY TAINT_UNSCHEDULABLE TopologySelectorTerm
        TopologySpreadConstraint Volume VolumeAttachment WAIT_FOR_FIRST_CONSUMER
        WeightedPodAffinityTerm compile_node_selector compile_preferred_terms is_scalar_resource
        required_node_affinity scoring_requests whole_amounts
    """,
    "cluster": """
        FlakyCluster FlakyWatch
    """,
    "config": """
        CatalogueEntry ConfigBuildError ConfigDecodeError ConfigValidationError EffectiveConfig
        EffectiveProfile PluginCatalogue RegisteredEvent RemovedPlugin label_value_problems
        qualified_name_problems
    """,
    "framework": """
        Diagnosis Framework Plan PluginsRunner PreFilterOutcome RECORDED ScoreTable Verdicts
    """,
    "queue": """
        Heap Nominator ObjectEvent PriorityQueue QueueProfile Requeued derive_events
        derive_object_events matches registered_actions
    """,
    "simulate": """
        CycleReport DryRunCluster HintAnswer
    """,
    "state": """
        Cache Comparison CountColumn DistinctColumn DomainSums Domains FollowingColumns NodeSubset
        PodGroup RowFollower PodGroups TermKind compare port_conflicts zone_of
    """,
    "why": """
        NearMiss Obstacle RecordedDecision ScoreComparison VerifiedChange
    """,
}
_NEW_NAMES: Final = {
    "DistinctColumn": "DictionaryColumn",
    "FollowingColumns": "DerivedArrays",
    "RowFollower": "RowChangeReader",
    "TermKind": "TermClass",
}
"""What names are called in their package now, if that is another name."""
_PACKAGE_OF: Final = {name: package for package, names in _NAMES.items() for name in names.split()}


def moved(name: str) -> Any:
    """Return the value of a name that has moved, with a warning that says where to.

    Raises :class:`AttributeError` for any other name, as a module does. To be called by the ``__getattr__``
    of the package: the warning has the line of its caller.
    """
    package = _PACKAGE_OF.get(name)
    if package is None:
        raise AttributeError(f"module 'schedframe' has no attribute {name!r}")
    new = _NEW_NAMES.get(name, name)
    warnings.warn(
        f"schedframe.{name} has moved: import {'it' if new == name else new} from schedframe.{package}",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(import_module(f"schedframe.{package}"), new)
