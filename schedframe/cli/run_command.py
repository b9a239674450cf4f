"""The command ``run``; what it does is in :mod:`.run`."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import Any, get_type_hints

import typer
from attrs import fields

from ..errors import InputError
from . import exits
from .run_options import RunOptions

EXTRA = ("aiohttp", "msgspec")
"""Packages that the extra ``kubernetes`` brings."""


def run(**options: Any) -> None:
    """Schedule the pods of a real cluster, until SIGTERM or SIGINT. Exit code 0 then.

    A second signal ends the process at once.
    """
    with exits.reporting():
        _check(options["leader_elect"])
        from .run import run as run_scheduler

        run_scheduler(RunOptions(**options))


def _signature_of(cls: type) -> inspect.Signature:
    """Return the signature with the fields of an attrs class as parameters, for typer."""
    hints = get_type_hints(cls, include_extras=True)
    return inspect.Signature(
        [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=hints[each.name],
            )
            for each in fields(cls)
        ]
    )


run.__signature__ = _signature_of(RunOptions)  # type: ignore[attr-defined]  # inspect.signature reads it
run.__annotations__ = {
    name: parameter.annotation for name, parameter in _signature_of(RunOptions).parameters.items()
}


def _check(leader_elect: str) -> None:
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise InputError("", f"run needs {' and '.join(missing)}", "pip install 'schedframe[cli,kubernetes]'")
    if leader_elect not in ("true", "false"):
        raise typer.BadParameter(f"--leader-elect is {leader_elect!r}; write true or false")
