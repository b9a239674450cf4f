"""The commands of ``schedframe bench``, without their options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..bench import (
    TEMPLATES,
    Options,
    as_line,
    as_text,
    compare,
    compare_text,
    load_workloads,
    run,
    run_workload,
    select,
)
from .output.terminal import complain, emit, note


def list_of_templates() -> list[str]:
    """Return one line per template."""
    width = max(map(len, TEMPLATES))
    return [f"{name:<{width}}  {each.summary}" for name, each in TEMPLATES.items()]


def list_of_workloads(file: Path, name: str | None, label: str | None) -> list[str]:
    """Return one line per workload of a scheduler_perf file, with its labels. Raises InputError."""
    found = select(load_workloads(file), name, label)
    width = max(len(each.full_name) for each in found)
    return [f"{each.full_name:<{width}}  {' '.join(sorted(each.labels))}".rstrip() for each in found]


def run_workloads(file: Path, name: str | None, label: str | None, options: Options, only_json: bool) -> None:
    """Run workloads of a scheduler_perf file, one after the other. Raises InputError."""
    for workload in select(load_workloads(file), name, label):
        say = _progress(only_json)
        say(workload.full_name)
        _show(run_workload(workload, options, say), only_json)


def compare_runs(before: Path, after: Path, *, as_json: bool) -> str:
    """Return the comparison of two files of figures. Raises InputError."""
    rows = compare(before, after)
    return "\n".join(map(as_line, rows)) if as_json else compare_text(rows)


def run_template(template: str, options: Options, only_json: bool) -> None:
    """Run one template. Raises InputError."""
    _show(run(template, options, _progress(only_json)), only_json)


def _progress(quiet: bool) -> Callable[[str], None]:
    return (lambda what: None) if quiet or not sys.stderr.isatty() else note


def _show(figures: Mapping[str, Any], only_json: bool) -> None:
    if not only_json:
        complain(*as_text(figures).split("\n"))
    emit(as_line(figures))
