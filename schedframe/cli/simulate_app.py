"""The command ``simulate``: run a trace in its own time."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .._base.value import record
from ..api import ClusterObject
from ..framework import Registry
from ..runs import Run
from ..simulate import Simulation
from ..traces import Trace, open_trace
from . import exits
from .configurations import configuration
from .offline.options import AllowImports, ConfigFile, Gates, Seed
from .offline.sources import read_manifests
from .option_class import takes
from .output.terminal import columns, emit, emit_document, note

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class OnReject(StrEnum):
    """Values of ``--on-reject``."""

    WAIT = "wait"
    DROP = "drop"


class OnFault(StrEnum):
    """Values of ``--on-fault``."""

    ERROR = "error"
    SKIP = "skip"


class TableFormat(StrEnum):
    """Values of ``--format``."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


@record(frozen=True, kw_only=True)
class SimulateOptions:
    """Options of ``schedframe simulate``."""

    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="Openb, SWF, Alibaba, Azure, manifests, a mapping.")
    ]
    nodes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="List of nodes of the trace, or manifests: nodes, daemon sets, …"),
    ] = None
    config: ConfigFile = None
    allow_import: AllowImports = None
    feature_gates: Gates = None
    seed: Seed = 0
    until: Annotated[str | None, typer.Option(metavar="SPAN", help="End there, such as 7d.")] = None
    warm: Annotated[str | None, typer.Option(metavar="SPAN", help="Measure from there on, such as 12h.")] = (
        None
    )
    on_reject: Annotated[OnReject, typer.Option(help="What pods do that fit nowhere.")] = OnReject.WAIT
    on_fault: Annotated[OnFault, typer.Option(help="What becomes of rows with a fault.")] = OnFault.ERROR
    cores_per_node: Annotated[int | None, typer.Option(metavar="N", min=1, help="For SWF.")] = None
    machines: Annotated[int, typer.Option(metavar="N", min=0, help="Number of nodes, for Azure.")] = 0
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write tables and summary.json there."),
    ] = None
    format: Annotated[TableFormat, typer.Option(help="Of the tables.")] = TableFormat.CSV
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the run: a PNG, SVG or PDF.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Write the measures as JSON.")] = False


@app.command(epilog=exits.OTHER_CODES)
@takes(SimulateOptions)
def simulate(options: SimulateOptions) -> None:
    """Run a trace in its own time: waiting times, utilisation, fragmentation, cost, fairness."""
    with exits.reporting():
        trace, objects = _read(options)
        for treatment, count in trace.treated.items():
            note(f"{count:,} row{'s' if count > 1 else ''} {treatment}")
        registry = Registry.installed(options.allow_import or ())
        config = configuration(options.config, registry, options.feature_gates or ())
        with Simulation(objects, config, seed=options.seed, registry=registry) as simulation:
            run = simulation.run(trace, until=options.until, on_reject=options.on_reject.value)
        if options.warm is not None:
            run = run.between(options.warm)
        _write(run, options)
        _show(run, options.as_json)


def _read(options: SimulateOptions) -> tuple[Trace, list[ClusterObject]]:
    """Return the trace, and the objects of manifests that are there from the beginning."""
    nodes, objects = options.nodes, list[ClusterObject]()
    if nodes is not None and (nodes.is_dir() or nodes.suffix in (".yaml", ".yml", ".json")):
        objects = read_manifests([str(nodes)], lambda *_: None).objects
        nodes = None
    trace = open_trace(
        options.trace,
        nodes,
        cores_per_node=options.cores_per_node,
        machines=options.machines,
        on_fault=options.on_fault.value,
    )
    return trace, objects


def _write(run: Run, options: SimulateOptions) -> None:
    if options.output is not None:
        with exits.writing(str(options.output)):
            run.write(options.output, options.format.value)
    if options.plot is not None:
        with exits.writing(str(options.plot)):
            run.plot().savefig(options.plot)
        note(f"drawn: {options.plot}")


def _show(run: Run, as_json: bool) -> None:
    if as_json:
        emit_document(json.dumps({"digest": run.digest(), "measures": dict(run.summary.values)}, indent=1))
        return
    head, rows, _ = run.summary._shown()
    emit(*columns(rows, [each.upper() for each in head], right=(1,)))
