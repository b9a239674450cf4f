"""The options of ``schedframe run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from attrs import frozen

from .former_options import FormerOptions
from .logs import LogFormat

ELECTION: Final = "Leader election"
"""Heading of the options about the lease in the help."""


@frozen(kw_only=True)
class RunOptions(FormerOptions):
    """The options of ``schedframe run``; typer reads their types and help from here."""

    kubeconfig: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="May be repeated. Default: that of the configuration, $KUBECONFIG, ~/.kube/config, the "
            "service account of the pod.",
        ),
    ] = None
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the kubeconfig, in place of the current one.")
    ] = None
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="KubeSchedulerConfiguration.")] = None
    allow_import: Annotated[
        list[str] | None,
        typer.Option(metavar="PREFIX", help="Follow import paths of plugins into this module or package."),
    ] = None
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="API server in place of the kubeconfig's.")
    ] = None
    scheduler_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the only profile, as in spec.schedulerName.")
    ] = None
    leader_elect: Annotated[
        str | None,
        typer.Option(
            metavar="true|false",
            help="Schedule only while this replica has the lease. Default: as configured, else true.",
            rich_help_panel=ELECTION,
        ),
    ] = None
    leader_elect_lease_duration: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="How long others wait after the last renewal. Default: 15s.",
            rich_help_panel=ELECTION,
        ),
    ] = None
    leader_elect_renew_deadline: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="How long the leader goes on after its last renewal. Default: 10s.",
            rich_help_panel=ELECTION,
        ),
    ] = None
    leader_elect_retry_period: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Between two renewals. Default: 2s.", rich_help_panel=ELECTION),
    ] = None
    leader_elect_resource_lock: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Only leases are left.", rich_help_panel=ELECTION),
    ] = None
    leader_elect_resource_name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of the lease. Default: kube-scheduler.", rich_help_panel=ELECTION),
    ] = None
    leader_elect_resource_namespace: Annotated[
        str | None,
        typer.Option(
            metavar="NAMESPACE", help="Of the lease. Default: kube-system.", rich_help_panel=ELECTION
        ),
    ] = None
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Decides between nodes of equal score. Default: random.")
    ] = None
    sync_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="To read the cluster at the beginning.")
    ] = 120.0
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="To finish binds after SIGTERM or SIGINT.")
    ] = 10.0
    secure_port: Annotated[
        int,
        typer.Option(
            metavar="PORT", min=0, help="Serve /healthz, /livez and /readyz on 127.0.0.1 by HTTP. 0: none."
        ),
    ] = 0
    log_format: Annotated[LogFormat, typer.Option(help="Form of the lines on stderr.")] = LogFormat.TEXT
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="One line a decision; -vv: requests too.")
    ] = 0
