"""Third stage: which plugins run where. Reads names and extension points of plugins, never the plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from attrs import evolve, field

from .._base.value import record
from .catalogue import POINTS, WEIGHTED_POINTS, Catalogue
from .decode import suggestion
from .defaults import enabled_names
from .effective import EffectiveConfig, EffectiveProfile, EnabledPlugin
from .elsewhere import project_of
from .errors import ConfigBuildError, FieldError
from .extenders import ignored_resources, in_call_order, transport_problems
from .model import ALL, KubeSchedulerConfiguration, KubeSchedulerProfile, PluginConfig, Plugins

MAX_NODE_SCORE: Final = 100
_INT64_MAX: Final = 2**63 - 1


def build(
    config: KubeSchedulerConfiguration, catalogue: Catalogue, *, read_files: bool = True
) -> EffectiveConfig:
    """Return the configuration to build a scheduler from. ConfigBuildError with all errors of this stage.

    Without *read_files*, certificates in files are taken to be right.
    """
    errors = list(transport_problems(config.extenders, read_files=read_files))
    config, problems = _ignore_managed_resources(config, catalogue)
    errors.extend(problems)
    profiles = []
    for index, profile in enumerate(config.profiles):
        builder = _ProfileBuilder(f"profiles[{index}]", profile, profile.plugins or Plugins(), catalogue)
        profiles.append(builder.build())
        errors.extend(builder.errors)
    if not errors:
        errors.extend(_one_queue(profiles))
    if errors:
        raise ConfigBuildError(errors)
    return EffectiveConfig(config, tuple(profiles), in_call_order(config.extenders), catalogue)


def _ignore_managed_resources(
    config: KubeSchedulerConfiguration, catalogue: Catalogue
) -> tuple[KubeSchedulerConfiguration, list[FieldError]]:
    """Add the resources that extenders manage to the ignored ones of the plugin that counts resources."""
    ignored = ignored_resources(config.extenders)
    if not ignored:
        return config, []
    errors = []
    profiles = []
    for index, profile in enumerate(config.profiles):
        changed = tuple(_ignoring(plugin, ignored, catalogue) for plugin in profile.plugin_config)
        if not any(_ignores(plugin, catalogue) for plugin in changed):
            detail = (
                f"no plugin there has an argument to ignore {', '.join(ignored)}, which an extender manages"
            )
            errors.append(FieldError.invalid(f"profiles[{index}].pluginConfig", None, detail))
        profiles.append(evolve(profile, plugin_config=changed))
    return evolve(config, profiles=tuple(profiles)), errors


def _ignores(plugin: PluginConfig, catalogue: Catalogue) -> bool:
    entry = catalogue.get(plugin.name)
    return entry is not None and entry.with_ignored_resources is not None


def _ignoring(plugin: PluginConfig, ignored: tuple[str, ...], catalogue: Catalogue) -> PluginConfig:
    entry = catalogue.get(plugin.name)
    if entry is None or entry.with_ignored_resources is None:
        return plugin
    return PluginConfig(plugin.name, entry.with_ignored_resources(plugin.args, ignored))


def _one_queue(profiles: Sequence[EffectiveProfile]) -> Iterator[FieldError]:
    first = profiles[0]
    name = first.queue_sort
    for index, profile in enumerate(profiles[1:], start=1):
        path = f"profiles[{index}]"
        if profile.queue_sort != name:
            detail = f"all profiles share one queue, which {name} sorts in profiles[0]; use one plugin in all"
            yield FieldError.invalid(f"{path}.plugins.queueSort", profile.queue_sort, detail)
        elif profile.plugin_config.get(name) != first.plugin_config.get(name):
            detail = f"all profiles share one queue; give {name} the same args as in profiles[0]"
            yield FieldError.invalid(f"{path}.pluginConfig", profile.plugin_config.get(name), detail)


@record(eq=False)
class _ProfileBuilder:
    """Builds one profile and collects its errors."""

    path: str
    profile: KubeSchedulerProfile
    plugins: Plugins
    catalogue: Catalogue
    errors: list[FieldError] = field(factory=list)

    def build(self) -> EffectiveProfile:
        names = enabled_names(self.plugins)
        self._check_args(names)
        self._check_names()
        expanded = {point: expand(self.plugins, point, self.catalogue) for point in POINTS}
        self._check_counts(expanded)
        weights = {point: self._weights(point) for point in WEIGHTED_POINTS}
        return EffectiveProfile(
            scheduler_name=self.profile.scheduler_name or "",
            percentage_of_nodes_to_score=self.profile.percentage_of_nodes_to_score,
            plugins={
                point: tuple(
                    EnabledPlugin(name, weights[point].get(name, 1) if point in weights else 0)
                    for name in enabled
                )
                for point, enabled in expanded.items()
                if enabled
            },
            plugin_config={config.name: config.args for config in self.profile.plugin_config},
            names=tuple(sorted(names)),
            run_all_filters=self.profile.run_all_filters,
        )

    def _check_args(self, names: set[str]) -> None:
        for index, config in enumerate(self.profile.plugin_config):
            entry = self.catalogue.get(config.name)
            if entry is None or entry.check_args is None or entry.args_checked != "build":
                continue
            if config.name in names:
                self.errors.extend(entry.check_args(config.args, f"{self.path}.pluginConfig[{index}].args"))

    def _check_names(self) -> None:
        for point in POINTS:
            seen: set[str] = set()
            for index, plugin in enumerate(self.plugins.at(point).enabled):
                self._check_name(plugin.name, f"{self.path}.plugins.{point}.enabled[{index}]", point, seen)
        seen = set()
        for plugin in self.plugins.multi_point.enabled:
            self._check_name(plugin.name, f"{self.path}.plugins.multiPoint.enabled", "", seen)

    def _check_name(self, name: str, path: str, point: str, seen: set[str]) -> None:
        entry = self.catalogue.get(name)
        if entry is None:
            self.errors.append(FieldError.invalid(path, name, self._unknown(name)))
        elif point and point not in entry.points:
            has = ", ".join(entry.points) or "no extension point"
            self.errors.append(
                FieldError.invalid(path, name, f"the plugin does not implement {point}; it has {has}")
            )
        elif name in seen and (point or self._runs_twice(name)):
            self.errors.append(FieldError.duplicate(path, name, "enable a plugin once in a list"))
        seen.add(name)

    def _runs_twice(self, name: str) -> bool:
        """Return whether a plugin that is in multiPoint twice would run twice at some point."""
        entry = self.catalogue.get(name)
        points = entry.points if entry is not None else ()
        return any(name in _spread(self.plugins, point, self.catalogue) for point in points)

    def _unknown(self, name: str) -> str:
        removed = self.catalogue.removed(name)
        if removed is not None:
            return f"this plugin was removed; {removed.successor} does its work"
        reason = self.catalogue.why_not(name)
        if reason is not None:
            return reason
        if project := project_of(name):
            return f"this is a plugin of {project}; register one of this name in Python, or leave it out"
        close = suggestion(name, self.catalogue.names())
        return f"there is no such plugin; register it or leave it out{close}"

    def _check_counts(self, expanded: Mapping[str, Sequence[str]]) -> None:
        sorts = list(expanded["queueSort"])
        # plugins that are not known may well be those that are missing
        if len(sorts) != 1 and (sorts or not self._has_unknown("queueSort")):
            others = " or ".join(f'Profile().disable("{name}")' for name in sorts[:-1])
            fix = f"disable the others: {others} in Python, queueSort.disabled in a file"
            detail = f"exactly one plugin must sort the queue; {fix if sorts else 'enable one'}"
            self.errors.append(FieldError.invalid(f"{self.path}.plugins.queueSort", sorts, detail))
        if not expanded["bind"] and not self._has_unknown("bind"):
            detail = "at least one plugin must bind pods; enable one"
            self.errors.append(FieldError.required(f"{self.path}.plugins.bind", detail))

    def _has_unknown(self, point: str) -> bool:
        """Return whether an unknown plugin might run at *point*."""
        enabled = (*self.plugins.at(point).enabled, *self.plugins.multi_point.enabled)
        return any(self.catalogue.get(plugin.name) is None for plugin in enabled)

    def _weights(self, point: str) -> dict[str, int]:
        """Return the weight of each plugin of the point; its own list comes first, 0 and None mean 1."""
        weights: dict[str, int] = {}
        total = 0
        for plugin in chain(self.plugins.at(point).enabled, self.plugins.multi_point.enabled):
            entry = self.catalogue.get(plugin.name)
            if entry is None or point not in entry.points or plugin.name in weights:
                continue
            weight = weights[plugin.name] = plugin.weight or 1
            if weight * MAX_NODE_SCORE > _int64(_INT64_MAX - total):
                # A negative weight is refused at the next plugin, where the sum wraps around.
                wrong = min(weights, key=weights.__getitem__)
                if weights[wrong] < 0:
                    detail = f"its weight is {weights[wrong]}; use a weight of at least 1"
                else:
                    wrong = plugin.name
                    detail = f"with it the sum of scores could exceed {_INT64_MAX}; use smaller weights"
                self.errors.append(FieldError.invalid(f"{self.path}.plugins.{point}", wrong, detail))
                break
            total = _int64(total + weight * MAX_NODE_SCORE)
        return weights


def _int64(value: int) -> int:
    """Wrap around as the reference's 64-bit arithmetic does, which accepts some negative weights."""
    return (value + 2**63) % 2**64 - 2**63


def _spread(plugins: Plugins, point: str, catalogue: Catalogue) -> list[str]:
    """Return the plugins of multiPoint that run at a point without being in its own list."""
    at = plugins.at(point)
    disabled = {plugin.name for plugin in at.disabled}
    if ALL in disabled:
        return []
    own = {plugin.name for plugin in at.enabled}
    names = []
    for plugin in plugins.multi_point.enabled:
        entry = catalogue.get(plugin.name)
        if (
            entry is not None
            and point in entry.points
            and plugin.name not in disabled
            and plugin.name not in own
        ):
            names.append(plugin.name)
    return names


def expand(plugins: Plugins, point: str, catalogue: Catalogue) -> tuple[str, ...]:
    """Return the names of the plugins that run at a point, in order.

    First those of the point's own list that are in multiPoint too and not disabled, then the rest of
    multiPoint, then the rest of the own list. ``*`` among the disabled leaves only the own list.
    """
    at = plugins.at(point)
    own = [plugin.name for plugin in at.enabled]
    disabled = {plugin.name for plugin in at.disabled}
    if ALL in disabled:
        return tuple(own)
    multi = {plugin.name for plugin in plugins.multi_point.enabled} - disabled
    first = [name for name in own if name in multi]
    return (*first, *_spread(plugins, point, catalogue), *(name for name in own if name not in multi))
