"""Plugins that a program passes besides a configuration: enabled unless the configuration names them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import evolve

from .._base.value import record
from ..errors import PluginError
from .model import (
    ATTRIBUTES,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin,
    PluginConfig,
    Plugins,
)


@record(frozen=True)
class PassedPlugin:
    """A plugin that a program passes, by its name, with what an entry of a profile would say of it.

    ``weight``: ``None`` means 1, unless the configuration has one. ``args``: ``None`` means the defaults,
    or those of the configuration.
    """

    name: str
    weight: int | None = None
    args: Any = None


def enable_passed(
    config: KubeSchedulerConfiguration, plugins: Iterable[PassedPlugin]
) -> KubeSchedulerConfiguration:
    """Return *config* with those of *plugins* enabled in every profile that no profile names.

    They follow the other plugins of ``multiPoint``. A plugin that some profile enables or disables stays as
    it is there; :class:`PluginError` if it was passed with a weight all the same.
    """
    named = names_in_profiles(config)
    enabled, configured = [], []
    for plugin in plugins:
        if plugin.name not in named:
            enabled.append(Plugin(plugin.name, plugin.weight))
        elif plugin.weight is not None:
            raise PluginError(
                f"plugin {plugin.name} is passed with the weight {plugin.weight}, and the configuration "
                "names it too; give the weight in the configuration"
            )
        if plugin.args is not None:
            configured.append(PluginConfig(plugin.name, plugin.args))
    if not enabled and not configured:
        return config
    profiles = config.profiles or (KubeSchedulerProfile(),)
    return evolve(
        config, profiles=tuple(_extended(profile, tuple(enabled), tuple(configured)) for profile in profiles)
    )


def names_in_profiles(config: KubeSchedulerConfiguration) -> set[str]:
    """Return the plugins that some list of some profile enables or disables."""
    lists = (
        profile.plugins.at(point)
        for profile in config.profiles
        if profile.plugins is not None
        for point in ATTRIBUTES
    )
    return {plugin.name for each in lists for plugin in (*each.enabled, *each.disabled)}


def _extended(
    profile: KubeSchedulerProfile, enabled: tuple[Plugin, ...], configured: tuple[PluginConfig, ...]
) -> KubeSchedulerProfile:
    plugins = profile.plugins or Plugins()
    multi_point = plugins.multi_point
    return evolve(
        profile,
        plugins=evolve(plugins, multi_point=evolve(multi_point, enabled=multi_point.enabled + enabled)),
        plugin_config=profile.plugin_config + configured,
    )
