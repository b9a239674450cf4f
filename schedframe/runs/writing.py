"""Tables of a run as files: CSV and JSON lines by the standard library, Parquet by polars."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base.extras import require
from .._version import __version__
from ..traces import Figures
from ..traces.columns import ColumnTable


def write(
    folder: str | os.PathLike[str],
    format: str,
    tables: Mapping[str, ColumnTable],
    summary: Figures,
    about: Mapping[str, Any],
) -> None:
    """Write each table to a file in *folder*, then ``summary.json``: if it is there, all the others are
    whole."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        path = target / f"{name}.{format}"
        if format == "csv":
            _write_csv(path, table)
        elif format == "jsonl":
            _write_lines(path, table)
        else:
            require("dataframe", "Parquet", "polars")
            table.to_dataframe().write_parquet(path)
    content = {
        "apiVersion": "schedframe/v1",
        "kind": "RunSummary",
        "version": __version__,
        **about,
        "measures": dict(summary.values),
        "units": {name: unit for name, unit in summary.units.items() if unit},
    }
    part = target / "summary.json.part"
    part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    part.replace(target / "summary.json")


def _write_csv(path: Path, table: ColumnTable) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(table.rows())


def _write_lines(path: Path, table: ColumnTable) -> None:
    names = list(table.columns)
    with path.open("w", encoding="utf-8") as file:
        for row in table.rows():
            file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")
