"""The rest stands without each optional layer: pods get the same nodes, and nothing of it is loaded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import InMemoryCluster, Scheduler, Simulation, VirtualClock
from schedframe.cycle import Meter, Tuning, Watchdog, observing
from schedframe.framework import BaseExtender
from schedframe.testing import node, pod
from schedframe.tracing import Tracing
from tests.profiles import few
from tests.tracing.world import tracer_of


def ignored(*_: object) -> None:
    """Nothing."""


LAYERS: dict[str, Callable[[], dict[str, Any]]] = {
    "equivalence cache": lambda: {"tuning": Tuning(remember=0)},
    "waiting together": lambda: {"tuning": Tuning(wait_together=False)},
    "verify": lambda: {"tuning": Tuning(verify=1.0)},
    "pod groups": lambda: {"feature_gates": {"GenericWorkload": True}},
    "extenders": lambda: {"extenders": [BaseExtender("idle", frozenset())]},
    "metering": lambda: {"observers": [Meter()]},
    "tracing": lambda: {"observers": [Tracing(tracer_of()[1])]},
    "watchdog": lambda: {"observers": [Watchdog(60)]},
    "observers": lambda: {"observers": [observing(decided=ignored, plugin_called=ignored)]},
    "debug": lambda: {"debug": True},
}
"""Layer → options in which it is the other way round than by default."""
PODS = st.lists(
    st.tuples(st.sampled_from(["500m", "2", "9"]), st.sampled_from([0, 0, 10]), st.booleans()), max_size=12
)


@pytest.mark.parametrize("layer", LAYERS)
@few
@given(pods=PODS)
def test_pods_get_the_same_nodes_with_and_without(layer: str, pods: list[tuple[str, int, bool]]) -> None:
    assert placements(pods, LAYERS[layer]()) == placements(pods, {})


def placements(pods: list[tuple[str, int, bool]], options: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return name, node and condition of each pod, some of which come when a node does."""
    clock = VirtualClock()
    cluster = InMemoryCluster([node(f"n{i}").allocatable(cpu="4", pods=6) for i in range(3)], clock=clock)
    with Scheduler(cluster, clock=clock, seed=5, **options) as scheduler:
        for is_late in (False, True):
            for number, (cpu, priority, late) in enumerate(pods):
                if late is is_late:
                    cluster.create(pod(f"p{number}").requests(cpu=cpu).priority(priority))
            scheduler.run_until_idle()
            if not is_late:
                cluster.create(node("m").allocatable(cpu="10", pods=6))
        clock.advance(60)
        scheduler.run_until_idle()
    return [
        (each.name, each.spec.node_name, "".join(condition.message for condition in each.status.conditions))
        for each in cluster.list("Pod")
    ]


def test_a_scheduler_loads_and_makes_nothing_of_layers_that_are_off() -> None:
    code = (
        "import sys\n"
        "from schedframe import InMemoryCluster, Scheduler, VirtualClock\n"
        "from schedframe.testing import node, pod\n"
        "clock = VirtualClock()\n"
        "pods = [pod('p').build(), pod('q').requests(cpu='9').build()]\n"
        "cluster = InMemoryCluster([node('n').build(), *pods], clock=clock)\n"
        "with Scheduler(cluster, clock=clock) as scheduler:\n"
        "    scheduler.run_until_idle()\n"
        "    core = scheduler.core\n"
        "    assert type(core.search).__name__ == 'Search' and type(core.queue).__name__ == 'PriorityQueue'\n"
        "    assert scheduler.groups is None and core.extenders == ()\n"
        "    assert not core.observers.follow_attempts and core.observers.queue_counts is None\n"
        "layers = ('cycle.metering', 'cycle.pod_groups', 'extenders', 'tracing', 'metrics', 'controllers')\n"
        "others = ('simulate', 'why', 'fork', 'serve')\n"
        "names = [f'schedframe.{name}' for name in (*layers, *others)]\n"
        "names = (*names, 'opentelemetry', 'prometheus')\n"
        "loaded = [name for name in sys.modules if name.startswith(names)]\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_objects_are_scheduled_as_they_are_without_admission_and_controllers() -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "99"}}}
    limited = {"kind": "Pod", "metadata": {"name": "limited"}, "spec": {"containers": [container]}}
    with Simulation([node("n"), pod("p")]) as played, Simulation([node("n")], without="all") as plain:
        assert [each.node_name for each in played.schedule()] == ["n"]
        played.add(limited)
        plain.add(limited)
        assert [each.node_name for each in played.schedule()] == [None], "its limit counts as its request"
        assert [each.node_name for each in plain.schedule()] == ["n"]
