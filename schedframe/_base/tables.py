"""Values with rows: as plain text, rich table, HTML and data frame."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from .value import record
from .visible import visible

if TYPE_CHECKING:
    import polars
    from rich.console import Console, ConsoleOptions, RenderResult

SHOWN: Final = 50
"""Rows that texts, rich tables and HTML show; the others are counted. Data frames have all."""

Cell = str | int | float | bool | Sequence[str] | None


@record(frozen=True)
class Table:
    """Columns with their type (``list`` is a list of texts), and the rows."""

    columns: Mapping[str, type]
    rows: list[tuple[Cell, ...]]


class Tabular:
    """Mixin: the forms of a value with rows. Subclasses define :meth:`_table`."""

    __slots__ = ()

    @abstractmethod
    def _table(self) -> Table:
        """Return all rows, with typed values for data frames."""

    def _texts(self) -> tuple[Sequence[str], Iterable[Sequence[str]], int]:
        """Return head, rows and number of rows for people; what is not needed is not formatted."""
        table = self._table()
        rows = ([_text(cell) for cell in row] for row in table.rows[:SHOWN])
        return [name.replace("_", " ") for name in table.columns], rows, len(table.rows)

    def _shown(self) -> tuple[Sequence[str], list[tuple[str, ...]], int]:
        """Return :meth:`_texts` without raw control characters."""
        head, rows, count = self._texts()
        return head, [tuple(map(visible, row)) for row in rows], count

    def to_dataframe(self) -> polars.DataFrame:
        """Return all rows as a polars data frame; needs the extra ``dataframe``.

        Other libraries take the frame through its Arrow stream, such as ``pyarrow.table(frame)`` and
        ``pandas.DataFrame.from_arrow(frame)``. Raises :class:`ModuleNotFoundError` without polars.
        """
        try:
            import polars
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "data frames need polars: pip install 'schedframe[dataframe]'", name="polars"
            ) from error
        kinds: dict[type, polars.DataType | type[polars.DataType]] = {
            str: polars.String,
            int: polars.Int64,
            float: polars.Float64,
            bool: polars.Boolean,
            list: polars.List(polars.String),
        }
        table = self._table()
        schema = {name: kinds[kind] for name, kind in table.columns.items()}
        return polars.DataFrame(table.rows, schema=schema, orient="row")

    def __str__(self) -> str:
        head, texts, count = self._shown()
        rows = [head, *texts]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, *_missing(count)])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.table import Table as RichTable
        from rich.text import Text

        head, texts, count = self._shown()
        table = RichTable(*head)
        for row in texts:
            table.add_row(*map(Text, row))
        yield table
        yield from _missing(count)

    def _repr_html_(self) -> str:
        head, texts, count = self._shown()
        rows = "".join(_html_row("td", row) for row in texts)
        more = "".join(f"<p>{line}</p>" for line in _missing(count))
        return f"<table><thead>{_html_row('th', head)}</thead><tbody>{rows}</tbody></table>{more}"


def _missing(count: int) -> list[str]:
    return [f"… and {count - SHOWN:,} more"] if count > SHOWN else []


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return cell if isinstance(cell, str) else ", ".join(cell) if isinstance(cell, Sequence) else str(cell)


def _html_row(tag: str, cells: Sequence[str]) -> str:
    from html import escape

    parts = (f'<{tag} style="text-align: left">{escape(cell)}</{tag}>' for cell in cells)
    return f"<tr>{''.join(parts)}</tr>"
