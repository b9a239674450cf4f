"""Hypothesis strategies for pods, nodes, whole clusters, workloads, and what happens to them.

Needs the extra ``testing``. Values are API objects (:class:`schedframe.Pod`, …). The vocabulary is small, so
that pods and nodes meet; give a plugin's own labels, annotations and resources where it looks at such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from ..api import (
    Namespace,
    Node,
    ObjectMeta,
    Pod,
)
from .worlds import vocabulary
from .worlds.changing import NewObjects, event_sequences
from .worlds.naming import node_renamed, placed, renamed
from .worlds.object_strategies import labels, nodes, pods
from .worlds.vocabulary import Words
from .worlds.world import World

Strategy = st.SearchStrategy

__all__ = [
    "NewObjects",
    "Words",
    "clusters",
    "event_sequences",
    "labels",
    "namespace",
    "nodes",
    "pods",
    "workloads",
    "worlds",
]

MAX_NODES: Final = 4
MAX_RUNNING: Final = 5


def _lists(elements: Strategy[Any], least: int, most: int) -> Strategy[list[Any]]:
    """Lists of all lengths alike: those that Hypothesis ends by itself are short."""
    lengths = st.sampled_from(range(least, most + 1))
    return lengths.flatmap(lambda length: st.lists(elements, min_size=length, max_size=length))


# ---- several of them ---------------------------------------------------------------------------------------


@st.composite
def workloads(
    draw: st.DrawFn, pods: Strategy[Pod] | None = None, *, min_size: int = 1, max_size: int = 4
) -> tuple[Pod, ...]:
    """Draw pods that wait, each under a name of its own; some have the requests of the one before."""
    drawn = draw(_lists(pods if pods is not None else _PODS, min_size, max_size))
    alike = [draw(st.sampled_from((False, False, True))) for _ in drawn]
    made: list[Pod] = []
    for i, (pod, same) in enumerate(zip(drawn, alike, strict=True)):
        made.append(renamed(made[-1] if same and made else pod, f"pod-{i}"))
    return tuple(made)


@st.composite
def clusters(
    draw: st.DrawFn,
    nodes: Strategy[Node] | None = None,
    pods: Strategy[Pod] | None = None,
    *,
    max_nodes: int = MAX_NODES,
    max_running: int = MAX_RUNNING,
) -> tuple[tuple[Node, ...], tuple[Pod, ...]]:
    """Draw nodes (``n0``, ``n1``, …, unless the strategy names them) and pods that run on them."""
    drawn = draw(_lists(nodes if nodes is not None else _NODES, 1, max_nodes))
    found = tuple(_distinct(drawn, named=nodes is not None))
    running = draw(_lists(pods if pods is not None else _PODS, 0, max_running))
    places = [draw(st.integers(0, len(found) - 1)) for _ in running]
    return found, tuple(
        placed(pod, f"running-{i}", found[place].name)
        for i, (pod, place) in enumerate(zip(running, places, strict=True))
    )


@st.composite
def worlds(
    draw: st.DrawFn,
    *,
    pods: Strategy[Pod] | None = None,
    nodes: Strategy[Node] | None = None,
    objects: Strategy[Sequence[Any]] | None = None,
    max_changes: int = 4,
) -> World:
    """Draw all that a plugin is checked in: a cluster, waiting pods, other objects, and events."""
    found, running = draw(clusters(nodes, pods))
    waiting = draw(workloads(pods, min_size=2, max_size=3))
    others = tuple(draw(objects if objects is not None else _OBJECTS))
    known = objects if objects is not None else _OBJECTS
    new = NewObjects(nodes, pods, known)
    changes = draw(event_sequences(found, running, waiting, others, new=new, max_size=max_changes))
    choices = tuple(draw(st.lists(st.integers(0, 11), min_size=6, max_size=6)))
    return World(found, running, waiting, others, changes, choices)


_PODS: Final = pods("pod")
_NODES: Final = nodes("node")


def namespace(name: str, labels: dict[str, str]) -> Namespace:
    """Draw a namespace with labels."""
    return Namespace(ObjectMeta(name=name, uid=name, labels=labels))


_OBJECTS: Final = st.tuples(
    *(
        st.builds(namespace, st.just(name), labels({"team": ("red", "blue")}))
        for name in vocabulary.NAMESPACES
    )
)


def _distinct(drawn: Sequence[Node], *, named: bool) -> list[Node]:
    """Each node under a name of its own; its own one if the strategy gave one that is free."""
    taken: set[str] = set()
    found = []
    for i, node in enumerate(drawn):
        name = node.name if named and node.name and node.name not in taken else f"n{i}"
        while name in taken:
            name += "x"
        taken.add(name)
        found.append(node if name == node.name else node_renamed(node, name))
    return found
