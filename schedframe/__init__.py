"""The Kubernetes scheduling framework as a Python SDK.

This module exports the first page: what builds a scheduler, what a plugin needs, the parts of the core, the
common objects and the errors. Everything else is exported by the packages: the other objects by
:mod:`schedframe.api`, extenders and pod groups by :mod:`schedframe.framework`, and so on. A name is imported
when it is first used, so that a program that needs only the values does not load the scheduler.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._version import __version__ as __version__

# The public names by what they are for, and the package that defines them. ``__init__.pyi`` is generated from
# it for type checkers (python -m tests.public_stub), docs/reference/public-names.md for readers
_FIRST_PAGE: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "build": {
        "cycle": (
            "AsyncioExecutor",
            "Scheduler",
            "SchedulerObserver",
            "SystemClock",
            "ThreadExecutor",
            "VirtualClock",
        ),
        "cluster": (
            "ClusterPort",
            "InMemoryCluster",
        ),
        "config": (
            "KubeSchedulerConfiguration",
            "Profile",
            "load_config",
        ),
        "simulate": (
            "Simulation",
            "evaluate",
        ),
        "why": (
            "Recorder",
            "explain",
        ),
    },
    "plug in": {
        "framework": (
            "MAX_SCORE",
            "MIN_SCORE",
            "SKIP",
            "SUCCESS",
            "Code",
            "Depends",
            "Enabled",
            "Handle",
            "Normalization",
            "PostFilterResult",
            "PreFilterResult",
            "Registry",
            "RowVerdicts",
            "StateKey",
            "hookimpl",
            "hookspecs",
        ),
        "queue": (
            "Action",
            "ClusterEvent",
            "EventRegistration",
            "EventResource",
            "HintReads",
            "QueueingHint",
        ),
        "state": (
            "NodeInfo",
            "NodeTable",
            "ObjectStore",
            "Rows",
        ),
    },
    "core": {
        "framework": (
            "CycleState",
            "Framework",
            "Status",
        ),
        "queue": (
            "Heap",
            "PriorityQueue",
            "QueuedPodInfo",
        ),
        "cycle": ("Decision",),
        "state": ("Snapshot",),
    },
    "objects": {
        "api": (
            "Container",
            "LabelSelector",
            "Node",
            "ObjectMeta",
            "Pod",
            "PodSpec",
            "Quantity",
            "Taint",
            "Toleration",
            "from_manifest",
            "load_manifests",
            "parse_quantity",
            "to_manifest",
        ),
    },
    "errors": {
        "errors": (
            "ClusterError",
            "ConfigError",
            "InputError",
            "InputErrors",
            "InvariantError",
            "PluginError",
            "SchedframeError",
        ),
        "cluster": (
            "BindRefused",
            "Conflict",
            "NotFound",
            "OutcomeUnknown",
        ),
        "framework": ("CycleStateError",),
    },
}
_PACKAGE_OF: Final = {
    name: package for group in _FIRST_PAGE.values() for package, names in group.items() for name in names
}
_PACKAGES: Final = (
    "api",
    "capacity",
    "cluster",
    "compare",
    "config",
    "controllers",
    "cycle",
    "errors",
    "framework",
    "queue",
    "runs",
    "simulate",
    "state",
    "traces",
    "why",
)

__all__ = sorted([*_PACKAGE_OF, "__version__"])  # noqa: PLE0605  # derived, so that it is written once


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    package = _PACKAGE_OF.get(name)
    if package is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{package}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
