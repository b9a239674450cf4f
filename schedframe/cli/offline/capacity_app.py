"""The commands ``schedframe capacity``: fit, loss, drain."""

from __future__ import annotations

import typer

from .. import exits
from ..option_class import takes
from ..output.terminal import emit
from .capacity_options import DrainOptions, FitOptions, LossOptions

app = typer.Typer(
    help="Questions about the room in a cluster, each answered by the scheduler itself.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
)


@app.callback()
def capacity() -> None:
    """Questions about the room in a cluster, each answered by the scheduler itself."""


@app.command(epilog=exits.CAPACITY_CODES)
@takes(FitOptions)
def fit(options: FitOptions) -> None:
    """Count how many more of some pods fit, by node; say what stops the next one, and the smallest change.

    NAME is a pod, or a workload such as deployment/web. Several are placed in rounds, one of each in the
    order given, or as --mix says. They do not make room for themselves, unless --preempt says so.
    """
    with exits.reporting():
        from .capacity import run_fit

        options.check()
        answer, lines = run_fit(options)
        emit(*lines)
        is_short = options.require is not None and answer.rounds < options.require
        raise typer.Exit(exits.TOO_LITTLE_ROOM if is_short else exits.SUCCESS)


@app.command(epilog=exits.CAPACITY_CODES)
@takes(LossOptions)
def loss(options: LossOptions) -> None:
    """For each node, or each value of a label: which pods find no place when it goes; the worst first.

    Pods with a controller are made again and scheduled on the nodes that are left.
    """
    with exits.reporting():
        from .capacity import run_loss

        options.check()
        answer, lines = run_loss(options)
        emit(*lines)
        raise typer.Exit(exits.SUCCESS if answer.is_survived else exits.TOO_LITTLE_ROOM)


@app.command(epilog=exits.CAPACITY_CODES)
@takes(DrainOptions)
def drain(options: DrainOptions) -> None:
    """In which order the pods of some nodes move, where each one goes, and what blocks.

    NAME is a node. All named nodes are cordoned first; no pod makes room for itself.
    """
    with exits.reporting():
        from .capacity import run_drain

        options.check("a node")
        answer, lines = run_drain(options)
        emit(*lines)
        raise typer.Exit(exits.SUCCESS if answer.is_complete else exits.TOO_LITTLE_ROOM)
