"""All output for people: colours and progress on a terminal, notes and errors on stderr, tables.

Whatever is written goes through here, in lines. A line break between lines is the command's; one inside a
line, like any other control character in it, came with a name or a text of the input and is written as an
escape. So nothing in the input can act on a terminal or forge a line.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import typer
from typing_extensions import override

from ..._base.visible import visible, visible_lines
from ...errors import InputError

Advance = Callable[[], None]

_EVERY = 50
"""Steps between two updates of a progress bar; an update takes as long as a scheduling cycle."""


class Styled(str):
    """A visible line with the sequences of its colour, which are written as they are."""

    __slots__ = ()


def colourful() -> bool:
    """Return whether stdout is a terminal and NO_COLOR is unset (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def heading(text: str) -> str:
    """Return *text* as the heading of a table."""
    return Styled(typer.style(visible(text), bold=True)) if colourful() else text


def warning(text: str) -> str:
    """Return *text* in the colour of warnings."""
    return Styled(typer.style(visible(text), fg=typer.colors.YELLOW)) if colourful() else text


def success(text: str) -> str:
    """Return *text* in the colour of success."""
    return Styled(typer.style(visible(text), fg=typer.colors.GREEN)) if colourful() else text


def note(text: str) -> None:
    """Write a remark to stderr."""
    complain(f"note: {text}")


def caution(text: str) -> None:
    """Write a line about something that may be wrong on stderr."""
    complain(f"warning: {text}")


def complain(*lines: str) -> None:
    """Write *lines* to stderr."""
    for line in lines:
        print(visible(line), file=sys.stderr)


def emit(*lines: str) -> None:
    """Write *lines* to stdout. Raises :class:`InputError` if that fails."""
    text = "\n".join(line if isinstance(line, Styled) else visible(line) for line in lines)
    try:
        sys.stdout.write(f"{text}\n")
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


def emit_document(text: str) -> None:
    """Write a whole document to stdout, whose line breaks are its own: JSON and YAML have escapes for others.

    Raises :class:`InputError` if that fails.
    """
    emit(*text.removesuffix("\n").split("\n"))


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Write warnings of Python, and records of logs that no handler takes, as lines on stderr."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        caution(str(message))

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(LineFormatter())
    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


class LineFormatter(logging.Formatter):
    """Formats a record as a line of level and message, and the lines of a traceback."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        trace = traceback_lines(error) if error is not None else []
        return visible_lines([f"{record.levelname} {record.getMessage()}", *trace])


def traceback_lines(error: BaseException) -> list[str]:
    """Return the traceback of *error* in lines. Line breaks in the messages of exceptions are visible."""
    text = "".join(traceback.format_exception(error))
    for message in _messages(error):
        text = text.replace(message, visible(message))
    return list(map(visible, text.removesuffix("\n").split("\n")))


def _messages(error: BaseException) -> Iterator[str]:
    """Yield the texts of *error* and of those that it came from, as a traceback shows them."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        each = left.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        for part in traceback.format_exception_only(each):
            yield part.removesuffix("\n")
        left += (each.__cause__, each.__context__)


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
    table = [tuple(head), *(tuple(map(visible, row)) for row in rows)]
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
