"""Print one SHA-256 of all placements for each benchmark template: evidence that a change moved no pod.

``python docs/_tools/placement_hashes.py [--template NAME …] [--nodes N …] [--seed S] [--openb FOLDER]``

Nothing is measured. Run it once for each of two checkouts, with PYTHONPATH set to the one whose scheduler is
to run, and compare the lines with ``diff``. The script runs unchanged on checkouts from 6e8b6f5 on: of the
package it uses ``schedframe.bench.run``, ``TEMPLATES``, ``Options``, ``clock``, ``InMemoryCluster`` and
``Simulation``.

The clock stands still, except that waits are skipped. With the clock of the machine the order in which
backoffs end, and with it the placements of the template ``preemption``, would depend on the speed of the
machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from schedframe.bench import TEMPLATES, Options, clock, run
from schedframe.cluster import InMemoryCluster
from schedframe.simulate import Simulation

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
OPENB_LISTS: Final = ("default", "cpu200", "gpushare100", "gpuspec33", "multigpu50")
"""Pod lists of the openb trace that are scheduled, each on all nodes of the trace."""
FROZEN_NS: Final = 10**18
"""What the clock of the machine says, in nanoseconds."""


def main(arguments: Sequence[str]) -> int:
    """Print the lines that *arguments* select."""
    options = parse(arguments)
    for name in options.template or scheduling_templates():
        for nodes in options.nodes:
            size = Options(nodes=nodes, init=options.init, pods=options.pods, seed=options.seed)
            figures, clusters = run_frozen(name, size)
            shown = f"nodes={figures['nodes']} init={figures['init']} pods={figures['pods']}"
            report(f"{name} {shown} seed={options.seed}", clusters)
    if options.openb is not None:
        for pods in OPENB_LISTS:
            for gpu in ("whole", "shared"):
                report(f"openb pods={pods} gpu={gpu} seed={options.seed}", [openb(options, pods, gpu)])
    return 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options; exits for unknown ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--template", nargs="+", choices=scheduling_templates(), help="default: all that schedule pods")
    add("--nodes", type=int, nargs="+", default=[500, 5000], help="numbers of nodes; default: 500 5000")
    add("--init", type=int, help="running pods; default: as the template has it")
    add("--pods", type=int, help="pods to schedule; default: as the template has it")
    add("--seed", type=int, default=0, help="seed of the scheduler; default: 0")
    add("--openb", type=Path, metavar="FOLDER", help="CSV files of the openb trace, also to be scheduled")
    return parser.parse_args(arguments)


def scheduling_templates() -> list[str]:
    """Return the names of the templates that schedule pods."""
    return [name for name in TEMPLATES if name not in ("backlog", "fork", "gangs-waiting", "load", "queue")]


def report(title: str, clusters: Iterable[InMemoryCluster]) -> None:
    """Print one line: *title*, the number of pods with a node, and the hash."""
    pods = sorted((pod for cluster in clusters for pod in cluster.list("Pod")), key=lambda pod: str(pod.key))
    digest = sha256()
    for pod in pods:
        digest.update(
            json.dumps([pod.key, pod.spec.node_name, pod.status.nominated_node_name]).encode() + b"\n"
        )
    placed = sum(bool(pod.spec.node_name) for pod in pods)
    print(f"{title} placed={placed} {digest.hexdigest()}", flush=True)


def run_frozen(name: str, options: Options) -> tuple[dict[str, Any], list[InMemoryCluster]]:
    """Run the template *name* on a clock that stands still; return its figures and its cluster."""
    with frozen_clock(), recorded_clusters() as clusters:
        return run(name, options), clusters


@contextmanager
def frozen_clock() -> Iterator[None]:
    """Replace the functions from which the benchmark's clock reads the time."""
    module: Any = clock
    saved = module.time_ns, module.perf_counter_ns
    module.time_ns = module.perf_counter_ns = lambda: FROZEN_NS
    try:
        yield
    finally:
        module.time_ns, module.perf_counter_ns = saved


@contextmanager
def recorded_clusters() -> Iterator[list[InMemoryCluster]]:
    """Give a list to which every cluster that is made inside is appended."""
    cluster_class: Any = InMemoryCluster
    original, clusters = cluster_class.__init__, []  # type: Any, list[InMemoryCluster]

    def record(self: InMemoryCluster, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        clusters.append(self)

    cluster_class.__init__ = record
    try:
        yield clusters
    finally:
        cluster_class.__init__ = original


def openb(options: argparse.Namespace, pods: str, gpu: str) -> InMemoryCluster:
    """Schedule one pod list of the openb trace; return the cluster."""
    convert = load_example("02-openb-trace/convert.py")
    node_rows = convert.rows(options.openb, "node_list_all_node")
    pod_rows = convert.in_order(convert.rows(options.openb, f"pod_list_{pods}"))
    simulation = Simulation([convert.node_manifest(row, gpu) for row in node_rows], seed=options.seed)
    for row in pod_rows:
        simulation.add(convert.pod_manifest(row, gpu))
    simulation.schedule()
    return simulation.cluster


def load_example(path: str) -> ModuleType:
    """Import a script of the folder ``examples``."""
    spec = spec_from_file_location(Path(path).stem, EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
