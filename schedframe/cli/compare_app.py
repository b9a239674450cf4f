"""The command ``compare``: two runs, or folders of runs with paired seeds, and gates; two configurations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from .._base.tables import Tabular
from ..compare import Comparison, GateResults, check_gates
from ..compare import compare as compared
from ..errors import InputError
from ..runs import SavedRun, read_run
from . import exits
from .offline.capacity_options import CompareOptions
from .option_class import takes
from .output.answers import answer_lines
from .output.terminal import columns, emit

app = typer.Typer(rich_markup_mode=None, add_completion=False)

CODES = """Exit codes: 0 done, 1 a gate failed, 2 bad input or usage, 70 a fault of schedframe itself,
130 interrupted."""
GATE_FAILED = 1
_SUMMARY = "summary.json"


@app.command(epilog=CODES)
@takes(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compare two runs of a trace pod by pod and in their measures; fail a pipeline by conditions.

    With --config twice, compare what two configurations make of the pending pods of manifests: which are
    placed otherwise and by which plugin's score, nodes in use, and what is left over.
    """
    with exits.reporting():
        options.check()
        if options.config is not None:
            from .offline.comparing import run_comparison

            emit(*run_comparison(options))
            return
        base, other = map(Path, options.words or ())
        pairs = _pairs(base, other)
        comparisons = {name: compared(*pair) for name, pair in pairs.items()}
        gates = check_gates(options.fail_if or [], pairs.values())
        document = _document(comparisons, gates)
        emit(*answer_lines(document, options.output, lambda: _text(comparisons, gates, options.pods)))
        if gates.failed:
            raise typer.Exit(GATE_FAILED)


def _text(comparisons: dict[str, Comparison], gates: GateResults, most: int) -> Iterator[str]:
    for name, comparison in comparisons.items():
        yield from _lines(name, comparison, most)
    if gates:
        yield from _table(gates)


def _pairs(base: Path, other: Path) -> dict[str, tuple[SavedRun, SavedRun]]:
    """Return the pairs of runs by name; the name of a single pair is empty."""
    left, right = _folders(base), _folders(other)
    alone = sorted(left.keys() ^ right.keys())
    if alone:
        where = base if alone[0] in left else other
        problem = f"only {where} has {alone[0] or 'a run itself'}"
        raise InputError("compare", problem, "give two runs, or two folders with runs of equal names")
    return {name: (read_run(left[name]), read_run(right[name])) for name in left}


def _folders(folder: Path) -> dict[str, Path]:
    if (folder / _SUMMARY).exists() or not folder.is_dir():
        return {"": folder}
    found = {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{_SUMMARY}"))}
    return found or {"": folder}


def _lines(name: str, comparison: Comparison, most: int) -> list[str]:
    count = len(comparison.pods)
    verdict = "equal runs" if comparison.is_equal else f"{count:,} of {count + comparison.same:,} pods differ"
    lines = [f"{name}: {verdict}" if name else verdict]
    for side, only in (("A", comparison.only_a), ("B", comparison.only_b)):
        lines += [f"{only:,} pods are in {side} only"] if only else []
    if not comparison.is_equal:
        lines += _table(comparison)
        lines += _table(comparison.pods.taken(slice(0, most))) if most and count else []
        lines += [f"… and {count - most:,} more pods"] if most and count > most else []
    return lines


def _table(value: Tabular) -> list[str]:
    head, rows, _ = value._shown()
    return columns(rows, [each.upper() for each in head])


def _document(comparisons: dict[str, Comparison], gates: GateResults) -> dict[str, object]:
    """Return the answer for programs; measures are infinite as the text ``inf``."""
    return {
        "apiVersion": "schedframe/v1",
        "kind": "RunComparison",
        "runs": [
            {
                "name": name,
                "equal": each.is_equal,
                "same": each.same,
                "different": len(each.pods),
                "onlyA": each.only_a,
                "onlyB": each.only_b,
                "measures": _dicts(each),
            }
            for name, each in comparisons.items()
        ],
        "gates": _dicts(gates),
        "failed": gates.failed,
    }


def _dicts(value: Tabular) -> list[dict[str, object]]:
    table = value._table()
    return [
        {
            name: str(cell) if isinstance(cell, float) and abs(cell) == float("inf") else cell
            for name, cell in zip(table.columns, row, strict=True)
        }
        for row in table.rows
    ]
