"""Write the tables and the plot of docs/performance.md from figures.

``python docs/_tools/performance_page.py FIGURES.json PAGE.md PLOT.svg``; take_figures.py writes FIGURES.json.
A table is replaced between ``<!-- figures: NAME -->`` and ``<!-- end of figures -->``; the rest of the page
is not changed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from peer_figures import ALL_NODES, SAMPLING, shown, typical
from performance_plot import draw, own_series, peer_series

from schedframe.errors import InputError

Figures = Mapping[str, Any]
Row = Sequence[str]

_PART: Final = re.compile(
    r"(?P<head><!-- figures: (?P<name>[a-z-]+) -->\n).*?(?P<tail><!-- end of figures -->)", re.DOTALL
)
_OWN: Final = ("backlog", "load", "queue")
"""Templates whose figures are not those of the scheduler."""


def filled(page: str, figures: Sequence[Figures]) -> str:
    """Return *page* with its tables replaced. Raises :class:`InputError` for an unknown table."""

    def fill(part: re.Match[str]) -> str:
        table = TABLES.get(part["name"])
        if table is None:
            raise InputError(
                "figures", f"there is no table {part['name']}", f"use one of {', '.join(TABLES)}"
            )
        return f"{part['head']}{table(figures)}\n{part['tail']}"

    return _PART.sub(fill, page)


def templates(figures: Sequence[Figures]) -> str:
    """Return the table of templates: one row per size, with the rates of kube-scheduler."""
    rows = []
    for runs in _grouped(figures, ("template", "nodes")):
        name = runs[0].get("template")
        if name is None or name in _OWN:
            continue
        nodes: int = runs[0]["nodes"]
        unit = "attempts" if name == "unschedulable-attempts" else "pods"
        rate = _middle(runs, f"{unit}_per_s")
        sampling, every = (rates.get(name, {}).get(nodes) for rates in (SAMPLING, ALL_NODES))
        best = sampling or every
        times = f"{rate / typical(best):.0f} ×" if best and rate else ""
        rows.append(
            (
                name,
                f"{nodes:,}",
                f"{rate:,.0f}",
                f"{_middle(runs, f'{unit}_per_cpu_s'):,.0f}",
                f"{_middle(runs, 'p50_us'):,.0f}",
                f"{_middle(runs, 'p99_us'):,.0f}",
                shown(sampling),
                shown(every),
                times,
            )
        )
    head = (
        "template",
        "nodes",
        "pods/s",
        "per CPU second",
        "p50 µs",
        "p99 µs",
        "peer, sampling",
        "peer, all nodes",
        "ratio",
    )
    return _table(head, rows)


def workloads(figures: Sequence[Figures]) -> str:
    """Return the table of scheduler_perf's workloads with their thresholds."""
    rows = []
    for runs in _grouped(figures, ("workload",)):
        name, first = runs[0].get("workload"), runs[0]
        if name is None:
            continue
        rate, threshold = _middle(runs, "pods_per_s"), first["threshold"]
        ratio = f"{rate / threshold:.0f} ×" if threshold else ""
        done = f"{first['scheduled']:,} of {first['pods']:,}"
        problem = first.get("not_delivered") or first.get("stalled") or first.get("fault") or ""
        rows.append(
            (
                name.replace("_", "\\_"),
                f"{first['nodes']:,}",
                problem or done,
                f"{rate:,.0f}",
                f"{_middle(runs, 'pods_per_cpu_s'):,.0f}",
                f"{threshold:,.0f}" if threshold else "",
                ratio,
            )
        )
    return _table(("workload", "nodes", "placed", "pods/s", "per CPU second", "threshold", "ratio"), rows)


def loading(figures: Sequence[Figures]) -> str:
    """Return the table of start-up times and memory."""
    rows = [
        (
            f"{runs[0]['nodes']:,}",
            f"{_middle(runs, 'nodes_seconds'):.1f} ({_middle(runs, 'nodes_cpu_seconds'):.1f})",
            f"{_middle(runs, 'bytes_per_node'):,.0f}",
            f"{runs[0]['init']:,}",
            f"{_middle(runs, 'pods_seconds'):.1f} ({_middle(runs, 'pods_cpu_seconds'):.1f})",
            f"{_middle(runs, 'bytes_per_pod'):,.0f}",
            f"{_middle(runs, 'rss_mb'):,.0f}",
        )
        for runs in _grouped(figures, ("template", "nodes", "init"))
        if runs[0].get("template") == "load"
    ]
    head = ("nodes", "seconds (CPU)", "bytes per node", "pods", "seconds (CPU)", "bytes per pod", "peak MiB")
    return _table(head, rows)


TABLES: Final[Mapping[str, Callable[[Sequence[Figures]], str]]] = {
    "templates": templates,
    "workloads": workloads,
    "loading": loading,
}


def read(file: Path) -> list[Figures]:
    """Return the figures in *file*, one run per line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def _grouped(figures: Sequence[Figures], by: tuple[str, ...]) -> list[list[Figures]]:
    groups: dict[tuple[Any, ...], list[Figures]] = {}
    for run in figures:
        groups.setdefault(tuple(run.get(key) for key in by), []).append(run)
    return list(groups.values())


def _middle(runs: Sequence[Figures], name: str) -> float:
    return float(median(run[name] or 0 for run in runs))


def _table(head: Row, rows: Sequence[Row]) -> str:
    marks = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *rows))


def main(arguments: Sequence[str]) -> int:
    """Write the page and the plot; return the exit code."""
    if len(arguments) != 3:
        sys.stderr.write("usage: python docs/_tools/performance_page.py FIGURES.json PAGE.md PLOT.svg\n")
        return 2
    source, page, plot = map(Path, arguments)
    figures = read(source)
    page.write_text(filled(page.read_text(encoding="utf-8"), figures), encoding="utf-8")
    plot.write_text(
        draw({"schedframe, all nodes scored": own_series(figures), **peer_series()}), encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
