"""The commands of ``schedframe config``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import exits
from .output.terminal import emit, emit_document

app = typer.Typer(
    name="config",
    help="Check and show configurations.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


@app.command(epilog=exits.OTHER_CODES, short_help="Check a configuration.")
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


@app.command(epilog=exits.OTHER_CODES, short_help="Print the effective configuration.")
def show(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="KubeSchedulerConfiguration; the default without.")
    ] = None,
) -> None:
    """Print the effective configuration: everything defaulted, as YAML."""
    with exits.reporting():
        from .configurations import effective_config

        emit_document(effective_config(file))


@app.command(epilog=exits.OTHER_CODES, short_help="Turn an older configuration into one of v1.")
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
