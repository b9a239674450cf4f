"""Exit codes, and the errors that lead to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from ..errors import ClusterError, InputError, InvariantError, SchedframeError
from .output.terminal import complain, traceback_lines

SUCCESS = 0
SOME_PENDING = 1
TOO_LITTLE_ROOM = 1
"""Of ``schedframe capacity``: fewer pods fit than required, or some find no place."""
BAD_INPUT = 2
NO_CLUSTER = 3
REFUSED = 4
PLUGIN_FAULT = 5
INTERNAL = 70
INTERRUPTED = 130

MOST_LINES = 100
"""Problems of the input that are written; the others are counted."""

CODES = """Exit codes: 0 all pods placed (or: done), 1 some pods stay pending, 2 bad input or usage,
3 the cluster cannot be reached or refuses, 4 admission or a quota refuses some objects, 5 a plugin failed,
70 a fault of schedframe itself, 130 interrupted."""

CAPACITY_CODES = """Exit codes: 0 done, 1 there is too little room: fewer pods fit than --require says, a loss
leaves some without a place, or a drain is blocked, 2 bad input or usage, 3 the cluster cannot be reached or
refuses, 70 a fault of schedframe itself, 130 interrupted."""

OTHER_CODES = (
    """Exit codes: 0 done, 2 bad input or usage, 70 a fault of schedframe itself, 130 interrupted."""
)
"""Those of commands that place no pods."""


@contextmanager
def reporting() -> Iterator[None]:
    """Turn errors inside into lines on stderr and an exit code."""
    try:
        yield
    except InvariantError as error:
        _internal(error)
    except ClusterError as error:
        complain(f"schedframe: {error}")
        raise typer.Exit(NO_CLUSTER) from None
    except SchedframeError as error:
        complain(*lines_of(error))
        raise typer.Exit(REFUSED if _is_refusal(error) else BAD_INPUT) from None
    except KeyboardInterrupt:
        complain("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as error:  # noqa: BLE001 - whatever is left is our own fault and says so
        _internal(error)


def _is_refusal(error: SchedframeError) -> bool:
    """Return whether nothing is wrong with the input but that admission refuses some of its objects."""
    from ..controllers.admission import AdmissionRefused  # loads much that other commands do not need

    return isinstance(error, InputError) and all(isinstance(each, AdmissionRefused) for each in error.errors)


def code_of(*, is_pending: bool, is_refused: bool = False, has_faults: bool = False) -> int:
    """Return the exit code of a run: that of the gravest of what happened to its pods."""
    if has_faults:
        return PLUGIN_FAULT
    if is_refused:
        return REFUSED
    return SOME_PENDING if is_pending else SUCCESS


def lines_of(error: SchedframeError) -> list[str]:
    """Return the lines of an error: one for each problem of the input or field of a configuration."""
    from ..config import ConfigBuildError, ConfigDecodeError, ConfigValidationError

    if isinstance(error, ConfigDecodeError | ConfigValidationError | ConfigBuildError | InputError):
        lines = [str(problem) for problem in error.errors]
        more = len(lines) - MOST_LINES
        return lines if more <= 0 else [*lines[:MOST_LINES], f"… and {more} more problems"]
    return [str(error)]


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Turn what goes wrong with writing a file inside into an :class:`InputError` about *name*."""
    try:
        yield
    except OSError as error:
        fix = "name a file in a folder that exists and can be written to"
        raise InputError("", f"cannot be written: {error.strerror or error}", fix, location=name) from None


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what goes wrong with reading a file inside into an :class:`InputError` about *name*."""
    try:
        yield
    except OSError as error:
        fix = "name a file that exists and can be read, or - for standard input"
        raise InputError("", f"cannot be read: {error.strerror or error}", fix, location=name) from None
    except UnicodeDecodeError as error:
        raise InputError(
            "", f"is not UTF-8 text: {error.reason}", "save it as UTF-8", location=name
        ) from None


def _internal(error: Exception) -> NoReturn:
    complain(*traceback_lines(error))
    complain("schedframe: this is a fault of schedframe, not of the input; please report it")
    raise typer.Exit(INTERNAL)
