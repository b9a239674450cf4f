"""Entry point of the console script: checks that the extra is installed, then runs a command."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from .._version import __version__
from .garbage import YOUNG_OBJECTS
from .output import standard_streams

EXTRA = ("typer", "rich")
"""Packages that the extra ``cli`` brings."""
BAD_USAGE = 2


def main() -> None:
    """The console script ``schedframe``."""
    standard_streams.install()
    # Modules and classes stay: to look for garbage among them takes a tenth of schedframe schedule.
    gc.set_threshold(YOUNG_OBJECTS)
    # The threads of NumPy's matrix products, of which there are none here, take 50 ms and some memory each.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line and return its exit code."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        print(
            f"schedframe: the command line needs {' and '.join(missing)}: pip install 'schedframe[cli]'",
            file=sys.stderr,
        )
        return BAD_USAGE
    try:
        return _carried_out(arguments)
    except OSError as error:  # commands report their own: this is of the version or of a help text
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the program ends
        print(f"<stdout>: cannot be written: {error.strerror or error}", file=sys.stderr)
        return BAD_USAGE


def _carried_out(arguments: Sequence[str]) -> int:
    if sys.stdout is None:  # the caller has closed it
        print("<stdout>: is closed; redirect it to a file or to /dev/null", file=sys.stderr)
        return BAD_USAGE
    if arguments == ["--version"]:
        # without the imports of the commands, which take a second
        print(f"schedframe {__version__}", flush=True)
        return 0
    from .app import dispatch

    return dispatch(arguments)
