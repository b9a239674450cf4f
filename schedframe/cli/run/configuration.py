"""The configuration of ``schedframe run`` from its options, and the connection that it describes."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve

from ...api import NamespacedObject
from ...cluster.kubernetes import KubernetesCluster
from ...cluster.kubernetes.fence import Fence
from ...config import EffectiveConfig, KubeSchedulerConfiguration, load_config
from ...errors import InputError
from ...framework import Registry
from ..exits import reading
from .field_flags import feature_gates, with_flags
from .options import RunOptions

logger = logging.getLogger("schedframe.run")

C = TypeVar("C", bound=NamespacedObject)


def configured(options: RunOptions, registry: Registry) -> EffectiveConfig:
    """Return the configuration, with single fields replaced by options. Raises ConfigError, InputError."""
    catalogue, gates = registry.full_catalogue(), feature_gates(options)
    config = load_config(_source(options), catalogue=catalogue, feature_gates=gates)
    changed = with_flags(config.config, options)
    if options.scheduler_name is not None:
        changed = _renamed(changed, options.scheduler_name)
    if changed == config.config:
        return config
    return load_config(changed, catalogue=catalogue, feature_gates=gates)


def _source(options: RunOptions) -> Path | dict[str, Any] | None:
    if options.named and options.config is not None:
        raise InputError(options.named[0], "--config is given, too", "leave out one of them")
    if options.named:
        from plugins_builtin.legacy.run_flags import ConfigMap, former_configuration

        return former_configuration(options.flags(), partial(_config_map, options, ConfigMap))
    if options.config is not None:
        with reading(str(options.config)), options.config.open(encoding="utf-8") as stream:
            stream.read()
    return options.config


def _renamed(config: KubeSchedulerConfiguration, name: str) -> KubeSchedulerConfiguration:
    profiles = config.profiles
    if len(profiles) != 1:
        raise InputError(
            "--scheduler-name", f"the configuration has {len(profiles)} profiles", "name them in it"
        )
    return evolve(config, profiles=(evolve(profiles[0], scheduler_name=name),))


def _config_map(options: RunOptions, kind: type[C], namespace: str, name: str) -> C | None:
    """Return a ConfigMap of the cluster, of the class *kind*, before there is a configuration."""
    with KubernetesCluster.from_kubeconfig(
        options.kubeconfig, context=options.context, server=options.master, kinds=(kind,)
    ) as cluster:
        found: C | None = cluster.get_latest(kind.KIND, f"{namespace}/{name}")
        return found


def connected(options: RunOptions, config: EffectiveConfig, fence: Fence | None) -> KubernetesCluster:
    """Return the cluster that options, else the configuration, else kubectl's files name."""
    connection = config.config.client_connection
    files = options.kubeconfig or ([connection.kubeconfig] if connection.kubeconfig else None)
    if connection.content_type not in ("", "application/json", "application/vnd.kubernetes.protobuf"):
        logger.info("clientConnection.contentType is ignored: requests are JSON")
    return KubernetesCluster.from_kubeconfig(
        files,
        context=options.context,
        server=options.master,
        qps=connection.qps,
        burst=connection.burst,
        sync_timeout=options.sync_timeout,
        stale_view_seconds=options.stale_view_seconds,
        fence=fence,
    )
