"""Schedule a cluster from manifests and say where each pending pod went, or why it did not."""

import sys
from pathlib import Path

from schedframe import Simulation, load_manifests

simulation = Simulation(obj for _, obj in load_manifests(Path(sys.argv[1])))
for placement in simulation.schedule():
    print(placement.pod.key, "->", placement.node_name or placement.message)
