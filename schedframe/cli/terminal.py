"""What depends on who is looking: colours on a terminal, progress on a terminal, notes on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import typer

Advance = Callable[[], None]

_EVERY = 50
"""Steps between two updates of a progress bar: an update costs as much as a scheduling cycle."""


def colourful() -> bool:
    """Whether stdout is a terminal that should see colours (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def heading(text: str) -> str:
    """A line above a table."""
    return typer.style(text, bold=True) if colourful() else text


def warning(text: str) -> str:
    """Something that did not go well."""
    return typer.style(text, fg=typer.colors.YELLOW) if colourful() else text


def success(text: str) -> str:
    """Something that did."""
    return typer.style(text, fg=typer.colors.GREEN) if colourful() else text


def note(text: str) -> None:
    """Something worth knowing that is not the answer."""
    print(f"note: {text}", file=sys.stderr)


def emit(text: str) -> None:
    """Write *text* and a line break to stdout."""
    sys.stdout.write(text)
    sys.stdout.write("\n")
    sys.stdout.flush()


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Advance]:
    """A progress bar on stderr while inside, if that is a terminal; gives what to call at each step."""
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        count = 0

        def advance() -> None:
            nonlocal count
            count += 1
            if count % _EVERY == 0:
                bar.update(task, completed=count)

        yield advance


def _nothing() -> None:
    pass


def columns(rows: Iterable[Sequence[str]], head: Sequence[str], *, right: Iterable[int] = ()) -> list[str]:
    """Lines of a table, the head first; *right* are the columns that are aligned to the right."""
    table = [tuple(head), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    aligned = frozenset(right)
    pad = [(str.rjust if i in aligned else str.ljust, width) for i, width in enumerate(widths)]
    lines = [
        "  ".join(align(cell, width) for cell, (align, width) in zip(row, pad, strict=True)).rstrip()
        for row in table
    ]
    return [heading(lines[0]), *lines[1:]]
