"""Options of ``schedframe run`` that replace single fields of the configuration."""

from __future__ import annotations

import logging
from typing import Any, Final

from attrs import evolve

from ...config import (
    ClientConnectionConfiguration,
    FeatureGates,
    KubeSchedulerConfiguration,
    LeaderElectionConfiguration,
)
from ..gates import parsed_gates
from .flag_values import boolean, duration
from .options import RunOptions

logger = logging.getLogger("schedframe.run")

_TEXTS: Final = ("resource_lock", "resource_name", "resource_namespace")
_DURATIONS: Final = ("lease_duration", "renew_deadline", "retry_period")
_DEPRECATED: Final = {
    "kube_api_qps": "set clientConnection.qps in the configuration",
    "kube_api_burst": "set clientConnection.burst in the configuration",
    "kube_api_content_type": "it has no effect: requests are JSON",
    "contention_profiling": "it has no effect: there is no lock to profile",
}


def with_flags(config: KubeSchedulerConfiguration, options: RunOptions) -> KubeSchedulerConfiguration:
    """Return *config* with the fields that options name. Raises :class:`InputError`."""
    for name, advice in _DEPRECATED.items():
        if getattr(options, name) is not None:
            logger.warning("--%s is deprecated: %s", name.replace("_", "-"), advice)
    return evolve(
        config,
        leader_election=_election(config.leader_election, options),
        client_connection=_connection(config.client_connection, options),
    )


def _election(election: LeaderElectionConfiguration, options: RunOptions) -> LeaderElectionConfiguration:
    changes: dict[str, Any] = {}
    if options.leader_elect is not None:
        changes["leader_elect"] = boolean("--leader-elect", options.leader_elect)
    for name in _TEXTS:
        text = getattr(options, f"leader_elect_{name}")
        if text is not None:
            changes[name] = text
    for name in _DURATIONS:
        text = getattr(options, f"leader_elect_{name}")
        if text is not None:
            changes[name] = duration(f"--leader-elect-{name.replace('_', '-')}", text)
    return evolve(election, **changes)


def _connection(
    connection: ClientConnectionConfiguration, options: RunOptions
) -> ClientConnectionConfiguration:
    if options.config is not None:
        return connection
    qps, burst = options.kube_api_qps, options.kube_api_burst
    return evolve(
        connection,
        qps=connection.qps if qps is None else qps,
        burst=connection.burst if burst is None else burst,
    )


def feature_gates(options: RunOptions) -> FeatureGates:
    """Return the feature gates, and log those without effect. Raises :class:`InputError`."""
    gates = parsed_gates(options.feature_gates or ())
    if ignored := gates.without_effect():
        logger.info("feature gates without effect on scheduling: %s", ", ".join(ignored))
    return gates
