"""The configuration that flags of kube-scheduler up to v1.22 mean, which ``schedframe run`` takes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from attrs import field, frozen

from schedframe.api import NamespacedObject, ObjectMeta
from schedframe.errors import InputError

from .config import PROVIDERS, Migration, migrate, provider
from .config.names import POD_AFFINITY

logger = logging.getLogger("schedframe.run")


@frozen
class ConfigMap(NamespacedObject):
    """The part of a ConfigMap that holds a policy."""

    KIND: ClassVar[str] = "ConfigMap"
    API_VERSION: ClassVar[str] = "v1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = field(factory=ObjectMeta)
    data: Mapping[str, str] = field(factory=dict)


@frozen(kw_only=True)
class FormerFlags:
    """Values of the flags; ``None``: not given."""

    algorithm_provider: str | None
    policy_config_file: Path | None
    policy_configmap: str | None
    policy_configmap_namespace: str
    policy_of_file: bool
    """Whether the policy is that of the file if both are given."""
    hard_pod_affinity_symmetric_weight: int | None
    named: Sequence[str]
    """The flags that are given."""


def former_configuration(
    flags: FormerFlags, read_config_map: Callable[[str, str], ConfigMap | None]
) -> dict[str, Any]:
    """Return the configuration that *flags* mean, as JSON data; each note that matters is logged.

    *read_config_map*: namespace and name → the ConfigMap, ``None`` if there is none. Raises ConfigError,
    InputError.
    """
    migration = _migration(flags, read_config_map)
    for name in flags.named:
        logger.warning("%s: write a configuration with schedframe config migrate, and use --config", name)
    for note in migration.not_kept:
        logger.warning("%s", note)
    weight = flags.hard_pod_affinity_symmetric_weight
    return migration.config if weight is None else _with_weight(migration.config, weight)


def _migration(flags: FormerFlags, read_config_map: Callable[[str, str], ConfigMap | None]) -> Migration:
    file, name = flags.policy_config_file, flags.policy_configmap
    by_file = flags.policy_of_file
    if flags.algorithm_provider is not None and (file is not None or name is not None):
        raise InputError("--algorithm-provider", "a policy is given, too", "leave out one of them")
    if name is not None and not by_file:
        config_map = read_config_map(flags.policy_configmap_namespace, name)
        where = f"{flags.policy_configmap_namespace}/{name}"
        if config_map is None:
            raise InputError("--policy-configmap", f"there is no ConfigMap {where}")
        return migrate({"kind": "ConfigMap", "apiVersion": "v1", "data": dict(config_map.data)})
    if file is not None:
        return migrate(file)
    if by_file:
        raise InputError("--use-legacy-policy-config", "there is no file", "give --policy-config-file")
    chosen = PROVIDERS[0] if flags.algorithm_provider is None else flags.algorithm_provider
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
