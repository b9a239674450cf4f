"""Options of kube-scheduler up to v1.22 that ``schedframe run`` takes.

:mod:`plugins_builtin.legacy.run_flags` has the configuration that they mean.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ..._base.value import record
from .flag_values import boolean

if TYPE_CHECKING:
    from plugins_builtin.legacy.run_flags import FormerFlags

FORMER: Final = "Options that became configuration"
"""Heading of these options in the help."""


@record(frozen=True, kw_only=True)
class FormerOptions:
    """Options in place of a configuration; typer reads their types and help from here."""

    algorithm_provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="DefaultProvider or ClusterAutoscalerProvider.", rich_help_panel=FORMER
        ),
    ] = None
    policy_config_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A policy.", rich_help_panel=FORMER)
    ] = None
    policy_configmap: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="ConfigMap with a policy as policy.cfg.", rich_help_panel=FORMER),
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
            help="hardPodAffinityWeight of InterPodAffinity.",
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

    def flags(self) -> FormerFlags:
        """Return the values; :class:`InputError` for those that are wrong."""
        from plugins_builtin.legacy.run_flags import FormerFlags

        return FormerFlags(
            algorithm_provider=self.algorithm_provider,
            policy_config_file=self.policy_config_file,
            policy_configmap=self.policy_configmap,
            policy_configmap_namespace=self.policy_configmap_namespace,
            policy_of_file=boolean("--use-legacy-policy-config", self.use_legacy_policy_config),
            hard_pod_affinity_symmetric_weight=self.hard_pod_affinity_symmetric_weight,
            named=self.named,
        )
