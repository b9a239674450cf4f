"""Worlds whose events are held back until a test lets them through."""

from __future__ import annotations

from typing import Any

from schedframe.cluster import FlakyCluster, FlakyWatch
from schedframe.state import compare

from .build import World


def flaky_world(**options: Any) -> tuple[World, FlakyWatch]:
    """A world whose events are held back, and its watch."""
    world = World(around=FlakyCluster, **options)
    world.scheduler.start()
    flaky = world.scheduler.core.cluster
    assert isinstance(flaky, FlakyCluster)
    return world, flaky.watches[0]


def assert_agrees(world: World) -> None:
    """The scheduler believes what is the case."""
    pods = world.cluster.list("Pod")
    core = world.scheduler.core
    assert not compare(core.cache, world.cluster.list("Node"), pods)
    assert not [state.pod.key for state in core.cache.pods() if state.assumed]
    assert core.pending == {pod.key: pod for pod in pods if not pod.spec.node_name}
