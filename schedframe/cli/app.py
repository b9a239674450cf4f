"""The commands and their options; what they do is in the modules beside this one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from .._version import __version__
from ..config.feature_gates import VERSION
from ..simulate.workloads import Workloads
from . import exits
from .bench_app import bench_app
from .extender import extender
from .flags_of_kube_scheduler import in_own_notation, inapplicable_flag, wants_version
from .former_flags import former_flag
from .forms import ExplainForm, Form, render
from .grouped_help import GroupedCommand
from .live import LiveSource, live_source
from .options import with_explain_value
from .run_command import run, snapshot
from .sources import Validate
from .terminal import emit

app = typer.Typer(
    name="schedframe",
    help=f"Schedule pods as kube-scheduler would, without a cluster.\n\n{exits.CODES}",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
config_app = typer.Typer(help="Check and show configurations.", no_args_is_help=True)
app.add_typer(config_app, name="config")
app.add_typer(bench_app, name="bench")

ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="KubeSchedulerConfiguration.")
]
ValidateOption = Annotated[
    Validate,
    typer.Option(
        "--validate",
        help="What to do about manifests that Kubernetes would refuse: unknown fields, keys that are there "
        "twice, values outside an enumeration.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Decides between nodes of equal score.")]
AllowImports = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-import",
        metavar="PREFIX",
        help="Follow import paths of plugins in the configuration into this module or package.",
    ),
]

HowWorkloads = Annotated[
    Workloads,
    typer.Option(
        "--workloads",
        help="Pods of Deployments, Jobs and the like: auto makes those of workloads without pods, "
        "expand also missing ones, ignore none.",
    ),
]


Files = Annotated[
    list[str] | None, typer.Argument(metavar="FILE", help="Manifests, YAML or JSON; a folder; - is stdin.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show faults of plugins with tracebacks on stderr.")
]
ConfigCopy = Annotated[
    Path | None,
    typer.Option("--write-config-to", metavar="FILE", help="Also write the effective configuration there."),
]
ExplainPod = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="[POD]",
        help="Explain node by node, and what would help: one pod, as it was at its turn; without POD all "
        "that stay pending.",
    ),
]
Kubeconfig = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE", help="Read this real cluster too, and change nothing of it. May be repeated."
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Read the real cluster of this context; of --kubeconfig, or where kubectl looks."
    ),
]
Gates = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-gates",
        metavar="NAME=BOOL,…",
        help=f"Feature gates of Kubernetes v{VERSION}. May be repeated.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="With a real cluster: say where the pods would go.")]
HowExplained = Annotated[ExplainForm, typer.Option("--output", "-o", help="How the answer is written.")]
Changes = Annotated[
    int, typer.Option("--changes", metavar="N", min=0, help="Kinds of changes to find that would help.")
]
Nearest = Annotated[int, typer.Option("--nearest", metavar="N", min=0, help="Nearest nodes to report.")]
After = Annotated[
    bool, typer.Option("--after", help="First place the pending pods, and explain the pod after that.")
]


def dispatch(arguments: Sequence[str]) -> int:
    """Run one command line; its exit code."""
    if (refused := former_flag(arguments) or inapplicable_flag(arguments)) is not None:
        sys.stderr.write(f"Error: {refused}\n")
        return exits.BAD_INPUT
    if wants_version(arguments):
        sys.stdout.write(f"schedframe {__version__}\n")
        return exits.SUCCESS
    try:
        app(args=with_explain_value(in_own_notation(arguments)), prog_name="schedframe")
    except SystemExit as end:
        return (
            end.code if isinstance(end.code, int) else exits.SUCCESS if end.code is None else exits.BAD_INPUT
        )
    return exits.SUCCESS


def _check_form(explain: str | None, output: Form) -> None:
    """Raise an error of usage for an output that has no place for an explanation."""
    if explain is not None and output is Form.BINDINGS:
        raise typer.BadParameter("--explain has no place among bindings; use -o table, wide, json or yaml")


def _for_dry_run(live: LiveSource | None, dry_run: bool) -> LiveSource | None:
    """Return *live*; an error of usage if it is not said that nothing is to be bound there."""
    if live is not None and not dry_run:
        raise typer.BadParameter(
            "schedule changes nothing of a real cluster; say that this is meant by --dry-run"
        )
    return live


def _named(files: list[str] | None, live: LiveSource | None) -> list[str]:
    """Return *files*; an error of usage if there are none, and no real cluster either."""
    if not files and live is None:
        raise typer.BadParameter("name at least one file with manifests, or - for standard input")
    return files or []


def _version(asked: bool) -> None:
    if asked:
        emit(f"schedframe {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Options before the command."""


@app.command(epilog=exits.CODES, short_help="Place the pending pods of manifests.")
def schedule(
    files: Files = None,
    config: ConfigFile = None,
    allow_import: AllowImports = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="How the answer is written.")] = Form.TABLE,
    explain: ExplainPod = None,
    seed: Seed = 0,
    write_config_to: ConfigCopy = None,
    validate: ValidateOption = Validate.STRICT,
    verbose: Verbose = False,
    workloads: HowWorkloads = Workloads.AUTO,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    dry_run: DryRun = False,
    feature_gates: Gates = None,
) -> None:
    """Place every pending pod of the manifests, and say where each went or why it did not.

    With --kubeconfig or --context and --dry-run the nodes and other pods are those of a real cluster.
    """
    with exits.reporting():
        from .commands import ScheduleRequest, run_schedule

        live = _for_dry_run(live_source(kubeconfig, context), dry_run)
        _check_form(explain, output)
        request = ScheduleRequest(
            _named(files, live),
            config,
            allow_import or [],
            explain,
            seed,
            write_config_to,
            verbose,
            workloads,
            validate,
            live,
            feature_gates or [],
        )
        outcome = run_schedule(request)
        text = render(outcome, output)
        if text:
            emit(text)
        if outcome.pending:
            raise typer.Exit(exits.SOME_PENDING)


@app.command(epilog=exits.CODES, short_help="Why a pod is pending, and what would help.")
def explain(
    pod: Annotated[str, typer.Argument(metavar="POD", help="The pod: name or namespace/name.")],
    files: Files = None,
    config: ConfigFile = None,
    allow_import: AllowImports = None,
    output: HowExplained = ExplainForm.TEXT,
    changes: Changes = 5,
    nearest: Nearest = 5,
    after: After = False,
    seed: Seed = 0,
    validate: ValidateOption = Validate.STRICT,
    verbose: Verbose = False,
    workloads: HowWorkloads = Workloads.AUTO,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    feature_gates: Gates = None,
) -> None:
    """Why a pod stays pending, and the smallest change that would help; or why it has the node it has.

    The cluster is that of the manifests, or a real one with --kubeconfig or --context; with --after, other
    pending pods are placed first, as schedule does.
    """
    with exits.reporting():
        from .explain import ExplainRequest, form, has_node, run_explain

        live = live_source(kubeconfig, context)
        request = ExplainRequest(
            pod,
            _named(files, live),
            config,
            allow_import or [],
            changes,
            nearest,
            verbose,
            workloads,
            validate,
            after,
            seed,
            live,
            feature_gates or [],
        )
        explanation = run_explain(request)
        emit(form(explanation, output))
        if not has_node(explanation):
            raise typer.Exit(exits.SOME_PENDING)


app.command(cls=GroupedCommand, epilog=exits.CODES, short_help="Schedule the pods of a real cluster.")(run)
app.command(epilog=exits.OTHER_CODES, short_help="Write what scheduling reads of a real cluster.")(snapshot)
app.command(epilog=exits.OTHER_CODES, short_help="Serve plugins as an extender.")(extender)


@app.command(epilog=exits.OTHER_CODES, short_help="Print the rights that a scheduler needs in a cluster.")
def rbac(
    config: ConfigFile = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Of service account and roles.")
    ] = "python-scheduler",
    namespace: Annotated[str, typer.Option(metavar="NAME", help="Of the service account.")] = "kube-system",
    allow_import: AllowImports = None,
    feature_gates: Gates = None,
) -> None:
    """Print a service account with the rights that the plugins of a configuration need, and no more."""
    with exits.reporting():
        from .rbac import manifests

        sys.stdout.write(manifests(config, name, namespace, allow_import or [], feature_gates or []))


@app.command(epilog=exits.OTHER_CODES, short_help="List the plugins that are installed or known.")
def plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """List plugins: from where, at which extension points, and which are only known by name."""
    with exits.reporting():
        from .plugins import plugin_rows, plugins_json, plugins_table

        rows = plugin_rows()
        emit(plugins_json(rows) if as_json else plugins_table(rows))


@app.command(epilog=exits.OTHER_CODES, short_help="Write a package with a plugin to begin with.")
def new_plugin(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as rack-rank.")],
    directory: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the folder of the package is made.")
    ] = Path(),
) -> None:
    """Write a package with a plugin to begin with: both forms, arguments, entry point, tests."""
    with exits.reporting():
        from .new_plugin import create_package, next_steps

        emit(next_steps(create_package(name, directory)))


@config_app.command(epilog=exits.OTHER_CODES, short_help="Check a configuration.")
def check(file: Annotated[Path, typer.Argument(metavar="FILE", help="KubeSchedulerConfiguration.")]) -> None:
    """Say whether a scheduler can be made from a configuration; every error with its line and field."""
    with exits.reporting():
        from .commands import check_config

        emit(check_config(file))


@config_app.command(epilog=exits.OTHER_CODES, short_help="Print the effective configuration.")
def show(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="KubeSchedulerConfiguration; the default without.")
    ] = None,
) -> None:
    """Print the effective configuration: everything defaulted, as YAML."""
    with exits.reporting():
        from .commands import effective_config

        sys.stdout.write(effective_config(file))


@config_app.command(epilog=exits.OTHER_CODES, short_help="Turn an older configuration into one of v1.")
def migrate(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="Policy, ConfigMap with one, or older KubeSchedulerConfiguration; - is stdin.",
        ),
    ] = None,
    algorithm_provider: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="In place of FILE: DefaultProvider or ClusterAutoscalerProvider."),
    ] = None,
) -> None:
    """Print the configuration of today as YAML, with a comment on every choice and on what is not kept."""
    with exits.reporting():
        from .migrate import migrated_config

        sys.stdout.write(migrated_config(file, algorithm_provider))
