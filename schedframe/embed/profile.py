"""The default configuration of an embedding: the builtin plugins that apply to tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from ..errors import InputError
from .amounts import resource_name

Strategy = Literal["spread", "pack"]
"""Prefer workers with the most free room, or with the least."""

_SCORING: Final[Mapping[Strategy, str]] = {"spread": "LeastAllocated", "pack": "MostAllocated"}
_PLUGINS: Final[tuple[tuple[str, int | None], ...]] = (
    ("PrioritySort", None),
    ("NodeUnschedulable", None),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DefaultBinder", None),
)
"""In the order, and with the weights, of the default profile."""
_PREEMPTION: Final = ("DefaultPreemption", None)
GROUP_GATES: Final[Mapping[str, bool]] = dict.fromkeys(
    ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling"), True
)
"""Feature gates of an embedding whose tasks may come in groups."""
_GROUPS: Final[tuple[tuple[str, int | None], ...]] = (
    ("GangScheduling", None),
    ("TopologyPlacementGenerator", None),
    ("PodGroupPodsCount", 1),
)


def configuration(
    resources: Iterable[str] | Mapping[str, int] = ("cpu", "memory"),
    *,
    strategy: Strategy = "spread",
    preemption: bool = False,
    groups: bool = False,
    plugins: Iterable[str] = (),
    name: str = "default-scheduler",
) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration for tasks, to be passed on or extended.

    ``resources``: whose free room decides between workers, with weights if it is a mapping.
    ``strategy``: see :data:`Strategy`. ``preemption``: whether tasks may evict tasks of lower priority.
    ``groups``: whether tasks may be submitted in groups.
    ``plugins``: names of further plugins, enabled at all their points with weight 1, after the others.
    ``name``: of the profile. For several profiles, join the ``profiles`` of several of these. Raises
    :class:`InputError` for an unknown strategy.
    """
    weights = resources if isinstance(resources, Mapping) else dict.fromkeys(resources, 1)
    scored = [{"name": resource_name(name), "weight": weight} for name, weight in weights.items()]
    optional = [*([_PREEMPTION] if preemption else []), *(_GROUPS if groups else ())]
    enabled = [*_PLUGINS, *optional, *((plugin, 1) for plugin in plugins)]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": name,
                "plugins": {
                    "multiPoint": {
                        "enabled": [
                            {"name": plugin} if weight is None else {"name": plugin, "weight": weight}
                            for plugin, weight in enabled
                        ],
                        "disabled": [{"name": "*"}],
                    }
                },
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {"scoringStrategy": {"type": _scoring_type(strategy), "resources": scored}},
                    },
                    {"name": "PodTopologySpread", "args": {"defaultingType": "List"}},
                ],
            }
        ],
    }


def _scoring_type(strategy: Strategy) -> str:
    if not isinstance(strategy, str) or strategy not in _SCORING:
        known = " or ".join(map(repr, _SCORING))
        raise InputError("strategy", f"{strategy!r} is not a strategy", f"give {known}")
    return _SCORING[strategy]
