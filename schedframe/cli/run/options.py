"""All options of ``schedframe run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..._base.value import record
from ...config.feature_gates import VERSION
from .flag_values import finite
from .former_options import FormerOptions
from .logs import LogFormat
from .option_groups import ClientOptions, ElectionOptions, ServingOptions, TracingOptions


@record(frozen=True, kw_only=True)
class RunOptions(FormerOptions, ClientOptions, TracingOptions, ServingOptions, ElectionOptions):
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
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Decides between nodes of equal score. Default: random.")
    ] = None
    sync_timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, callback=finite, help="To read the cluster at the beginning."),
    ] = 120.0
    stale_view_seconds: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            callback=finite,
            help="For which decisions wait for objects that cannot be read, once the server answers again.",
        ),
    ] = 30.0
    grace: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, callback=finite, help="To finish binds after SIGTERM or SIGINT."
        ),
    ] = 10.0
    write_config_to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the configuration with flags and defaults, and end."),
    ] = None
    feature_gates: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=BOOL,…", help=f"Feature gates of Kubernetes v{VERSION}. May be repeated."),
    ] = None
    log_format: Annotated[
        LogFormat, typer.Option("--log-format", "--logging-format", help="Form of the lines on stderr.")
    ] = LogFormat.TEXT
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="One line a decision; -vv: requests too.")
    ] = 0
