"""Second stage: does a defaulted configuration make sense? All errors are collected.

The rules (which values of which fields are refused, and with which type of error) are those of kube-scheduler
v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Final

from ..api.duration import Duration
from .catalogue import POINTS, Catalogue
from .defaults import enabled_names, required_args
from .errors import FieldError
from .model import (
    ClientConnectionConfiguration,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginSet,
)
from .names import is_extended_resource_name, qualified_name_problems

_NO_QUEUE_SORT: Final = PluginSet()


def validate(config: KubeSchedulerConfiguration, catalogue: Catalogue) -> list[FieldError]:
    """Return all errors of a configuration that went through :func:`.defaults.apply_defaults`."""
    return [
        *_client_connection(config.client_connection),
        *_leader_election(config.leader_election),
        *_numbers(config),
        *_profiles(config.profiles, catalogue),
        *_extenders(config.extenders),
    ]


def _client_connection(connection: ClientConnectionConfiguration) -> Iterator[FieldError]:
    if not isfinite(connection.qps):
        detail = "use 0 (the default, 50) or a finite number; below 0 is no limit"
        yield FieldError.invalid("clientConnection.qps", connection.qps, detail)
    if connection.burst < 0:
        yield FieldError.invalid(
            "clientConnection.burst", connection.burst, "use 0 (the default, 100) or more"
        )


def _leader_election(election: LeaderElectionConfiguration) -> Iterator[FieldError]:
    if not election.leader_elect:
        return
    durations = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for name, duration in durations.items():
        if duration <= Duration():
            yield FieldError.invalid(f"leaderElection.{name}", str(duration), "must be longer than 0s")
    if election.lease_duration <= election.renew_deadline:
        detail = f"must be longer than renewDeadline, {election.renew_deadline}"
        yield FieldError.invalid("leaderElection.leaseDuration", str(election.lease_duration), detail)
    if election.resource_lock != "leases":
        detail = 'the only kind of lock left is "leases"'
        yield FieldError.invalid("leaderElection.resourceLock", election.resource_lock, detail)


def _numbers(config: KubeSchedulerConfiguration) -> Iterator[FieldError]:
    parallelism = config.parallelism or 0
    if parallelism <= 0:
        yield FieldError.invalid("parallelism", parallelism, "must be at least 1")
    yield from _percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    initial, longest = config.pod_initial_backoff_seconds or 0, config.pod_max_backoff_seconds or 0
    if initial <= 0:
        yield FieldError.invalid("podInitialBackoffSeconds", initial, "must be at least 1 (second)")
    if longest < initial:
        detail = f"must be at least podInitialBackoffSeconds, {initial}"
        yield FieldError.invalid("podMaxBackoffSeconds", longest, detail)


def _percentage(path: str, percentage: int | None) -> Iterator[FieldError]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield FieldError.invalid(path, percentage, "must be from 0 (by size of the cluster) to 100")


def _profiles(profiles: Sequence[KubeSchedulerProfile], catalogue: Catalogue) -> Iterator[FieldError]:
    seen: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        name = profile.scheduler_name or ""
        if not name:
            detail = "every profile needs a name when there are several; pods choose by spec.schedulerName"
            yield FieldError.required(f"{path}.schedulerName", detail)
        yield from _percentage(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
        yield from _plugins(path, profile, catalogue)
        yield from _plugin_config(path, profile, catalogue)
        if name in seen:
            detail = f"profiles[{seen[name]}] has that name; choose another"
            yield FieldError.duplicate(f"{path}.schedulerName", name, detail)
        seen[name] = index
    yield from _common_queue_sort(profiles)


def _plugins(path: str, profile: KubeSchedulerProfile, catalogue: Catalogue) -> Iterator[FieldError]:
    if profile.plugins is None:
        return
    for point in POINTS:
        for index, plugin in enumerate(profile.plugins.at(point).enabled):
            yield from _removed(f"{path}.plugins.{point}.enabled[{index}]", plugin.name, catalogue)
    configured = {config.name for config in profile.plugin_config}
    for name in sorted(enabled_names(profile.plugins) - configured):
        entry = catalogue.get(name)
        if entry is not None and (missing := required_args(entry)):
            detail = f"add an entry for {name}, which cannot do without {', '.join(missing)}"
            yield FieldError.required(f"{path}.pluginConfig", detail)


def _removed(path: str, name: str, catalogue: Catalogue) -> Iterator[FieldError]:
    plugin = catalogue.removed(name)
    if plugin is not None and plugin.refused_at == "validate":
        yield FieldError.invalid(path, name, f"this plugin was removed; {plugin.successor} does its work")


def _plugin_config(path: str, profile: KubeSchedulerProfile, catalogue: Catalogue) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, config in enumerate(profile.plugin_config):
        where = f"{path}.pluginConfig[{index}]"
        if config.name in seen:
            yield FieldError.duplicate(where, config.name, "configure a plugin once in a profile")
        seen.add(config.name)
        yield from _removed(where, config.name, catalogue)
        entry = catalogue.get(config.name)
        if entry is None or entry.check_args is None or entry.args_checked != "validate":
            continue
        if entry.args_class is None or isinstance(config.args, entry.args_class):
            yield from entry.check_args(config.args, f"{where}.args")


def _common_queue_sort(profiles: Sequence[KubeSchedulerProfile]) -> Iterator[FieldError]:
    """All profiles share one queue, so they must sort it by the same plugin with the same arguments."""
    common = _queue_sort(profiles[0])
    if len(common.enabled) > 1:
        detail = (
            f"only one plugin can sort the queue; leave one of {', '.join(p.name for p in common.enabled)}"
        )
        yield FieldError.invalid("profiles[0].plugins.queueSort.Enabled", len(common.enabled), detail)
    name = common.enabled[0].name if common.enabled else ""
    args = [config.args for config in profiles[0].plugin_config if name and config.name == name]
    for index, profile in enumerate(profiles[1:], start=1):
        path = f"profiles[{index}]"
        own = _queue_sort(profile)
        if _normal(own) != _normal(common):
            names = [plugin.name for plugin in own.enabled]
            detail = "all profiles share one queue; write the same list as in profiles[0]"
            yield FieldError.invalid(f"{path}.plugins.queueSort", names, detail)
        for config in profile.plugin_config:
            if config.name == name and config.args != (args[-1] if args else None):
                detail = f"all profiles share one queue; give {name or 'it'} the same args as in profiles[0]"
                yield FieldError.invalid(f"{path}.pluginConfig.args", config.args, detail)


def _queue_sort(profile: KubeSchedulerProfile) -> PluginSet:
    return profile.plugins.queue_sort if profile.plugins is not None else _NO_QUEUE_SORT


def _normal(plugins: PluginSet) -> object:
    """Return the lists in a form to compare, in which no weight equals weight 0."""
    return [
        [(plugin.name, plugin.weight or 0) for plugin in half] for half in (plugins.enabled, plugins.disabled)
    ]


def _extenders(extenders: Iterable[Extender]) -> Iterator[FieldError]:
    binders = 0
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield FieldError.invalid(
                f"{path}.weight", extender.weight, "an extender that prioritizes needs at least 1"
            )
        binders += bool(extender.bind_verb)
        for position, resource in enumerate(extender.managed_resources):
            where = f"{path}.managedResources[{position}].name"
            yield from _extended_resource(where, resource.name)
            if resource.name in managed:
                yield FieldError.invalid(where, resource.name, "another extender manages it; name it once")
            managed.add(resource.name)
    if binders > 1:
        yield FieldError.invalid("extenders", f"{binders} with a bindVerb", "only one extender can bind pods")


def _extended_resource(path: str, name: str) -> Iterator[FieldError]:
    problems = qualified_name_problems(name)
    for problem in problems:
        yield FieldError.invalid(path, name, problem)
    if not problems and not is_extended_resource_name(name):
        detail = "extenders manage extended resources only; use a name such as example.com/gpu"
        yield FieldError.invalid(path, name, detail)
