"""Options of ``schedframe snapshot``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..._base.value import record
from ...errors import InputError


@record(frozen=True, kw_only=True)
class SnapshotOptions:
    """Options of ``schedframe snapshot``."""

    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="- is stdout.")] = "-"
    kubeconfig: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="May be repeated. Default: $KUBECONFIG, ~/.kube/config."),
    ] = None
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the kubeconfig, in place of the current one.")
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="Whose plugins read the snapshot; the default one without."
        ),
    ] = None
    allow_import: Annotated[
        list[str] | None,
        typer.Option(metavar="PREFIX", help="Follow import paths of plugins into this module or package."),
    ] = None
    keep_annotation: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Keep this annotation, too. May be repeated."),
    ] = None
    anonymize: Annotated[
        bool,
        typer.Option("--anonymize", help="Replace names, labels and other texts; decisions stay the same."),
    ] = False
    write_config_to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --anonymize: the configuration, replaced alike. Default: OUTPUT.config.yaml.",
        ),
    ] = None

    @property
    def config_output(self) -> Path | None:
        """The file for the configuration with hidden names; ``None`` if none is written."""
        if not self.anonymize or (self.config is None and self.write_config_to is None):
            return None
        return self.write_config_to or Path(f"{self.output}.config.yaml")

    def check(self) -> None:
        """Raise :class:`InputError` for options that do not go together."""
        if self.write_config_to is not None and not self.anonymize:
            raise InputError("--write-config-to", "counts only with --anonymize", "add it")
        if self.anonymize and self.config is not None and self.output == "-" and self.write_config_to is None:
            problem = "is not given, and the snapshot goes to standard output"
            raise InputError("--write-config-to", problem, "name a file for the configuration")
