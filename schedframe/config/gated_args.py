"""Arguments of plugins that depend on feature gates."""

from __future__ import annotations

from attrs import evolve

from .catalogue import Catalogue
from .errors import FieldError
from .feature_gates import FeatureGates
from .model import KubeSchedulerConfiguration, KubeSchedulerProfile, PluginConfig


def apply_gates(
    config: KubeSchedulerConfiguration, catalogue: Catalogue, gates: FeatureGates
) -> tuple[KubeSchedulerConfiguration, list[FieldError]]:
    """Fill in the arguments whose default depends on a gate; also return what the gates do not allow."""
    errors: list[FieldError] = []
    profiles = tuple(
        _profile(profile, f"profiles[{index}]", catalogue, gates, errors)
        for index, profile in enumerate(config.profiles)
    )
    return evolve(config, profiles=profiles), errors


def _profile(
    profile: KubeSchedulerProfile,
    path: str,
    catalogue: Catalogue,
    gates: FeatureGates,
    errors: list[FieldError],
) -> KubeSchedulerProfile:
    configured = []
    for index, each in enumerate(profile.plugin_config):
        entry, args = catalogue.get(each.name), each.args
        gated = None if entry is None else entry.gated_args
        if entry is not None and gated is not None and isinstance(args, entry.args_class or object):
            enabled = gates.enabled(gated.gate)
            if enabled:
                args = gated.with_defaults(args)
            check = gated.check_enabled if enabled else gated.check_disabled
            errors.extend(check(args, f"{path}.pluginConfig[{index}].args"))
        configured.append(each if args is each.args else PluginConfig(each.name, args))
    return evolve(profile, plugin_config=tuple(configured))
