"""The commands of ``schedframe bench`` and their options.

Without a sub-command ``schedframe bench`` is ``schedframe bench run``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from . import exits
from .output.terminal import emit, emit_document

DEFAULT_COMMAND: Final = "run"
HELP: Final = "--help"


def with_command(arguments: Sequence[str]) -> list[str]:
    """Return *arguments* beginning with a sub-command."""
    if arguments and (arguments[0] == HELP or not arguments[0].startswith("-")):
        return list(arguments)
    return [DEFAULT_COMMAND, *arguments]


class BenchGroup(TyperGroup):
    """Runs a template if the command line names no sub-command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse *args* with the sub-command that they mean."""
        return super().parse_args(ctx, with_command(args))


app = typer.Typer(
    name="bench",
    cls=BenchGroup,
    help="Measure the speed of the scheduler. Without a command a template is run.",
    rich_markup_mode=None,
    add_completion=False,
)

Seed = Annotated[int, typer.Option(metavar="S", help="Seed of the choice between nodes of equal score.")]
Percentage = Annotated[
    int | None,
    typer.Option(metavar="P", help="percentageOfNodesToScore; 0 is adaptive. Default: all nodes are scored."),
]
Metrics = Annotated[bool, typer.Option("--metrics", help="Count for metrics, as schedframe run does.")]
OnlyJson = Annotated[bool, typer.Option("--json", help="Print only JSON lines.")]
WorkloadName = Annotated[
    str | None, typer.Option(metavar="TEST[/WORKLOAD]", help="Only these workloads of the file.")
]
WorkloadLabel = Annotated[
    str | None, typer.Option(metavar="LABEL", help="Only workloads of the file with this label.")
]


@app.command(DEFAULT_COMMAND, epilog=exits.OTHER_CODES, short_help="Run a template.")
def run(
    *,
    template: Annotated[str, typer.Option(help="What to measure; see: schedframe bench list.")] = "basic",
    nodes: Annotated[int | None, typer.Option(metavar="N", help="Nodes.")] = None,
    init: Annotated[int | None, typer.Option(metavar="I", help="Pods that run before.")] = None,
    pods: Annotated[int | None, typer.Option(metavar="P", help="Pods that are measured.")] = None,
    seed: Seed = 0,
    percentage: Percentage = None,
    metrics: Metrics = False,
    only_json: OnlyJson = False,
) -> None:
    """Run a template; one line of JSON on stdout, the same figures for people on stderr."""
    with exits.reporting():
        from ..bench import Options
        from .benchmarks import run_template

        run_template(template, Options(nodes, init, pods, seed, percentage, metrics), only_json)


@app.command("list", epilog=exits.OTHER_CODES, short_help="List templates, or workloads of a file.")
def list_(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A file of scheduler_perf.")] = None,
    name: WorkloadName = None,
    label: WorkloadLabel = None,
) -> None:
    """List the templates, or the workloads of a scheduler_perf file."""
    with exits.reporting():
        from .benchmarks import list_of_templates, list_of_workloads

        emit(*(list_of_templates() if file is None else list_of_workloads(file, name, label)))


@app.command("scheduler-perf", epilog=exits.OTHER_CODES, short_help="Run workloads of a scheduler_perf file.")
def scheduler_perf(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A performance-config.yaml.")],
    name: WorkloadName = None,
    label: WorkloadLabel = None,
    seed: Seed = 0,
    percentage: Percentage = None,
    metrics: Metrics = False,
    only_json: OnlyJson = False,
) -> None:
    """Run workloads of a file of scheduler_perf, Kubernetes' benchmark of its scheduler."""
    with exits.reporting():
        from ..bench import Options
        from .benchmarks import run_workloads

        run_workloads(
            file, name, label, Options(seed=seed, percentage=percentage, metrics=metrics), only_json
        )


@app.command(epilog=exits.OTHER_CODES)
def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="JSON lines of bench.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="JSON lines of bench.")],
    only_json: OnlyJson = False,
) -> None:
    """Compare the figures of two files of runs."""
    with exits.reporting():
        from .benchmarks import compare_runs

        emit_document(compare_runs(before, after, as_json=only_json))
