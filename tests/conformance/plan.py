"""What is done with a case: compared whole, compared in part, or not yet.

The rules for plugins that are not delivered (:mod:`tests.conformance.undelivered`):

* entries of such a plugin in ``prefilter.skip_filter_plugins``, ``prescore.skip_score_plugins`` and
  ``scores`` are dropped from the expectation; if it contributed scores, ``total`` and ``best`` are added up
  again from the others;
* the PostFilter part (``post_filter``, and what follows ``". "`` in ``message``) is left out while preemption
  is missing, or a filter that is not skipped for the pod and so takes part in preemption's dry run, or while
  all of it comes from a missing plugin. If only DynamicResources is missing, its reason and name are;
* a case in which such a plugin decides a verdict, or ends the cycle with an error, waits for it. So does one
  in a form without scores by plugin (``trace``, ``sampling``) whose pods use what the plugin is about.

Everything else is compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from attrs import frozen

from .corpus import Case

State = Literal["compared", "waiting", "excluded"]
Planner = Callable[[Case, frozenset[str]], "Plan"]


@frozen
class Plan:
    """The verdict on one case: ``state``, and why.

    ``reasons`` are the parts left out of a compared case, the plugins a waiting case waits for, or why an
    excluded case is excluded by design.
    """

    state: State = "compared"
    reasons: tuple[str, ...] = ()


def waiting_for(plugins: Iterable[str]) -> Plan:
    """The plan of a case that cannot be compared before *plugins* are there."""
    return Plan("waiting", tuple(sorted(plugins)))


def compare_whole(case: Case, undelivered: frozenset[str]) -> Plan:
    """The plan of forms that no missing plugin has a part in."""
    return Plan()


# A pod of any kind meets these; what the others decide shows only in pods that use their subject.
_MET_BY_EVERY_POD = frozenset(
    {
        "ImageLocality",
        "NodeAffinity",
        "NodeDeclaredFeatures",
        "NodeName",
        "NodePorts",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "NodeUnschedulable",
        "TaintToleration",
    }
)
_VOLUME_PLUGINS = frozenset({"NodeVolumeLimits", "VolumeBinding", "VolumeRestrictions", "VolumeZone"})
MET_BY_SOME_PODS = _VOLUME_PLUGINS | {"DynamicResources", "InterPodAffinity", "PodTopologySpread"}
_SPREAD_BY_DEFAULT = frozenset({"ReplicaSet", "ReplicationController", "Service", "StatefulSet"})


def plugins_met(pods: Iterable[Mapping[str, Any]], kinds: Iterable[str] = ()) -> frozenset[str]:
    """The default Filter and Score plugins that may tell *pods* apart from pods of another make.

    *kinds* are the kinds of the other objects: pods with a service or controller are spread by default.
    """
    met = set(_MET_BY_EVERY_POD)
    if _SPREAD_BY_DEFAULT & set(kinds):
        met.add("PodTopologySpread")
    for pod in pods:
        spec = pod["spec"]
        affinity = spec.get("affinity") or {}
        if affinity.get("podAffinity") or affinity.get("podAntiAffinity"):
            met.add("InterPodAffinity")
        if spec.get("topologySpreadConstraints"):
            met.add("PodTopologySpread")
        if spec.get("volumes"):
            met |= _VOLUME_PLUGINS
        if spec.get("resourceClaims"):
            met.add("DynamicResources")
    return frozenset(met)


def plugins_named(text: str | None, plugins: Iterable[str]) -> frozenset[str]:
    """Those of *plugins* whose names occur in *text* as words."""
    words = set(re.findall(r"\w+", text or ""))
    return frozenset(words.intersection(plugins))
