"""Rows of CSV and JSON lines as columns of numbers, part by part, with row and column of what is wrong.

A file is read in parts of :data:`CHUNK` rows, so that the texts of a million rows are never in memory
together. Numbers of a part are converted in one call; only a part with a faulty cell is looked at cell by
cell.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from .._base.brief import shown
from .._base.value import record
from ..api.paths import located
from ..errors import InputError
from .columns import Array, Ids, Ints, Names, texts

CHUNK: Final = 4_096
"""Rows read at once. With 65,536 a million rows take 1.3 s more: their lists outgrow the caches."""
SECOND: Final = 1_000_000
"""Microseconds."""
LARGEST: Final = 2**62
"""Numbers beyond it are refused: sums and differences of two others fit int64."""
OnFault = Literal["error", "skip"]
"""Treatment of a row with a fault: an error, or left out and counted."""
Paths = str | os.PathLike[str]
Mask = npt.NDArray[np.bool_]

_MISSING: Final = frozenset({"", "null", "NULL", "None", "none", "nan", "NaN", "NA", "N/A", "\\N"})
_EXACT: Final = 2**53
_IS_MISSING: Final = np.iinfo(np.int64).min
_IS_BAD: Final = _IS_MISSING + 1


class Treated(Counter[str]):
    """Treatment → number of rows, of rows that were not taken as they are."""


@record(eq=False)
class Rows:
    """A part of a file: the cells of its columns as texts, and which rows are kept."""

    file: str
    first: int
    """Line of the first row, or its number if rows have several lines."""
    cells: Mapping[str, Sequence[str]]
    size: int
    treated: Treated
    on_fault: OnFault = "error"
    is_by_line: bool = True
    _dropped: Mask | None = None

    def whole(
        self, column: str, times: float = 1, *, least: int | None = 0, missing: int | None = None
    ) -> Ints:
        """Return a column times *times*, rounded; *missing* for empty cells.

        Cells that are no number, below *least* or empty without *missing* are faults.
        """
        cells = self.column(column)
        values = _numbers(cells, times)
        self._refuse(values == _IS_BAD, column, "is not a number", "write digits, with a point if need be")
        empty = values == _IS_MISSING
        if missing is None:
            self._refuse(empty, column, "is empty", "write a number, or map the column with a default")
        values[(values == _IS_BAD) | empty] = 0 if missing is None else missing
        if least is not None:
            below = values < least if missing is None else (values < least) & (values != missing)
            self._refuse(below, column, f"is below {least}", f"write a number from {least}")
        return values

    def ids(self, column: str, names: Names) -> Ids:
        """Return the ids of a column's texts; −1 for empty cells."""
        return names.ids(self.column(column))

    def texts(self, column: str) -> Array:
        """Return a column as bytes."""
        return texts(self.column(column))

    def column(self, name: str) -> Sequence[str]:
        """Return the cells of a column. Raises :class:`InputError` if the file has no such column."""
        try:
            return self.cells[name]
        except KeyError:
            raise missing_column(self.file, name, self.cells) from None

    def has(self, name: str) -> bool:
        """Return whether the file has such a column."""
        return name in self.cells

    def is_one_of(self, column: str, values: Iterable[str]) -> Mask:
        """Return which rows have one of *values* in a column."""
        wanted = frozenset(values)
        return np.fromiter((each in wanted for each in self.column(column)), bool, self.size)

    def refuse(self, wrong: Mask, column: str, problem: str, fix: str) -> None:
        """Raise :class:`InputError` for the first row that is *wrong*, or leave all of them out."""
        self._refuse(wrong, column, problem, fix)

    def leave_out(self, rows: Mask, treatment: str) -> None:
        """Leave *rows* out and count them."""
        kept = rows & ~self.dropped
        self.note(kept, treatment)
        self._dropped = self.dropped | rows

    def note(self, rows: Mask, treatment: str) -> None:
        """Count *rows* that were changed and are kept."""
        count = int(np.count_nonzero(rows & ~self.dropped))
        if count:
            self.treated[treatment] += count

    @property
    def dropped(self) -> Mask:
        """Rows that are left out."""
        if self._dropped is None:
            self._dropped = np.zeros(self.size, bool)
        return self._dropped

    def _refuse(self, wrong: Mask, column: str, problem: str, fix: str) -> None:
        wrong = wrong & ~self.dropped
        if not wrong.any():
            return
        if self.on_fault == "error":
            index = int(wrong.argmax())
            cell = self.cells[column][index] if column in self.cells else ""
            more = int(np.count_nonzero(wrong)) - 1
            rest = f" (and {more:,} more rows among the next {self.size - index:,})" if more else ""
            problem = f"{shown(cell)} {problem}{rest}" if cell else f"{problem}{rest}"
            raise InputError(
                column, problem, f"{fix}; on_fault='skip' leaves such rows out", location=self.place(index)
            )
        self.leave_out(wrong, f"left out: {column} {problem}")

    def place(self, index: int) -> str:
        """Return file and line of a row."""
        number = self.first + index
        return located(self.file, number) if self.is_by_line else f"{self.file}: row {number}"


def missing_column(file: str, name: str, there: Iterable[str]) -> InputError:
    """Return the error for a column that a file does not have."""
    from ..api._text import meant

    names = list(there)
    fix = meant(name, names) or f"its columns are {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"
    return InputError(name, "the file has no such column", fix, location=file)


def _numbers(cells: Sequence[str], times: float) -> Ints:
    """Return *cells* times *times*, rounded to whole numbers, with marks for missing and bad cells."""
    if times == int(times):
        try:
            values = np.fromiter(map(int, cells), np.int64, len(cells))
            if len(values) == 0 or max(int(values.max()), -int(values.min())) * abs(times) < LARGEST:
                return values * int(times)
        except (ValueError, OverflowError):
            pass  # decimals, empty cells or faults
    return np.array([_number(each, times) for each in cells], np.int64)


def _number(cell: str, times: float) -> int:
    try:
        value = float(cell) * times
    except ValueError:
        return _IS_MISSING if cell.strip() in _MISSING else _IS_BAD
    if not abs(value) < LARGEST:  # or no number
        return _IS_MISSING if math.isnan(value) else _IS_BAD
    if abs(value) >= _EXACT and times == int(times) and cell.strip().lstrip("+-").isdecimal():
        return int(cell) * int(times)
    return round(value)


# ---- files -----------------------------------------------------------------------------------------------


@contextmanager
def opened(path: Paths) -> Iterator[IO[str]]:
    """Open a file of text, packed by gzip or not. Raises :class:`InputError` if it cannot be read as such."""
    import gzip

    name = str(path)
    try:
        with Path(path).open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
        if is_packed:
            with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as stream:
                yield stream
        else:
            with Path(path).open(encoding="utf-8-sig", newline="") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise InputError("", f"is not UTF-8: {error.reason}", "convert it to UTF-8", location=name) from None
    except (EOFError, gzip.BadGzipFile) as error:
        fix = "unpack it with gzip -t to see where it ends"
        raise InputError("", f"is damaged: {error}", fix, location=name) from None
    except OSError as error:
        raise InputError("", error.strerror or str(error), "give the path of a file", location=name) from None


def csv_rows(
    path: Paths,
    treated: Treated,
    *,
    header: Sequence[str] = (),
    on_fault: OnFault = "error",
    delimiter: str = ",",
) -> Iterator[Rows]:
    """Yield the rows of a CSV file in parts. *header* names the columns of a file without a head."""
    import csv

    name = str(path)
    with opened(path) as stream:
        reader = csv.reader(stream, delimiter=delimiter)
        try:
            head = list(header) or [each.strip() for each in next(reader, [])]
            _check_head(head, name)
            first = 1 if header else 2
            while rows := list(islice(reader, CHUNK)):
                if header and first == 1 and rows[0] == head:  # it has a head for all that
                    rows, first = rows[1:], 2
                is_by_line = reader.line_num == first + len(rows) - 1
                yield _part(rows, head, Rows(name, first, {}, 0, treated, on_fault, is_by_line))
                first += len(rows)
        except csv.Error as error:
            where = located(name, reader.line_num)
            raise InputError(
                "", f"cannot be read as CSV: {error}", "check its quotes", location=where
            ) from None


def _check_head(head: list[str], name: str) -> None:
    if not head:
        raise InputError("", "is empty", "give a file with a line of column names", location=name)
    twice = [each for each, count in Counter(head).items() if count > 1]
    if twice:
        raise InputError(twice[0], "the column is there twice", "rename one of the two", location=name)


def _part(rows: list[list[str]], head: list[str], part: Rows) -> Rows:
    """Return *part* with the cells of *rows*, without those that have too few or too many."""
    blank = [] in rows
    if blank or set(map(len, rows)) != {len(head)}:
        wrong = np.fromiter((len(row) != len(head) for row in rows), bool, len(rows))
        empty = np.fromiter((not row for row in rows), bool, len(rows))
        rows = [row if len(row) == len(head) else [""] * len(head) for row in rows]
        part.cells, part.size = dict(zip(head, zip(*rows, strict=True), strict=True)), len(rows)
        part.leave_out(empty, "left out: empty lines")
        fix = "check its commas and quotes"
        part.refuse(wrong, "", f"has another number of cells than the {len(head)} columns", fix)
    part.cells, part.size = dict(zip(head, zip(*rows, strict=True), strict=True)), len(rows)
    return part


def json_rows(
    path: Paths, treated: Treated, columns: Sequence[str], *, on_fault: OnFault = "error"
) -> Iterator[Rows]:
    """Yield the rows of a file of JSON lines in parts; ``a.b`` is the member *b* of the member *a*.

    Members that an object does not have are empty cells.
    """
    name, paths = str(path), [each.split(".") for each in columns]
    with opened(path) as stream:
        first = 1
        while lines := list(islice(stream, CHUNK)):
            objects = [_object(line, name, first + index) for index, line in enumerate(lines)]
            cells = {
                column: [_cell(each, steps) for each in objects]
                for column, steps in zip(columns, paths, strict=True)
            }
            part = Rows(name, first, cells, len(lines), treated, on_fault)
            part.leave_out(
                np.fromiter((not each for each in objects), bool, len(lines)), "left out: empty lines"
            )
            yield part
            first += len(lines)


def _object(line: str, name: str, number: int) -> dict[str, Any]:
    if not line.strip():
        return {}
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        fix = "write one JSON object on each line"
        where = located(name, number)
        raise InputError("", f"cannot be read as JSON: {error}", fix, location=where) from None
    if not isinstance(value, dict):
        where = located(name, number)
        raise InputError(
            "", f"{shown(value)} is not an object", "write one JSON object a line", location=where
        )
    return value


def _cell(value: Any, steps: Sequence[str]) -> str:
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return "" if value is None else value if isinstance(value, str) else str(value)


def concatenated(parts: Sequence[Array], dtype: npt.DTypeLike = np.int64) -> Array:
    """Return arrays one after another; an empty one if there is none."""
    return np.concatenate(parts) if parts else np.zeros(0, dtype)
