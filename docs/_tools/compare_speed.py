"""Compare the speed of two checkouts on the benchmark templates, in alternating runs.

``python docs/_tools/compare_speed.py BEFORE AFTER [--template NAME …] [--nodes N …] [--rounds N]``

BEFORE and AFTER are directories of checkouts. Each run is ``schedframe bench`` in a process of its own. The
two checkouts take turns, and the order changes with each round, so that both see the same load of the
machine. A ratio is time before / time after: more than 1 is faster. It is the median of the ratios of the
rounds, which a slow minute of the machine disturbs less than the ratio of the medians. The last line is their
geometric mean.

With ``--interleave`` the two runs of a round take turns of some milliseconds while they measure, which serves
on a busy machine. Look at the CPU time then: seconds on the clock include the turns of the other.

With ``--metrics`` AFTER counts for metrics and BEFORE does not: twice the same checkout gives their price.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, Final

from attrs import frozen
from taking_turns import Turns, run_in_turns

from schedframe.bench import TEMPLATES

OWN_FIGURES: Final = ("backlog", "fork", "gangs-waiting", "load", "queue")
"""Templates that schedule no pods."""
SCHEDULING: Final = tuple(name for name in TEMPLATES if name not in OWN_FIGURES)
NAME_WIDTH: Final = max(map(len, SCHEDULING))

Figures = Mapping[str, Any]


@frozen
class Checkout:
    """A source tree, and the interpreter that runs it."""

    directory: Path
    python: str
    more: Sequence[str] = ()
    """Further options for ``schedframe bench``."""

    def bench(self, options: Sequence[str]) -> Figures:
        """Run ``schedframe bench`` once; return its figures. Exits with the error text if it fails."""
        (figures,) = in_turns([self], options)
        return figures

    def start(self, options: Sequence[str]) -> Turns:
        """Start ``schedframe bench``, which stops where it begins to measure."""
        command = [self.python, "-m", "schedframe", "bench", "--json", *options, *self.more]
        return Turns(command, self.directory, {**os.environ, "PYTHONPATH": str(self.directory)})


def in_turns(checkouts: Sequence[Checkout], options: Sequence[str]) -> list[Figures]:
    """Run ``schedframe bench`` of all *checkouts*, which take turns; return their figures."""
    try:
        return [json.loads(text) for text in run_in_turns([each.start(options) for each in checkouts])]
    except RuntimeError as error:
        sys.exit(str(error))


@frozen
class Round:
    """Figures of one run of each checkout."""

    before: Figures
    after: Figures

    def ratio(self, figure: str) -> float:
        """Return *figure* before / after; 1.0 if one of them is 0."""
        before, after = float(self.before[figure]), float(self.after[figure])
        return before / after if before and after else 1.0


@frozen
class Comparison:
    """All rounds of one template at one number of nodes."""

    template: str
    rounds: Sequence[Round]

    def ratio(self, figure: str) -> float:
        """Return the median of the rounds' ratios."""
        return median(each.ratio(figure) for each in self.rounds)

    def line(self) -> str:
        """Return the row of the table."""
        first = self.rounds[0].before
        before, after = [each.before for each in self.rounds], [each.after for each in self.rounds]
        return (
            f"{self.template:<{NAME_WIDTH}} {first['nodes']:>9,}"
            f" {_microseconds(before, 'cpu_seconds'):>10.1f} {_microseconds(after, 'cpu_seconds'):>10.1f}"
            f" {self.ratio('cpu_seconds'):>6.3f}"
            f" {_microseconds(before, 'seconds'):>10.1f} {_microseconds(after, 'seconds'):>10.1f}"
            f" {self.ratio('seconds'):>6.3f}"
            f" {_peak(before):>8,.0f} {_peak(after):>8,.0f}"
        )


HEADING: Final = (
    f"{'':<{NAME_WIDTH}} {'':>9} {'CPU µs per pod':^28} {'wall µs per pod':^28} {'peak MiB':^17}\n"
    f"{'template':<{NAME_WIDTH}} {'nodes':>9} {'before':>10} {'after':>10} {'ratio':>6}"
    f" {'before':>10} {'after':>10} {'ratio':>6} {'before':>8} {'after':>8}"
)


def _microseconds(runs: Iterable[Figures], figure: str) -> float:
    return median(1e6 * float(run[figure]) / max(int(run["pods"]), 1) for run in runs)


def _peak(runs: Iterable[Figures]) -> float:
    return median(float(run["rss_mb"] or 0) for run in runs)


def compare(
    before: Checkout, after: Checkout, options: Sequence[str], rounds: int, *, interleave: bool
) -> list[Round]:
    """Run both checkouts *rounds* times, one after the other or, to *interleave*, in turns."""
    done = []
    for number in range(rounds):
        checkouts = [after, before] if number % 2 else [before, after]
        figures = in_turns(checkouts, options) if interleave else [each.bench(options) for each in checkouts]
        done.append(Round(*figures[:: -1 if number % 2 else 1]))
    return done


def default_templates(*, metrics: bool) -> list[str]:
    """Return the templates that schedule pods; with *metrics* those that can count for metrics."""
    return [name for name in SCHEDULING if not metrics or TEMPLATES[name].operations is not None]


def main(arguments: Sequence[str]) -> int:
    """Print a row for each template and number of nodes, then the geometric means."""
    given = parse(arguments)
    before = Checkout(given.before.resolve(), given.before_python)
    after = Checkout(given.after.resolve(), given.after_python, ["--metrics"] if given.metrics else ())
    sizes = [
        word
        for name in ("init", "pods", "seed")
        if (value := getattr(given, name)) is not None
        for word in (f"--{name}", str(value))
    ]
    print(HEADING, flush=True)
    comparisons = []
    for template in given.template or default_templates(metrics=given.metrics):
        for nodes in given.nodes:
            options = ["--template", template, "--nodes", str(nodes), *sizes]
            comparison = Comparison(
                template, compare(before, after, options, given.rounds, interleave=given.interleave)
            )
            comparisons.append(comparison)
            print(comparison.line(), flush=True)
    cpu, wall = (
        geometric_mean(each.ratio(name) for each in comparisons) for name in ("cpu_seconds", "seconds")
    )
    print(f"geometric mean of the ratios: CPU {cpu:.3f}, wall {wall:.3f}")
    return 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options; exits for unknown ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("before", type=Path, help="directory of the checkout to compare with")
    add("after", type=Path, help="directory of the changed checkout")
    add("--before-python", default=sys.executable, help="interpreter of BEFORE; default: this one")
    add("--after-python", default=sys.executable, help="interpreter of AFTER; default: this one")
    add("--template", nargs="+", choices=SCHEDULING, metavar="NAME", help="default: all")
    add("--nodes", type=int, nargs="+", default=[500, 5000], metavar="N", help="default: 500 5000")
    add("--rounds", type=int, default=5, metavar="N", help="runs of each checkout; default: 5")
    add("--init", type=int, metavar="N", help="running pods; default: as the template has it")
    add("--pods", type=int, metavar="N", help="pods to schedule; default: as the template has it")
    add("--seed", type=int, metavar="N", help="seed of the scheduler; default: 0")
    add("--interleave", action="store_true", help="the runs of a round take turns while they measure")
    add("--metrics", action="store_true", help="AFTER counts for metrics")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
