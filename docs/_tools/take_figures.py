"""Measure all figures of docs/performance.md, each benchmark in a process of its own.

``python docs/_tools/take_figures.py FIGURES.json [--runs N] [--perf FOLDER …]`` appends the lines of
``schedframe bench --json``; FOLDER is a folder of scheduler_perf with a ``performance-config.yaml``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

WORKLOADS: Final = "performance-config.yaml"
LABEL: Final = "performance"
CALL: Final = ("-m", "schedframe", "bench")


@frozen
class Benchmark:
    """A template at one size; ``None`` is the default of the template."""

    template: str
    nodes: int | None = None
    init: int | None = None
    pods: int | None = None

    def options(self) -> list[str]:
        """Return the options of ``schedframe bench``."""
        sizes = (("--nodes", self.nodes), ("--init", self.init), ("--pods", self.pods))
        given = [text for name, size in sizes if size is not None for text in (name, str(size))]
        return ["--template", self.template, *given]


SUITE: Final = (
    *(Benchmark("basic", nodes, 1000, 10_000) for nodes in (500, 5000, 50_000, 1_000_000)),
    *(Benchmark(name) for name in ("mixed-sizes", "distinct-classes", "taints", "node-affinity")),
    *(
        Benchmark(name, nodes)
        for name in (
            "spread-preferred",
            "spread-required",
            "anti-affinity",
            "anti-affinity-preferred",
            "pod-affinity",
            "pod-affinity-preferred",
        )
        for nodes in (5000, 50_000)
    ),
    *(
        Benchmark(name)
        for name in ("unschedulable-attempts", "unschedulable-backlog", "preemption", "node-churn")
    ),
    Benchmark("custom-plugin"),
    Benchmark("load", 1_000_000, 1_000_000),
    Benchmark("queue"),
)


def commands(folders: Sequence[Path]) -> Iterator[list[str]]:
    """Yield the arguments of each call of ``schedframe bench``."""
    for benchmark in SUITE:
        yield benchmark.options()
    for folder in folders:
        yield ["scheduler-perf", str(folder / WORKLOADS), "--label", LABEL]


def main(arguments: Sequence[str]) -> int:
    """Append the figures; return how many runs failed. The errors of those go to stderr."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("figures", type=Path)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--perf", type=Path, nargs="*", default=[])
    given = parser.parse_args(arguments)
    failed = 0
    for options in commands(given.perf):
        for _ in range(given.runs):
            command = [sys.executable, *CALL, *options, "--json"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            print(" ".join(options), done.returncode, file=sys.stderr)
            with given.figures.open("a", encoding="utf-8") as figures:
                figures.write(done.stdout)
            if not done.stdout:
                failed += 1
                sys.stderr.write(done.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
