"""Options of ``schedframe run`` that replace single fields of the configuration."""

from __future__ import annotations

from typing import Any, Final

import typer
from attrs import evolve

from ..config import Duration, LeaderElectionConfiguration
from ..errors import InputError
from .run_options import RunOptions

_BOOLEANS: Final = {"true": True, "false": False}
_TEXTS: Final = ("resource_lock", "resource_name", "resource_namespace")
_DURATIONS: Final = ("lease_duration", "renew_deadline", "retry_period")


def with_flags(election: LeaderElectionConfiguration, options: RunOptions) -> LeaderElectionConfiguration:
    """Return *election* with the fields that options name. Raises :class:`InputError`."""
    changes: dict[str, Any] = {}
    if options.leader_elect is not None:
        changes["leader_elect"] = boolean("--leader-elect", options.leader_elect)
    for name in _TEXTS:
        text = getattr(options, f"leader_elect_{name}")
        if text is not None:
            changes[name] = text
    for name in _DURATIONS:
        text = getattr(options, f"leader_elect_{name}")
        if text is not None:
            changes[name] = duration(f"--leader-elect-{name.replace('_', '-')}", text)
    return evolve(election, **changes)


def boolean(flag: str, text: str) -> bool:
    """Return what *flag* is set to. Raises :class:`typer.BadParameter` unless it is true or false."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise typer.BadParameter(f"{flag} is {text!r}; write true or false")
    return value


def duration(flag: str, text: str) -> Duration:
    """Return what *flag* is set to. Raises :class:`InputError`."""
    try:
        value = Duration.parse(text)
    except ValueError as error:
        raise InputError(flag, str(error), "write a duration such as 15s") from None
    if value <= Duration():
        raise InputError(flag, f"{text} is no wait", "write a duration such as 15s")
    return value
