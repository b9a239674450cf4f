"""KubeSchedulerConfiguration: read, defaulted, validated, and expanded into the plugins of each profile."""

from __future__ import annotations

from ..api.duration import Duration
from .catalogue import (
    POINTS,
    Catalogue,
    CatalogueEntry,
    GatedArgs,
    PluginCatalogue,
    RegisteredEvent,
    RemovedPlugin,
    installed_catalogue,
)
from .decode import structure_args
from .effective import EffectiveConfig, EffectiveProfile, EnabledPlugin, dump_config
from .errors import (
    ConfigBuildError,
    ConfigDecodeError,
    ConfigValidationError,
    FieldError,
    FieldErrorType,
)
from .feature_gates import FEATURE_GATES, FeatureGate, FeatureGates, GateStage, GateSupport
from .load import ConfigSource, load_config
from .model import (
    ClientConnectionConfiguration,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)
from .names import label_value_problems, qualified_name_problems
from .passed import PassedPlugin
from .profile import Profile

__all__ = [
    "FEATURE_GATES",
    "POINTS",
    "Catalogue",
    "CatalogueEntry",
    "ClientConnectionConfiguration",
    "ConfigBuildError",
    "ConfigDecodeError",
    "ConfigSource",
    "ConfigValidationError",
    "Duration",
    "EffectiveConfig",
    "EffectiveProfile",
    "EnabledPlugin",
    "Extender",
    "ExtenderManagedResource",
    "ExtenderTLSConfig",
    "FeatureGate",
    "FeatureGates",
    "FieldError",
    "FieldErrorType",
    "GateStage",
    "GateSupport",
    "GatedArgs",
    "KubeSchedulerConfiguration",
    "KubeSchedulerProfile",
    "LeaderElectionConfiguration",
    "PassedPlugin",
    "Plugin",
    "PluginCatalogue",
    "PluginConfig",
    "PluginSet",
    "Plugins",
    "Profile",
    "RegisteredEvent",
    "RemovedPlugin",
    "dump_config",
    "installed_catalogue",
    "label_value_problems",
    "load_config",
    "qualified_name_problems",
    "structure_args",
]
