"""Mistakes in calls of a simulation are errors that say what to do, and no silent success."""

from __future__ import annotations

import pytest

from schedframe import Simulation
from schedframe.errors import InputError
from schedframe.testing import node, pod


def test_a_pod_is_not_assumed_on_a_node_that_is_not_there() -> None:
    with Simulation([node("worker-1")]) as simulation:
        with pytest.raises(InputError, match=r'there is no node "worker-l"; did you mean worker-1\?'):
            simulation.assume(pod("p"), "worker-l")
        with pytest.raises(InputError, match="add the node first"):
            simulation.assume(pod("p"), "nowhere")
        simulation.assume(pod("p"), "worker-1")
        assert simulation.scheduler.core.cache.table.pod_count[0] == 1
