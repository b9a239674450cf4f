"""Draw the cost of a pod against the number of nodes, as an SVG.

``python docs/_tools/performance_plot.py FIGURES.json > plot.svg``; the file has lines of ``schedframe bench
--template basic --json`` for several numbers of nodes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from math import log10
from pathlib import Path
from statistics import median
from typing import Any, Final

from attrs import frozen
from peer_figures import ALL_NODES, SAMPLING, typical

Points = Sequence[tuple[float, float]]

TEMPLATE: Final = "basic"
"""The template whose figures are drawn."""

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 20, 50
COLOURS: Final = ("#0b6e4f", "#c8553d", "#7a7a7a")
DASHES: Final = ("", "", "6 4")


@frozen
class Scale:
    """A logarithmic axis: maps values to pixels."""

    first: int
    """Exponent of ten at the start of the axis."""
    last: int
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of *value*."""
        share = (log10(value) - self.first) / (self.last - self.first)
        return round(self.start + share * (self.end - self.start), 1)


def peer_series() -> dict[str, Points]:
    """Return the points of kube-scheduler: number of nodes and microseconds per pod."""
    known = {"kube-scheduler, sampling": SAMPLING, "kube-scheduler, all nodes scored": ALL_NODES}
    return {
        name: [(nodes, 1e6 / typical(rates)) for nodes, rates in sorted(by_template[TEMPLATE].items())]
        for name, by_template in known.items()
    }


def own_series(figures: Iterable[Mapping[str, Any]]) -> Points:
    """Return number of nodes and microseconds of CPU time per pod: the median of runs of the same size."""
    rates: dict[int, list[float]] = {}
    for run in figures:
        if run.get("template") == TEMPLATE and run["pods_per_cpu_s"]:
            rates.setdefault(run["nodes"], []).append(run["pods_per_cpu_s"])
    return [(nodes, 1e6 / median(same)) for nodes, same in sorted(rates.items())]


def draw(series: Mapping[str, Points]) -> str:
    """Return an SVG of all series; both axes are logarithmic."""
    points = [point for line in series.values() for point in line]
    x = _scale([point[0] for point in points], LEFT, WIDTH - RIGHT)
    y = _scale([point[1] for point in points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *_grid(x, y),
    ]
    for number, (name, line) in enumerate(series.items()):
        parts += _line(name, line, number, x, y)
    return "\n".join([*parts, "</svg>", ""])


def _scale(values: Sequence[float], start: float, end: float) -> Scale:
    first, last = int(log10(min(values)) // 1), int(-(-log10(max(values)) // 1))
    return Scale(first, max(last, first + 1), start, end)


def _grid(x: Scale, y: Scale) -> list[str]:
    parts = []
    for exponent in range(x.first, x.last + 1):
        at = x.at(10**exponent)
        parts.append(f'<path d="M{at} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{at}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{10**exponent:,}</text>'
        )
    for exponent in range(y.first, y.last + 1):
        at = y.at(10**exponent)
        parts.append(f'<path d="M{LEFT} {at}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4}" text-anchor="end">{10**exponent:,}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">nodes</text>')
    parts.append(
        f'<text transform="translate(16 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">µs per pod</text>'
    )
    return parts


def _line(name: str, line: Points, number: int, x: Scale, y: Scale) -> list[str]:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
    places = [(x.at(nodes), y.at(cost)) for nodes, cost in line]
    path = "M" + "L".join(f"{left} {top}" for left, top in places)
    parts = [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>']
    parts += [f'<circle cx="{left}" cy="{top}" r="3" fill="{colour}"/>' for left, top in places]
    top = TOP + 16 + 16 * number
    parts.append(f'<text x="{LEFT + 8}" y="{top}" fill="{colour}">{name}</text>')
    return parts


def main(arguments: Sequence[str]) -> str:
    """Return the SVG for the file that the only argument names."""
    if len(arguments) != 1:
        return "usage: python docs/_tools/performance_plot.py FIGURES.json > plot.svg\n"
    lines = Path(arguments[0]).read_text(encoding="utf-8").splitlines()
    figures = [json.loads(line) for line in lines if line.strip()]
    return draw({"schedframe, all nodes scored": own_series(figures), **peer_series()})


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1:]))
