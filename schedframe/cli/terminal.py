"""Output for people: colours and progress on a terminal, notes on stderr, tables."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import typer

from ..errors import InputError

Advance = Callable[[], None]

_EVERY = 50
"""Steps between two updates of a progress bar; an update takes as long as a scheduling cycle."""


def colourful() -> bool:
    """Return whether stdout is a terminal and NO_COLOR is unset (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def heading(text: str) -> str:
    """Return *text* as the heading of a table."""
    return typer.style(text, bold=True) if colourful() else text


def warning(text: str) -> str:
    """Return *text* in the colour of warnings."""
    return typer.style(text, fg=typer.colors.YELLOW) if colourful() else text


def success(text: str) -> str:
    """Return *text* in the colour of success."""
    return typer.style(text, fg=typer.colors.GREEN) if colourful() else text


def note(text: str) -> None:
    """Write a remark to stderr."""
    print(f"note: {text}", file=sys.stderr)


def caution(text: str) -> None:
    """Write a line about something that may be wrong on stderr."""
    print(f"warning: {text}", file=sys.stderr)


def emit(text: str) -> None:
    """Write *text* to stdout, with a line break at its end. Raises :class:`InputError` if that fails."""
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # what is left in the buffer would fail once more at the end of the program
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the program ends
        fix = "free some room, or redirect it elsewhere"
        problem = f"cannot be written: {error.strerror or error}"
        raise InputError("", problem, fix, location="<stdout>") from None
    except UnicodeEncodeError as error:
        problem = f"takes no {text[error.start : error.start + 1]!r}: its encoding is {error.encoding}"
        raise InputError("", problem, "set PYTHONIOENCODING=utf-8", location="<stdout>") from None


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Advance]:
    """Show a progress bar inside if stderr is a terminal; give the function to call at each step."""
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total)
    count = 0

    def advance() -> None:
        nonlocal count
        count += 1
        if count % _EVERY == 0:
            bar.start()  # not for a few steps; does nothing if it has started
            bar.update(task, completed=count)

    try:
        yield advance
    finally:
        bar.stop()


def _nothing() -> None:
    pass


def columns(
    rows: Iterable[Sequence[str]], head: Sequence[str], *, right: Iterable[int] = (), cut: bool = False
) -> list[str]:
    """Return the lines of a table, the head first; *right* are indexes of right-aligned columns.

    *cut*: on a terminal, cut lines at its width.
    """
    table = [tuple(head), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    aligned = frozenset(right)
    pad = [(str.rjust if i in aligned else str.ljust, width) for i, width in enumerate(widths)]
    lines = [
        "  ".join(align(cell, width) for cell, (align, width) in zip(row, pad, strict=True)).rstrip()
        for row in table
    ]
    if cut and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        lines = [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines]
    return [heading(lines[0]), *lines[1:]]
