"""Runs that were written to a folder, read again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from .._base.checked import checked
from .._base.extras import require
from .._base.value import record
from ..errors import InputError
from ..traces import Figures
from ..traces.columns import NONE, Array, ColumnTable, Names, read_only, texts
from ..traces.reading import Treated, csv_rows, json_rows

TEXTS: Final = frozenset({"name", "owner", "node", "state", "waited_for", "event"})
"""Columns of texts in the tables of a run; all others are numbers."""
_FORMATS: Final = ("csv", "jsonl", "parquet")


@record(frozen=True, eq=False)
class SavedRun:
    """The table of pods and the summary of a run that was written to a folder."""

    folder: str
    pods: ColumnTable
    summary: Figures
    about: Mapping[str, Any]
    """``end``, ``window``, and the digests of ``trace`` and run (``digest``)."""

    def digest(self) -> str:
        """Return the digest that the run had."""
        return str(self.about["digest"])


@checked
def read_run(folder: str | os.PathLike[str]) -> SavedRun:
    """Read a run that :meth:`Run.write` wrote. Raises :class:`InputError` if the folder has none, or a
    part."""
    path = Path(folder)
    try:
        content = json.loads((path / "summary.json").read_text(encoding="utf-8"))
        about = {name: content[name] for name in ("end", "window", "trace", "digest")}
        measures, units = dict(content["measures"]), dict(content["units"])
    except OSError as error:
        fix = "give a folder that a run was written to; summary.json is written last"
        raise InputError(
            "", f"cannot be read: {error.strerror}", fix, location=str(path / "summary.json")
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        fix = "write the run again"
        raise InputError(
            "", f"is no summary of a run: {error}", fix, location=str(path / "summary.json")
        ) from None
    return SavedRun(str(folder), _pods(path), Figures(measures, units), about)


def _pods(folder: Path) -> ColumnTable:
    for suffix in _FORMATS:
        path = folder / f"pods.{suffix}"
        if path.exists():
            return _table(_columns(path, suffix), str(path))
    fix = "write the run again"
    raise InputError("", "has no table of pods: pods.csv, .jsonl or .parquet", fix, location=str(folder))


def _columns(path: Path, suffix: str) -> dict[str, Sequence[Any]]:
    """Return column → values, or texts of them."""
    if suffix == "parquet":
        require("dataframe", "Parquet", "polars")
        import polars

        return {name: values.to_list() for name, values in polars.read_parquet(path).to_dict().items()}
    if suffix == "jsonl":
        with path.open(encoding="utf-8") as file:
            names = list(json.loads(next(file, "{}")))
        parts = list(json_rows(path, Treated(), names))
    else:
        parts = list(csv_rows(path, Treated()))
        names = list(parts[0].cells) if parts else []
    return {name: [each for part in parts for each in part.column(name)] for name in names}


def _table(columns: Mapping[str, Sequence[Any]], location: str) -> ColumnTable:
    table: dict[str, Array] = {}
    names: dict[str, Sequence[str]] = {}
    try:
        for name, values in columns.items():
            if name == "name":
                table[name] = texts([str(each) for each in values])
            elif name in TEXTS:
                found = Names()
                table[name] = found.ids(str(each) if each else "" for each in values)
                names[name] = found.all()
            else:
                table[name] = _whole(values)
    except (ValueError, TypeError) as error:
        raise InputError(
            name, f"is no column of a run: {error}", "write the run again", location=location
        ) from None
    numbers = frozenset(table) - TEXTS
    return ColumnTable(read_only(table), names, numbers)


def _whole(values: Iterable[Any]) -> Array:
    return np.array([NONE if each in ("", None) else int(each) for each in values], np.int64)
