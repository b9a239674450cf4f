"""Check that made-up clusters have something in them that a plugin looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..worlds.world import World
from .probe import Probe, Trouble
from .subject import Subject
from .violation import FILTERS, SCORES


class PluginNotExercised(UserWarning):
    """A plugin passed its checks without ever having made a difference."""


class PluginNotCached(UserWarning):
    """The equivalence cache cannot keep the answers of a plugin, which costs time at every pod."""


def idle(subject: Subject, worlds: Iterable[World]) -> Iterator[str]:
    """Return what the plugin never did in *worlds*: reject a node, or give two nodes different scores."""
    filters = not subject.hooks.isdisjoint((*FILTERS, "pre_filter", "pre_enqueue"))
    scores = not subject.hooks.isdisjoint(SCORES)
    for world in worlds:
        if not (filters or scores):
            return
        rejected, told_apart = _differences(subject, world)
        filters, scores = filters and not rejected, scores and not told_apart
    if filters:
        yield "rejected no pod on any node"
    if scores:
        yield "gave all nodes the same score"


def _differences(subject: Subject, world: World) -> tuple[bool, bool]:
    rejected, seen = False, set[Any]()
    for pod in world.pods:
        try:
            gate, (before, names), verdicts, scores = Probe(subject, world).answers(pod)
        except Trouble:  # where a check was left out that would have reported it
            return True, True
        statuses = (gate, before, *(verdicts or {}).values())
        rejected = rejected or names is not None or any(status.is_rejected for status in statuses)
        seen.update((scores or {}).values())
    return rejected, len(seen) > 1
