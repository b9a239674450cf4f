"""Fill in what a configuration leaves out, by the rules of kube-scheduler v1.36."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs
from attrs import evolve

from ..api.duration import Duration
from .catalogue import Catalogue, CatalogueEntry
from .feature_gates import NO_GATES, FeatureGates
from .model import (
    ALL,
    ATTRIBUTES,
    MULTI_POINT,
    ClientConnectionConfiguration,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
DEFAULT_PARALLELISM: Final = 16
DEFAULT_INITIAL_BACKOFF_SECONDS: Final = 1
DEFAULT_MAX_BACKOFF_SECONDS: Final = 10


def apply_defaults(
    config: KubeSchedulerConfiguration, catalogue: Catalogue, gates: FeatureGates = NO_GATES
) -> KubeSchedulerConfiguration:
    """Return the configuration with all defaults filled in and plugins merged with the default ones.

    Applying it twice changes nothing, unless a list enables a plugin twice, which cannot be built.
    """
    profiles = config.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (evolve(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    profiling = _or(config.enable_profiling, True)
    return evolve(
        config,
        parallelism=_or(config.parallelism, DEFAULT_PARALLELISM),
        leader_election=_leader_election(config.leader_election),
        client_connection=_client_connection(config.client_connection),
        enable_profiling=profiling,
        enable_contention_profiling=_or(config.enable_contention_profiling, profiling),
        percentage_of_nodes_to_score=_or(config.percentage_of_nodes_to_score, 0),
        pod_initial_backoff_seconds=_or(config.pod_initial_backoff_seconds, DEFAULT_INITIAL_BACKOFF_SECONDS),
        pod_max_backoff_seconds=_or(config.pod_max_backoff_seconds, DEFAULT_MAX_BACKOFF_SECONDS),
        profiles=tuple(_profile(profile, catalogue, gates) for profile in profiles),
    )


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _leader_election(given: LeaderElectionConfiguration) -> LeaderElectionConfiguration:
    return LeaderElectionConfiguration(
        leader_elect=_or(given.leader_elect, True),
        lease_duration=given.lease_duration or Duration.of(15),
        renew_deadline=given.renew_deadline or Duration.of(10),
        retry_period=given.retry_period or Duration.of(2),
        resource_lock=given.resource_lock or "leases",
        resource_name=given.resource_name or "kube-scheduler",
        resource_namespace=given.resource_namespace or "kube-system",
    )


def _client_connection(given: ClientConnectionConfiguration) -> ClientConnectionConfiguration:
    return evolve(
        given,
        content_type=given.content_type or "application/vnd.kubernetes.protobuf",
        qps=given.qps or 50.0,
        burst=given.burst or 100,
    )


def _profile(
    profile: KubeSchedulerProfile, catalogue: Catalogue, gates: FeatureGates
) -> KubeSchedulerProfile:
    given = profile.plugins or Plugins()
    # Only multiPoint has defaults; merging any other list changes nothing.
    plugins = evolve(
        given, multi_point=merge_plugin_set(default_plugins(catalogue, gates), given.multi_point)
    )
    configured = {config.name for config in profile.plugin_config}
    added = tuple(
        PluginConfig(name, entry.args_class())
        for name, entry in _needing_args(plugins, catalogue)
        if name not in configured and entry.args_class is not None
    )
    return evolve(profile, plugins=plugins, plugin_config=profile.plugin_config + added)


def _needing_args(plugins: Plugins, catalogue: Catalogue) -> Iterator[tuple[str, CatalogueEntry]]:
    for name in sorted(enabled_names(plugins)):
        entry = catalogue.get(name)
        if entry is not None and entry.args_class is not None and not required_args(entry):
            yield name, entry


def required_args(entry: CatalogueEntry) -> tuple[str, ...]:
    """Return the arguments without a default; a plugin with some can be enabled only with a configuration."""
    if entry.args_class is None or not attrs.has(entry.args_class):
        return ()
    fields = attrs.fields(entry.args_class)
    return tuple(field.name for field in fields if field.init and field.default is attrs.NOTHING)


def enabled_names(plugins: Plugins) -> set[str]:
    """Return the plugins enabled in any list. They are instantiated, even if they run at no point."""
    return {plugin.name for point in ATTRIBUTES for plugin in plugins.at(point).enabled}


def default_plugins(catalogue: Catalogue, gates: FeatureGates = NO_GATES) -> tuple[Plugin, ...]:
    """Return the default ``multiPoint`` list under these feature gates."""
    return tuple(Plugin(entry.name, entry.weight) for entry in catalogue.defaults(gates))


def merge_plugin_set(defaults: tuple[Plugin, ...], given: PluginSet) -> PluginSet:
    """Return the defaults without the disabled ones, then the other enabled plugins.

    A default plugin that is enabled again keeps its position, and is replaced by its last entry.
    """
    disabled = {plugin.name for plugin in given.disabled}
    replacements = {plugin.name: index for index, plugin in enumerate(given.enabled)}
    used: set[int] = set()
    kept: list[Plugin] = []
    for plugin in defaults if ALL not in disabled else ():
        if plugin.name in disabled:
            continue
        index = replacements.get(plugin.name)
        if index is None:
            kept.append(plugin)
        else:
            used.add(index)
            kept.append(given.enabled[index])
    kept.extend(plugin for index, plugin in enumerate(given.enabled) if index not in used)
    return PluginSet(tuple(kept), given.disabled)


__all__ = [
    "DEFAULT_SCHEDULER_NAME",
    "MULTI_POINT",
    "apply_defaults",
    "default_plugins",
    "enabled_names",
    "merge_plugin_set",
    "required_args",
]
