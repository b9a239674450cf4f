"""Would filling one node after another shorten the queue? One trace under two profiles.

The picture is written to the folder that is given, or to that of temporary files.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir

from schedframe import Profile, Simulation, load_manifests
from schedframe.compare import compare
from schedframe.runs import Run
from schedframe.traces import Trace, read_trace

HERE = Path(__file__).parent
SHOWN = ("wait_mean", "wait_p90", "slowdown_mean", "utilisation[cpu]", "stranded[cpu]", "jain_share")


def play(trace: Trace, strategy: str) -> Run:
    """Run the trace with a strategy of NodeResourcesFit."""
    nodes = [node for _, node in load_manifests(HERE / "nodes.yaml")]
    args = {"scoringStrategy": {"type": strategy, "resources": [{"name": "cpu", "weight": 1}]}}
    profile = Profile().args("NodeResourcesFit", args)
    with Simulation(nodes, profile) as simulation:
        return simulation.run(trace)


def main() -> None:
    trace = read_trace(HERE / "jobs.yaml")
    spread, packed = play(trace, "LeastAllocated"), play(trace, "MostAllocated")
    comparison = compare(spread, packed)
    print(f"{len(comparison.pods)} of {len(trace)} jobs run elsewhere or at another time")
    for name in SHOWN:
        print(f"{name:18} {comparison.base[name]:9.3f} spread {comparison.other[name]:9.3f} packed")
    if find_spec("matplotlib") is None:
        print("for a picture: pip install 'schedframe[plot]'")
    else:
        file = Path(sys.argv[1] if len(sys.argv) > 1 else gettempdir(), "packed.png")
        packed.plot().savefig(file)
        print(f"picture: {file}")


if __name__ == "__main__":
    main()
