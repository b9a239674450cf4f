"""The commands and their options; what they do is in the modules beside this one."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from .._version import __version__
from .._visible import visible
from . import exits
from .bench_app import bench_app
from .extender import extender
from .flags_of_kube_scheduler import in_own_notation, inapplicable_flag, wants_version
from .forms import render
from .grouped_help import GroupedCommand
from .offline_options import AllowImports, ConfigFile, ExplainOptions, Gates, ScheduleOptions
from .option_class import takes
from .options import with_explain_value
from .run_command import run, snapshot
from .terminal import complain, emit, emit_document, plain_warnings

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


def dispatch(arguments: Sequence[str]) -> int:
    """Run one command line; its exit code."""
    if (refused := inapplicable_flag(arguments)) is not None:
        complain(f"Error: {refused}")
        return exits.BAD_INPUT
    if wants_version(arguments):
        print(f"schedframe {__version__}", flush=True)
        return exits.SUCCESS
    try:
        with plain_warnings():
            code = app(
                args=with_explain_value(in_own_notation(arguments)),
                prog_name="schedframe",
                standalone_mode=False,
            )
    except _UsageError as error:
        complain(*_usage_lines(error, arguments))
        return exits.BAD_INPUT
    except SystemExit as end:
        code = end.code if isinstance(end.code, int | None) else exits.BAD_INPUT
    return exits.SUCCESS if code is None else int(code)


_UsageError: Final[type[Any]] = next(
    cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException"
)
"""The base of typer's errors, which comes with typer or from click, by the version of typer."""


def _usage_lines(error: Any, arguments: Sequence[str]) -> list[str]:
    """Return what typer would write, or what became of a former flag. Line breaks are visible."""
    from plugins_builtin.legacy.flags import former_flag

    if (refused := former_flag(arguments)) is not None:
        return [f"Error: {refused}"]
    stream, message = io.StringIO(), error.format_message()
    error.show(stream)
    return stream.getvalue().rstrip("\n").replace(message, visible(message)).split("\n")


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
@takes(ScheduleOptions)
def schedule(options: ScheduleOptions) -> None:
    """Place every pending pod of the manifests, and say where each went or why it did not.

    With --kubeconfig or --context and --dry-run the nodes and other pods are those of a real cluster.
    """
    with exits.reporting():
        from .commands import run_schedule

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


@app.command(epilog=exits.CODES, short_help="Why a pod is pending, and what would help.")
@takes(ExplainOptions)
def explain(options: ExplainOptions) -> None:
    """Why a pod stays pending, and the smallest change that would help; or why it has the node it has.

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

        emit_document(manifests(config, name, namespace, allow_import or [], feature_gates or []))


@app.command(epilog=exits.OTHER_CODES, short_help="List the plugins that are installed or known.")
def plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """List plugins: from where, at which extension points, and which are only known by name."""
    with exits.reporting():
        from .plugins import plugin_rows, plugins_json, plugins_table

        rows = plugin_rows()
        emit(*(plugins_json(rows).split("\n") if as_json else plugins_table(rows)))


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

        emit(*next_steps(create_package(name, directory)))


@config_app.command(epilog=exits.OTHER_CODES, short_help="Check a configuration.")
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="KubeSchedulerConfiguration.")],
    files: Annotated[
        bool, typer.Option("--files", help="Also read the certificates that extenders name.")
    ] = False,
) -> None:
    """Say whether a scheduler can be made from a configuration; every error with its line and field."""
    with exits.reporting():
        from .config_check import check_config

        emit(check_config(file, read_files=files))


@config_app.command(epilog=exits.OTHER_CODES, short_help="Print the effective configuration.")
def show(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="KubeSchedulerConfiguration; the default without.")
    ] = None,
) -> None:
    """Print the effective configuration: everything defaulted, as YAML."""
    with exits.reporting():
        from .commands import effective_config

        emit_document(effective_config(file))


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

        emit_document(migrated_config(file, algorithm_provider))
