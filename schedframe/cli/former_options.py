"""Options of kube-scheduler up to v1.22 that ``schedframe run`` takes, and the configuration they mean."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import typer
from attrs import field, frozen

from ..api import NamespacedObject, ObjectMeta
from ..config.legacy import POLICY_ENTRY, PROVIDERS, Migration, migrate, provider
from ..config.legacy.names import POD_AFFINITY
from ..errors import InputError
from .flag_values import boolean

logger = logging.getLogger("schedframe.run")

FORMER: Final = "Options that became configuration"
"""Heading of these options in the help."""


@frozen
class ConfigMap(NamespacedObject):
    """The part of a ConfigMap that holds a policy."""

    KIND: ClassVar[str] = "ConfigMap"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = field(factory=ObjectMeta)
    data: Mapping[str, str] = field(factory=dict)


@frozen(kw_only=True)
class FormerOptions:
    """Options in place of a configuration; typer reads their types and help from here."""

    algorithm_provider: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{' or '.join(PROVIDERS)}.", rich_help_panel=FORMER),
    ] = None
    policy_config_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A policy.", rich_help_panel=FORMER)
    ] = None
    policy_configmap: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"ConfigMap with a policy as {POLICY_ENTRY}.", rich_help_panel=FORMER
        ),
    ] = None
    policy_configmap_namespace: Annotated[
        str, typer.Option(metavar="NAMESPACE", help="Of that ConfigMap.", rich_help_panel=FORMER)
    ] = "kube-system"
    use_legacy_policy_config: Annotated[
        str,
        typer.Option(
            metavar="true|false",
            help="Take the policy from the file if both are given.",
            rich_help_panel=FORMER,
        ),
    ] = "false"
    hard_pod_affinity_symmetric_weight: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=100,
            help=f"hardPodAffinityWeight of {POD_AFFINITY}.",
            rich_help_panel=FORMER,
        ),
    ] = None

    @property
    def named(self) -> list[str]:
        """The options that choose a configuration and are given."""
        values = {
            "--algorithm-provider": self.algorithm_provider,
            "--policy-config-file": self.policy_config_file,
            "--policy-configmap": self.policy_configmap,
            "--hard-pod-affinity-symmetric-weight": self.hard_pod_affinity_symmetric_weight,
        }
        return [name for name, value in values.items() if value is not None]


def former_configuration(
    options: FormerOptions, read_config_map: Callable[[str, str], ConfigMap | None]
) -> dict[str, Any]:
    """Return the configuration that *options* mean, as JSON data; each note that matters is logged.

    *read_config_map*: namespace and name → the ConfigMap, ``None`` if there is none. Raises ConfigError,
    InputError.
    """
    migration = _migration(options, read_config_map)
    for name in options.named:
        logger.warning("%s: write a configuration with schedframe config migrate, and use --config", name)
    for note in migration.not_kept:
        logger.warning("%s", note)
    weight = options.hard_pod_affinity_symmetric_weight
    return migration.config if weight is None else _with_weight(migration.config, weight)


def _migration(options: FormerOptions, read_config_map: Callable[[str, str], ConfigMap | None]) -> Migration:
    file, name = options.policy_config_file, options.policy_configmap
    by_file = boolean("--use-legacy-policy-config", options.use_legacy_policy_config)
    if options.algorithm_provider is not None and (file is not None or name is not None):
        raise InputError("--algorithm-provider", "a policy is given, too", "leave out one of them")
    if name is not None and not by_file:
        config_map = read_config_map(options.policy_configmap_namespace, name)
        where = f"{options.policy_configmap_namespace}/{name}"
        if config_map is None:
            raise InputError("--policy-configmap", f"there is no ConfigMap {where}")
        return migrate({"kind": "ConfigMap", "apiVersion": "v1", "data": dict(config_map.data)})
    if file is not None:
        return migrate(file)
    if by_file:
        raise InputError("--use-legacy-policy-config", "there is no file", "give --policy-config-file")
    chosen = PROVIDERS[0] if options.algorithm_provider is None else options.algorithm_provider
    if chosen not in PROVIDERS:
        raise InputError("--algorithm-provider", f"{chosen} is neither {' nor '.join(PROVIDERS)}")
    return provider(chosen)


def _with_weight(config: dict[str, Any], weight: int) -> dict[str, Any]:
    """Return *config* with that weight in each profile that does not set it: a policy takes precedence."""
    profiles = []
    for profile in config["profiles"]:
        args = list(profile.get("pluginConfig", ()))
        if all(each["name"] != POD_AFFINITY for each in args):
            args.append({"name": POD_AFFINITY, "args": {"hardPodAffinityWeight": weight}})
        profiles.append({**profile, "pluginConfig": args})
    return {**config, "profiles": profiles}
