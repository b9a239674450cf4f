"""Take all figures of docs/performance.md: every benchmark in a process of its own, one after the other.

``python -m schedframe.bench.suite FIGURES.json [--runs N] [--perf FOLDER ...]`` appends lines as ``schedframe
bench --json`` prints them; FOLDER is one of scheduler_perf with a ``performance-config.yaml``.
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
class Item:
    """A template at one size; ``None`` is the template's own."""

    template: str
    nodes: int | None = None
    init: int | None = None
    pods: int | None = None

    def options(self) -> list[str]:
        """As on the command line."""
        sizes = (("--nodes", self.nodes), ("--init", self.init), ("--pods", self.pods))
        given = [text for name, size in sizes if size is not None for text in (name, str(size))]
        return ["--template", self.template, *given]


SUITE: Final = (
    *(Item("basic", nodes, 1000, 10_000) for nodes in (500, 5000, 50_000, 1_000_000)),
    *(Item(name) for name in ("mixed-sizes", "distinct-classes", "taints", "node-affinity")),
    *(
        Item(name, nodes)
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
    *(Item(name) for name in ("unschedulable-attempts", "unschedulable-backlog", "preemption", "node-churn")),
    Item("custom-plugin"),
    Item("load", 1_000_000, 1_000_000),
    Item("queue"),
)


def commands(folders: Sequence[Path]) -> Iterator[list[str]]:
    """The options of each call of ``schedframe bench``."""
    for item in SUITE:
        yield item.options()
    for folder in folders:
        yield ["--workload", str(folder / WORKLOADS), "--label", LABEL]


def main(arguments: Sequence[str]) -> int:
    """Append the figures; the number of benchmarks that failed, which are told and left out."""
    parser = argparse.ArgumentParser(prog="python -m schedframe.bench.suite", description=__doc__)
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
