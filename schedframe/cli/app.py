"""The command line: the list of commands, each of which is imported when it is carried out."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from .._base.visible import visible
from .._version import __version__
from . import exits
from .later import LaterCommand
from .options import with_explain_value
from .output.terminal import complain, emit, plain_warnings
from .run.flags_of_kube_scheduler import in_own_notation, inapplicable_flag, wants_version

_COMMANDS: Final = (
    LaterCommand("schedule", "offline.commands", "Place the pending pods of manifests."),
    LaterCommand("explain", "offline.commands", "Why a pod is pending, and what would help."),
    LaterCommand("capacity", "offline.capacity_app", "How many more fit, what a loss costs, how to drain."),
    LaterCommand("run", "run.command", "Schedule the pods of a real cluster."),
    LaterCommand("snapshot", "run.command", "Write what scheduling reads of a real cluster."),
    LaterCommand("extender", "extender", "Serve plugins as an extender."),
    LaterCommand("rbac", "other_commands", "Print the rights that a scheduler needs in a cluster."),
    LaterCommand("plugins", "other_commands", "List the plugins that are installed or known."),
    LaterCommand("new-plugin", "other_commands", "Write a package with a plugin to begin with."),
    LaterCommand("config", "config_app", "Check and show configurations."),
    LaterCommand("simulate", "simulate_app", "Run a trace in its own time."),
    LaterCommand("compare", "compare_app", "Compare two runs of a trace, or two configurations."),
    LaterCommand("bench", "bench_app", "Measure the speed of the scheduler."),
)


class _Commands(TyperGroup):
    """The commands of ``schedframe``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _COMMANDS})


app = typer.Typer(
    cls=_Commands,
    name="schedframe",
    help=f"Schedule pods as kube-scheduler would, without a cluster.\n\n{exits.CODES}",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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
