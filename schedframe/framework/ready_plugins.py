"""A profile for plugins that are made already: each at all its extension points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .._base.value import record
from ..config import EffectiveProfile, EnabledPlugin
from ..queue import QueuedPodInfo, by_priority
from .markers import hookimpl
from .points import points_of

_SORTER: Final = "by priority"


@record(eq=False)
class _ByPriority:
    """Sorts the queue, which a profile needs."""

    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> tuple[int, float]:
        return by_priority(pod_info)


def profile_of(
    plugins: Mapping[str, Any], weights: Mapping[str, int], profile_name: str
) -> tuple[dict[str, Any], EffectiveProfile]:
    """Return *plugins*, with one that sorts the queue, and the profile that enables them in this order."""
    ready = dict(plugins)
    points: dict[str, tuple[EnabledPlugin, ...]] = {}
    for name, plugin in plugins.items():
        for point in points_of(plugin):
            weight = weights.get(name, 1) if point == "score" else 0
            points[point] = (*points.get(point, ()), EnabledPlugin(name, weight))
    if "queueSort" not in points:
        ready[_SORTER] = _ByPriority()
        points["queueSort"] = (EnabledPlugin(_SORTER, 0),)
    return ready, EffectiveProfile(profile_name, None, points, {}, tuple(sorted(ready)))
