"""Tables as NumPy columns: numbers, ids with names, names. Texts and data frames decode late."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from .._base.brief import brief_of
from .._base.tables import SHOWN, Cell, Table, Tabular, _text
from .._base.value import record

if TYPE_CHECKING:
    import polars

Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]
Array = npt.NDArray[Any]

NONE: Final = -1
"""In a column of ids or times: there is none."""
_CHUNK: Final = 65_536
"""Rows that are decoded at once."""


@record(frozen=True, eq=False)
class ColumnTable(Tabular):
    """Columns of equal length by name. ``table["submit"]`` is an array, which is read-only.

    ``names`` has the names of the ids in a column, by column. ``optional`` columns have −1 where there is no
    value; texts and data frames have nothing there. Text columns are bytes in UTF-8 (dtype ``S``).
    """

    columns: Mapping[str, Array]
    names: Mapping[str, Sequence[str]] = {}  # a field of a frozen class
    optional: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[Cell, ...]]:
        """Yield rows with names in place of ids and ``None`` in place of −1."""
        last = len(self) if stop is None else min(stop, len(self))
        for first in range(start, last, _CHUNK):
            part = slice(first, min(first + _CHUNK, last))
            yield from zip(*(self.decoded(name, part) for name in self.columns), strict=True)

    def decoded(self, name: str, part: slice = slice(None)) -> list[Cell]:
        """Return the values of a column, or a *part* of it, as Python's."""
        values, names = self.columns[name][part], self.names.get(name)
        if values.dtype.kind == "S":
            return [each.decode() for each in values.tolist()]
        if names is not None:
            return [names[each] if each >= 0 else None for each in values.tolist()]
        if name in self.optional:
            return [None if each == NONE else each for each in values.tolist()]
        return list(values.tolist())

    def kinds(self) -> dict[str, type]:
        """Return column → type of its decoded values."""
        return {name: self._kind(name) for name in self.columns}

    def _kind(self, name: str) -> type:
        code = self.columns[name].dtype.kind
        return str if name in self.names or code == "S" else {"f": float, "b": bool}.get(code, int)

    def taken(self, chosen: Array | slice) -> ColumnTable:
        """Return the table with these rows: a mask, row numbers or a slice."""
        return ColumnTable(
            read_only({n: c[chosen] for n, c in self.columns.items()}), self.names, self.optional
        )

    def with_columns(self, **columns: Array) -> ColumnTable:
        """Return the table with other or more columns."""
        return ColumnTable(read_only({**self.columns, **columns}), self.names, self.optional)

    @override
    def _table(self) -> Table:
        return Table(self.kinds(), list(self.rows()))

    @override
    def _texts(self) -> tuple[Sequence[str], Iterable[Sequence[str]], int]:
        rows = ([_text(cell) for cell in row] for row in self.rows(stop=SHOWN))
        return [name.replace("_", " ") for name in self.columns], rows, len(self)

    @override
    def to_dataframe(self) -> polars.DataFrame:
        """Return all rows as a polars data frame; needs the extra ``dataframe``."""
        from .._base.extras import require

        require("dataframe", "a data frame", "polars")
        import polars

        return polars.DataFrame([self._series(name) for name in self.columns])

    def _series(self, name: str) -> polars.Series:
        import polars

        values, names = self.columns[name], self.names.get(name)
        if values.dtype.kind == "S":
            return polars.Series(name, self.decoded(name), polars.String)
        if names is not None:
            texts = polars.Series(list(names), dtype=polars.String)
            ids = polars.Series(values.astype(np.int64))
            return texts.gather(ids.set(ids < 0, None)).alias(name)
        series = polars.Series(name, values)
        return series.set(series == NONE, None) if name in self.optional else series

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as an Arrow stream, which pandas, DuckDB and pyarrow read; needs polars."""
        return self.to_dataframe().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return brief_of(self, len=len(self), columns=list(self.columns))


def read_only(columns: Mapping[str, Array]) -> dict[str, Array]:
    """Return *columns*; their arrays can no longer be written."""
    for column in columns.values():
        column.flags.writeable = False
    return dict(columns)


def digest_of(table: ColumnTable) -> str:
    """Return the SHA-256 of the decoded rows: equal tables have equal ones, whatever their ids are."""
    from hashlib import sha256  # loads OpenSSL, 3 MB

    digest = sha256(str(len(table)).encode())
    for name, column in table.columns.items():
        digest.update(f"\n{name} {table.kinds()[name].__name__} ".encode())
        names = table.names.get(name)
        if column.dtype.kind == "S":
            digest.update(b"\n".join(column.tolist()))
        elif names is not None:
            used, ids = first_uses(column)
            digest.update("\n".join("" if each < 0 else names[each] for each in used.tolist()).encode())
            digest.update(ids.astype("<i8").tobytes())
        else:
            digest.update(column.astype("<f8" if column.dtype.kind == "f" else "<i8").tobytes())
    return digest.hexdigest()


def first_uses(values: Array) -> tuple[Array, Ints]:
    """Return the distinct values in the order of their first use, and the place of each value among them."""
    distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[inverse]


def ranks(ordered: Ints, *shares: float) -> list[int]:
    """Return the smallest of *ordered* values that have these shares of them at or below."""
    count = len(ordered)
    return [int(ordered[max(0, math.ceil(share * count) - 1)]) for share in shares]


def texts(values: Sequence[str]) -> Array:
    """Return *values* as a column of bytes in UTF-8."""
    try:
        return np.array(values, np.bytes_) if values else np.zeros(0, "S1")
    except UnicodeEncodeError:
        return np.array([each.encode("utf-8", "replace") for each in values], np.bytes_)


class Names:
    """Texts → ids from 0 in the order of their first use. O(1) a text."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self, values: Iterable[str]) -> Ids:
        """Return the ids of *values*; −1 for the empty text."""
        ids = self._ids
        found = [ids.setdefault(each, len(ids)) if each else NONE for each in values]
        return np.array(found, np.int32)

    def id(self, value: str) -> int:
        """Return the id of *value*."""
        return self._ids.setdefault(value, len(self._ids))

    def all(self) -> tuple[str, ...]:
        """Return the texts in the order of their ids."""
        return tuple(self._ids)
