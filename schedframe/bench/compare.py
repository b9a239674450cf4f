"""Compare the figures of two files of runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

from .._base.visible import visible_lines
from ..errors import InputError

IDENTITY: Final = ("template", "workload", "nodes", "init", "pods", "queued", "percentage")
"""Figures that identify a workload: runs with equal ones are comparable."""
NOT_COMPARED: Final = ("seed", "metrics", "threshold", "ratio")

Figures = Mapping[str, Any]
Identity = tuple[Any, ...]


def compare(before: Path, after: Path) -> list[dict[str, Any]]:
    """Return one row per workload and figure that both files have, in the order of *before*.

    The files hold lines of JSON as ``schedframe bench`` prints them. Of several runs of a workload the median
    counts. Raises :class:`InputError` for other files, and for files without a common workload.
    """
    first, second = _medians(before), _medians(after)
    rows = [
        _row(identity, name, value, second[identity][name])
        for identity, figures in first.items()
        if identity in second
        for name, value in figures.items()
        if name in second[identity]
    ]
    if not rows:
        raise InputError(
            "compare",
            f"{before} and {after} have no workload in common",
            "compare runs of the same template and size",
        )
    return rows


def compare_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a text for people: one heading per workload and one line per figure."""
    lines: list[str] = []
    of = None
    for row in rows:
        if row["of"] != of:
            of = row["of"]
            lines.append(of)
        change = "" if row["change"] is None else f"{row['change']:+.1%}"
        lines.append(f"  {row['figure']:<20} {row['before']:>16,} {row['after']:>16,} {change:>9}")
    return visible_lines(lines)


def _row(identity: Identity, name: str, before: float, after: float) -> dict[str, Any]:
    named = zip(IDENTITY, identity, strict=True)
    of = ", ".join(f"{key} {value}" for key, value in named if value is not None)
    change = round(after / before - 1, 4) if before else None
    return {"of": of, "figure": name, "before": before, "after": after, "change": change}


def _medians(file: Path) -> dict[Identity, dict[str, float]]:
    runs: dict[Identity, list[Figures]] = {}
    for figures in _runs(file):
        runs.setdefault(tuple(figures.get(key) for key in IDENTITY), []).append(figures)
    return {
        identity: {
            name: round(median(run[name] for run in same), 6)
            for name, value in same[0].items()
            if name not in IDENTITY + NOT_COMPARED and all(_is_number(run.get(name)) for run in same)
        }
        for identity, same in runs.items()
    }


def _runs(file: Path) -> Iterable[Figures]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(file), f"cannot be read: {error}", "give a file with output of bench") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            figures = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                "", f"no JSON: {error}", "give lines as bench --json prints them", location=f"{file}:{number}"
            ) from error
        if not isinstance(figures, dict):
            fix = "give lines as bench --json prints them"
            raise InputError("", f"expected an object, got {line[:40]}", fix, location=f"{file}:{number}")
        yield figures


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
