"""The Kubernetes scheduling framework as a Python SDK."""

from __future__ import annotations

from ._version import __version__
from .api import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, TopologySpreadConstraint
from .api._wire import wire
from .config import (
    CatalogueEntry,
    ConfigBuildError,
    ConfigDecodeError,
    ConfigValidationError,
    Duration,
    EffectiveConfig,
    EffectiveProfile,
    FieldError,
    KubeSchedulerConfiguration,
    PluginCatalogue,
    RegisteredEvent,
    RemovedPlugin,
    dump_config,
    label_value_problems,
    load_config,
    qualified_name_problems,
)

__all__ = [
    "CatalogueEntry",
    "ConfigBuildError",
    "ConfigDecodeError",
    "ConfigValidationError",
    "Duration",
    "EffectiveConfig",
    "EffectiveProfile",
    "FieldError",
    "KubeSchedulerConfiguration",
    "NodeAffinity",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "PluginCatalogue",
    "RegisteredEvent",
    "RemovedPlugin",
    "TopologySpreadConstraint",
    "__version__",
    "dump_config",
    "label_value_problems",
    "load_config",
    "qualified_name_problems",
    "wire",
]
