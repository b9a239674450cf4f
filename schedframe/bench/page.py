"""Put figures into docs/performance.md: its tables, and the plot beside it.

``python -m schedframe.bench.page FIGURES.json PAGE.md PLOT.svg``; FIGURES.json as :mod:`.suite` writes it. A
table stands between ``<!-- figures: NAME -->`` and ``<!-- end of figures -->``; all else on the page stays.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from ..errors import InputError
from . import peer
from .plot import draw, own_series, peer_series

Figures = Mapping[str, Any]
Row = Sequence[str]

_PART: Final = re.compile(
    r"(?P<head><!-- figures: (?P<name>[a-z-]+) -->\n).*?(?P<tail><!-- end of figures -->)", re.DOTALL
)
_OWN: Final = ("load", "queue")
"""Templates with figures of their own."""


def filled(page: str, figures: Sequence[Figures]) -> str:
    """*page* with its tables made anew. Raises :class:`InputError` for a table that nobody knows."""

    def fill(part: re.Match[str]) -> str:
        table = TABLES.get(part["name"])
        if table is None:
            raise InputError(
                "figures", f"there is no table {part['name']}", f"use one of {', '.join(TABLES)}"
            )
        return f"{part['head']}{table(figures)}\n{part['tail']}"

    return _PART.sub(fill, page)


def templates(figures: Sequence[Figures]) -> str:
    """Each template at each size, beside the peer."""
    rows = []
    for runs in _grouped(figures, ("template", "nodes")):
        name = runs[0].get("template")
        if name is None or name in _OWN:
            continue
        nodes: int = runs[0]["nodes"]
        unit = "attempts" if name == "unschedulable-attempts" else "pods"
        rate = _middle(runs, f"{unit}_per_s")
        sampling, every = (known.get(name, {}).get(nodes) for known in (peer.SAMPLING, peer.ALL_NODES))
        best = sampling or every
        times = f"{rate / peer.typical(best):.0f} ×" if best and rate else ""
        rows.append(
            (
                name,
                f"{nodes:,}",
                f"{rate:,.0f}",
                f"{_middle(runs, f'{unit}_per_cpu_s'):,.0f}",
                f"{_middle(runs, 'p50_us'):,.0f}",
                f"{_middle(runs, 'p99_us'):,.0f}",
                peer.shown(sampling),
                peer.shown(every),
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
    """Each workload of scheduler_perf, beside its threshold."""
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
    """Start-up and memory."""
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
    head = ("nodes", "seconds (CPU)", "bytes a node", "pods", "seconds (CPU)", "bytes a pod", "peak MiB")
    return _table(head, rows)


TABLES: Final[Mapping[str, Callable[[Sequence[Figures]], str]]] = {
    "templates": templates,
    "workloads": workloads,
    "loading": loading,
}


def read(file: Path) -> list[Figures]:
    """The lines of *file*."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def _grouped(figures: Sequence[Figures], by: tuple[str, ...]) -> list[list[Figures]]:
    found: dict[tuple[Any, ...], list[Figures]] = {}
    for run in figures:
        found.setdefault(tuple(run.get(key) for key in by), []).append(run)
    return list(found.values())


def _middle(runs: Sequence[Figures], name: str) -> float:
    return float(median(run[name] or 0 for run in runs))


def _table(head: Row, rows: Sequence[Row]) -> str:
    marks = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *rows))


def main(arguments: Sequence[str]) -> int:
    """Rewrite the page and the plot."""
    if len(arguments) != 3:
        sys.stderr.write("usage: python -m schedframe.bench.page FIGURES.json PAGE.md PLOT.svg\n")
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
