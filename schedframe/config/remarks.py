"""Remarks on a right configuration: what has no effect, and what only schedframe understands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from .catalogue import POINTS, WEIGHTED_POINTS, Catalogue, installed_catalogue
from .decode import suggestion
from .effective import EffectiveConfig, EffectiveProfile
from .model import ALL, MULTI_POINT, Extender, KubeSchedulerConfiguration, KubeSchedulerProfile, Plugins

Remark = tuple[str, str]
"""Path of a field, and the remark about it."""

_WITHOUT_EFFECT: Final[tuple[tuple[str, Callable[[KubeSchedulerConfiguration], object]], ...]] = (
    ("parallelism", lambda config: config.parallelism),
    ("enableProfiling", lambda config: config.enable_profiling),
    ("enableContentionProfiling", lambda config: config.enable_contention_profiling),
    ("clientConnection.acceptContentTypes", lambda config: config.client_connection.accept_content_types),
)
"""Fields that kube-scheduler has a use for, and schedframe has none."""


def remarks(
    given: KubeSchedulerConfiguration, effective: EffectiveConfig, catalogue: Catalogue
) -> Iterator[Remark]:
    """Yield remarks on a configuration as it was given, in the order of its fields."""
    for path, value_of in _WITHOUT_EFFECT:
        if value_of(given) not in (None, ""):
            yield path, "has no effect in schedframe"
    for index, (profile, made) in enumerate(zip(given.profiles, effective.profiles, strict=False)):
        path = f"profiles[{index}]"
        if profile.run_all_filters:
            yield f"{path}.runAllFilters", "kube-scheduler has no such field"
        yield from _of_plugins(path, profile.plugins or Plugins(), catalogue)
        yield from _of_plugin_config(path, profile, made)
    for index, extender in enumerate(given.extenders):
        yield from _of_extender(f"extenders[{index}]", extender)


def _of_plugins(path: str, plugins: Plugins, catalogue: Catalogue) -> Iterator[Remark]:
    by_default = {entry.name for entry in catalogue.defaults()}
    former = installed_catalogue()
    in_multi_point = by_default | {plugin.name for plugin in plugins.multi_point.enabled}
    for point in (MULTI_POINT, *POINTS):
        where, at = f"{path}.plugins.{point}", plugins.at(point)
        for index, plugin in enumerate(at.enabled):
            removed = former.removed(plugin.name)
            if removed is not None:
                text = f"kube-scheduler v1.36 refuses {plugin.name}; it has {removed.successor}"
                yield f"{where}.enabled[{index}]", text
            if plugin.weight and point not in (*WEIGHTED_POINTS, MULTI_POINT):
                yield f"{where}.enabled[{index}].weight", f"has no effect at {point}, where nothing is scored"
        here = in_multi_point | {plugin.name for plugin in at.enabled}
        for index, plugin in enumerate(at.disabled):
            if plugin.name != ALL and (text := _useless(plugin.name, point, here, catalogue)):
                yield f"{where}.disabled[{index}]", text


def _useless(name: str, point: str, enabled: set[str], catalogue: Catalogue) -> str:
    """Return why disabling *name* at *point*, where *enabled* are, has no effect; empty if it has one."""
    entry = catalogue.get(name)
    if entry is None:
        return f"has no effect: there is no plugin {name}{suggestion(name, catalogue.names())}"
    if name not in enabled:
        return f"has no effect: {name} is not enabled"
    if point != MULTI_POINT and point not in entry.points:
        return f"has no effect: {name} does not run at {point}"
    return ""


def _of_plugin_config(path: str, profile: KubeSchedulerProfile, made: EffectiveProfile) -> Iterator[Remark]:
    for index, config in enumerate(profile.plugin_config):
        if config.name not in made.names:
            yield f"{path}.pluginConfig[{index}]", f"has no effect: {config.name} is not enabled"


def _of_extender(path: str, extender: Extender) -> Iterator[Remark]:
    verbs = (extender.filter_verb, extender.prioritize_verb, extender.bind_verb, extender.preempt_verb)
    if not any(verbs):
        yield path, "is never called: it has no verb"
    elif extender.weight and not extender.prioritize_verb:
        yield f"{path}.weight", "has no effect without a prioritizeVerb"
