"""What asks nothing of forks pays nothing for them."""

from __future__ import annotations

import subprocess
import sys

from schedframe import InMemoryCluster, Scheduler
from schedframe.testing import node, pod

PROGRAM = """
import sys
from schedframe import InMemoryCluster, Scheduler
from schedframe.testing.builders import node, pod
cluster = InMemoryCluster([node("n"), pod("p")])
with Scheduler(cluster) as scheduler:
    assert scheduler.run_until_idle() == 1
print([name for name in sys.modules if name.startswith("schedframe.fork")])
"""


def test_a_scheduler_imports_nothing_of_forks() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_scheduler_without_forks_logs_nothing_to_undo() -> None:
    cluster = InMemoryCluster([node("n"), *(pod(f"p{i}") for i in range(5))])
    with Scheduler(cluster) as scheduler:
        scheduler.run_until_idle()
        cluster.delete("Node", "n")
        scheduler.sync()
        undo = scheduler.core.undo
        assert (undo.marks, undo.entries, undo._saved) == ([], [], {})
        assert type(scheduler.core.pending) is dict
        assert {type(objects) for objects in cluster._objects.values()} == {dict}
