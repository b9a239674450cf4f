"""The commands about a real cluster: ``run`` and ``snapshot``."""

from __future__ import annotations

from typing import Annotated

import typer

from . import exits
from .garbage import collection_postponed
from .live import LiveSource, check_extra
from .option_class import takes
from .run_options import RunOptions


@takes(RunOptions)
def run(options: RunOptions) -> None:
    """Schedule the pods of a real cluster, until SIGTERM or SIGINT. Exit code 0 then.

    A second signal ends the process at once.
    """
    with exits.reporting(), collection_postponed():
        check_extra("run")
        from .run import run as run_scheduler

        run_scheduler(options)


def snapshot(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="- is stdout.")] = "-",
    kubeconfig: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="May be repeated. Default: $KUBECONFIG, ~/.kube/config."),
    ] = None,
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the kubeconfig, in place of the current one.")
    ] = None,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Hash names and labels, equal ones to equal hashes.")
    ] = False,
) -> None:
    """Write what scheduling reads of a real cluster as manifests, which every other command accepts.

    Secrets, environment variables and the like are never in it.
    """
    with exits.reporting():
        check_extra("snapshot")
        from .snapshot import take_snapshot

        take_snapshot(LiveSource(kubeconfig or [], context), output, anonymize=anonymize)
