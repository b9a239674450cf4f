"""Worlds of equal nodes whose classes have a slot of the score matrix."""

from __future__ import annotations

from typing import Any

from schedframe.cycle.equivalence.equivalence_class import EquivalenceClass
from schedframe.cycle.equivalence.index.score_matrix import MatrixSlot

from ..build import World, make_node, make_pod
from .comparison import renamed
from .up_to_date import assert_up_to_date

SIZES = ("100m", "200m", "300m")


def world_of(nodes: int, **plugins: Any) -> World:
    """Equal nodes."""
    world = World(plugins)
    for i in range(nodes):
        world.cluster.create(make_node(f"n{i}"))
    return world


def schedule(world: World, pods: int, *sizes: str, name: str = "p") -> list[str]:
    """Schedule *pods* pods of the *sizes* in turn; the node of each."""
    templates = [make_pod(f"t{i}", cpu=size) for i, size in enumerate(sizes)]
    for i in range(pods):
        world.cluster.create(renamed(templates[i % len(sizes)], f"{name}{i}"))
    world.scheduler.run_until_idle()
    return [world.find("Pod", f"default/{name}{i}").spec.node_name for i in range(pods)]


def classes_of(world: World) -> list[EquivalenceClass]:
    fast = world.scheduler.core.search.fast
    assert fast is not None
    return fast.cache.classes()


def attached_of(world: World) -> list[bool]:
    for found in classes_of(world):
        assert_up_to_date(found)
    return [isinstance(each.index, MatrixSlot) and each.index.attached for each in classes_of(world)]
