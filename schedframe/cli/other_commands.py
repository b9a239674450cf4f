"""The commands ``rbac``, ``plugins`` and ``new-plugin``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import exits
from .offline.options import AllowImports, ConfigFile, Gates
from .output.terminal import emit, emit_document

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=exits.OTHER_CODES)
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


@app.command(epilog=exits.OTHER_CODES)
def plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """List plugins: from where, at which extension points, and which are only known by name."""
    with exits.reporting():
        from .plugins import plugin_rows, plugins_json, plugins_table

        rows = plugin_rows()
        emit(*(plugins_json(rows).split("\n") if as_json else plugins_table(rows)))


@app.command(epilog=exits.OTHER_CODES)
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
