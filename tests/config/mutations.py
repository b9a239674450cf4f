"""Mutations of documents: wrong types of values, keys and nesting in random places."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

ODD_VALUES: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 2**70, 1.5, math.nan, math.inf, "", "x", "\ud800", b"x", [], {}, [None], [[]],
    {"a": {}}, {"name": []}, {1: 2}, (), {1}, object, datetime(2026, 1, 1, tzinfo=UTC), ...,
)  # fmt: skip
"""Values of every JSON type, beside values that only a document made in Python can hold."""

ODD_KEYS: Final[tuple[Any, ...]] = (None, 0, 1.5, True, "", "x", "enabled.", "[0]", b"name", (), ("a", 1))

FULL_DOCUMENT: Final[dict[str, Any]] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 4,
    "leaderElection": {"leaderElect": True, "leaseDuration": "20s"},
    "clientConnection": {"qps": 10.5, "burst": 20},
    "percentageOfNodesToScore": 50,
    "podInitialBackoffSeconds": 2,
    "profiles": [
        {
            "schedulerName": "a",
            "percentageOfNodesToScore": 10,
            "plugins": {
                "score": {
                    "disabled": [{"name": "*"}],
                    "enabled": [{"name": "NodeResourcesFit", "weight": 3}],
                },
                "multiPoint": {"disabled": [{"name": "ImageLocality"}]},
            },
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "ignoredResources": ["example.com/a"],
                        "scoringStrategy": {
                            "type": "RequestedToCapacityRatio",
                            "resources": [{"name": "cpu", "weight": 2}],
                            "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 1}]},
                        },
                    },
                },
                {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 5}},
                {
                    "name": "PodTopologySpread",
                    "args": {
                        "defaultingType": "List",
                        "defaultConstraints": [
                            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
                        ],
                    },
                },
                {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 60}},
                {"name": "DynamicResources", "args": {"filterTimeout": "5s"}},
                {
                    "name": "NodeAffinity",
                    "args": {
                        "addedAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}
                                ]
                            }
                        }
                    },
                },
            ],
        },
        {"schedulerName": "b"},
    ],
    "extenders": [
        {
            "urlPrefix": "http://127.0.0.1",
            "filterVerb": "filter",
            "httpTimeout": "5s",
            "tlsConfig": {"serverName": "s"},
            "managedResources": [{"name": "example.com/b"}],
        }
    ],
}
"""A configuration that sets something in every part of the document."""


def mutated(document: dict[str, Any], random: Random) -> dict[str, Any]:
    """Return a copy of *document* with one to three changes; the top level stays a mapping."""
    result = copy.deepcopy(document)
    for _ in range(random.randint(1, 3)):
        places = _places(result)
        if not places:
            break
        parent, key = random.choice(places)
        random.choice(_CHANGES)(parent, key, random)
    return result


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place that holds a value, as (container, key or index)."""
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    else:
        return []
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


def _replace(parent: Any, key: Any, random: Random) -> None:
    parent[key] = copy.deepcopy(random.choice(ODD_VALUES))


def _rename(parent: Any, key: Any, random: Random) -> None:
    if isinstance(parent, dict):
        parent[random.choice(ODD_KEYS)] = parent.pop(key)


def _add(parent: Any, key: Any, random: Random) -> None:
    value = copy.deepcopy(random.choice(ODD_VALUES))
    if isinstance(parent, dict):
        parent[random.choice(ODD_KEYS)] = value
    else:
        parent.insert(key, value)


def _wrap(parent: Any, key: Any, random: Random) -> None:
    parent[key] = random.choice(([parent[key]], {"name": parent[key]}, {0: parent[key]}))


_CHANGES: Final[tuple[Callable[[Any, Any, Random], None], ...]] = (_replace, _rename, _add, _wrap)
