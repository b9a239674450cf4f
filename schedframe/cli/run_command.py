"""The commands about a real cluster: ``run`` and ``snapshot``."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, get_type_hints

import typer
from attrs import fields

from . import exits
from .live import LiveSource, check_extra
from .run_options import RunOptions


def run(**options: Any) -> None:
    """Schedule the pods of a real cluster, until SIGTERM or SIGINT. Exit code 0 then.

    A second signal ends the process at once.
    """
    with exits.reporting():
        check_extra("run")
        from .run import run as run_scheduler

        run_scheduler(RunOptions(**options))


def _signature_of(cls: type) -> inspect.Signature:
    """Return the signature with the fields of an attrs class as parameters for typer, inherited ones last."""
    hints = get_type_hints(cls, include_extras=True)
    return inspect.Signature(
        [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=hints[each.name],
            )
            for each in sorted(fields(cls), key=lambda each: each.inherited)
        ]
    )


run.__signature__ = _signature_of(RunOptions)  # type: ignore[attr-defined]  # inspect.signature reads it
run.__annotations__ = {
    name: parameter.annotation for name, parameter in _signature_of(RunOptions).parameters.items()
}


def snapshot(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="- is stdout.")] = "-",
    kubeconfig: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="May be repeated. Default: $KUBECONFIG, ~/.kube/config."),
    ] = None,
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the kubeconfig, in place of the current one.")
    ] = None,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Hash names and labels, equal ones to equal hashes.")
    ] = False,
) -> None:
    """Write what scheduling reads of a real cluster as manifests, which every other command accepts.

    Secrets, environment variables and the like are never in it.
    """
    with exits.reporting():
        check_extra("snapshot")
        from .snapshot import take_snapshot

        take_snapshot(LiveSource(kubeconfig or [], context), output, anonymize=anonymize)
