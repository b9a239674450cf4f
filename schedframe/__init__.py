"""The Kubernetes scheduling framework as a Python SDK.

This module exports what authors of plugins and schedulers need. Everything else is exported by the packages:
the parts of objects (specs, terms, selectors) by :mod:`schedframe.api`, columns and caches by
:mod:`schedframe.state`, and so on. A name is imported when it is first used, so that a program that needs
only the values does not load the scheduler.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._version import __version__ as __version__

# The list of public names, by the package that defines them. ``__init__.pyi`` is generated from it for type
# checkers: python -m tests.public_stub
_EXPORTS: Final[dict[str, tuple[str, ...]]] = {
    "errors": (
        "ClusterError",
        "ConfigError",
        "InputError",
        "InputErrors",
        "InvariantError",
        "PluginError",
        "SchedframeError",
    ),
    "api": (
        "NO_EXECUTE",
        "NO_SCHEDULE",
        "PREFER_NO_SCHEDULE",
        "ClusterObject",
        "Container",
        "DeviceClass",
        "LabelSelector",
        "Namespace",
        "NamespacedObject",
        "Node",
        "ObjectMeta",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "PodDisruptionBudget",
        "PodSpec",
        "Quantity",
        "ResourceClaim",
        "ResourceSlice",
        "StorageClass",
        "Taint",
        "Toleration",
        "compile_label_selector",
        "find_untolerated_taint",
        "from_manifest",
        "load_manifests",
        "parse_quantity",
        "to_manifest",
        "wire",
    ),
    "cluster": (
        "BindRefused",
        "ClusterPort",
        "Conflict",
        "InMemoryCluster",
        "NotFound",
        "OutcomeUnknown",
        "WatchEvent",
    ),
    "queue": (
        "EVERYTHING",
        "Action",
        "ClusterEvent",
        "EventOf",
        "EventRegistration",
        "EventResource",
        "HintReads",
        "NominatingMode",
        "PendingPod",
        "Pool",
        "QueuedPodInfo",
        "QueueingHint",
    ),
    "config": (
        "Duration",
        "FeatureGates",
        "FieldError",
        "KubeSchedulerConfiguration",
        "Profile",
        "dump_config",
        "load_config",
    ),
    "state": (
        "NodeInfo",
        "NodeTable",
        "ObjectStore",
        "RowChangeReader",
        "Rows",
        "Snapshot",
    ),
    "framework": (
        "MAX_SCORE",
        "MIN_SCORE",
        "SKIP",
        "SUCCESS",
        "BaseExtender",
        "Candidate",
        "Code",
        "CycleState",
        "CycleStateError",
        "Depends",
        "Enabled",
        "Extender",
        "ExtenderError",
        "ExtenderFilterResult",
        "ExtenderVerb",
        "GroupPlacement",
        "GroupPreemption",
        "GroupScores",
        "GroupVerdicts",
        "Handle",
        "HostPriority",
        "NominatingInfo",
        "Normalization",
        "Observer",
        "OfferedNodes",
        "PodGroupInfo",
        "PostFilterResult",
        "PreFilterResult",
        "Preemption",
        "PreemptionEvaluator",
        "Registry",
        "RowVerdicts",
        "StateKey",
        "Status",
        "VictimUids",
        "Victims",
        "WaitingPod",
        "hookimpl",
        "normalize_by_max",
    ),
    "cycle": (
        "PODS_TO_ACTIVATE",
        "AsyncioExecutor",
        "Clock",
        "Decision",
        "Executor",
        "InlineExecutor",
        "Scheduler",
        "SchedulerOptions",
        "SystemClock",
        "ThreadExecutor",
        "VirtualClock",
    ),
    "controllers": ("ControllerManager",),
    "simulate": (
        "Evaluation",
        "Placement",
        "Simulation",
        "evaluate",
        "queueing_hint",
    ),
    "why": (
        "ChangeKind",
        "Explanation",
        "Recorder",
        "explain",
    ),
}
_PACKAGE_OF: Final = {name: package for package, names in _EXPORTS.items() for name in names}

__all__ = sorted([*_PACKAGE_OF, "__version__"])  # noqa: PLE0605  # derived, so that it is written once


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return import_module(f".{name}", __name__)
    package = _PACKAGE_OF.get(name)
    if package is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{package}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
