"""The commands about manifests: ``schedule`` and ``explain``."""

from __future__ import annotations

import typer

from .. import exits
from ..option_class import takes
from ..output.forms import render
from ..output.terminal import emit, emit_document
from .options import ExplainOptions, ScheduleOptions

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=exits.CODES)
@takes(ScheduleOptions)
def schedule(options: ScheduleOptions) -> None:
    """Place every pending pod of the manifests, and say where each went or why it did not.

    With --kubeconfig or --context and --dry-run the nodes and other pods are those of a real cluster.
    """
    with exits.reporting():
        from .schedule import run_schedule

        options.check()
        outcome = run_schedule(options)
        if lines := render(outcome, options.output):
            emit(*lines)
        raise typer.Exit(
            exits.code_of(
                is_pending=bool(outcome.pending),
                is_refused=bool(outcome.refused),
                has_faults=bool(outcome.faults),
            )
        )


@app.command(epilog=exits.CODES)
@takes(ExplainOptions)
def explain(options: ExplainOptions) -> None:
    """Say why a pod stays pending, and the smallest change that would help; or why it has the node it has.

    The cluster is that of the manifests, or a real one with --kubeconfig or --context; with --after, other
    pending pods are placed first, as schedule does.
    """
    with exits.reporting():
        from .explain import form, has_node, is_faulty, run_explain

        options.check()
        explanation = run_explain(options)
        emit_document(form(explanation, options.output))
        raise typer.Exit(
            exits.code_of(is_pending=not has_node(explanation), has_faults=is_faulty(explanation))
        )
