"""Plugins of other projects by name. They are written in Go: a configuration may name them, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from .._base.value import record
from .catalogue import POINTS, Catalogue, CatalogueEntry
from .model import KubeSchedulerConfiguration, Plugins

_PROJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes-sigs/scheduler-plugins": (
        "CapacityScheduling",
        "Coscheduling",
        "CrossNodePreemption",
        "DiskIO",
        "LoadVariationRiskBalancing",
        "LowRiskOverCommitment",
        "NetworkOverhead",
        "NodeMetadata",
        "NodeResourceTopologyMatch",
        "NodeResourcesAllocatable",
        "Peaks",
        "PodState",
        "PreemptionToleration",
        "QOSSort",
        "SySched",
        "TargetLoadPacking",
        "TopologicalSort",
    ),
    "koordinator-sh/koordinator": (
        "BatchResourceFit",
        "CompatibleDefaultPreemption",
        "DefaultPreBind",
        "DeviceShare",
        "ElasticQuota",
        "LoadAwareScheduling",
        "MultiQuotaTree",
        "NodeNUMAResource",
        "NodeResourcesFitPlus",
        "Reservation",
        "ScarceResourceAvoidance",
        "SchedulingHint",
    ),
    "kubewharf/katalyst-core": (
        "NodeOvercommitment",
        "QoSAwareNodeResourcesBalancedAllocation",
        "QoSAwareNodeResourcesFit",
    ),
    "gocrane/crane-scheduler": ("Dynamic",),
    "alibaba/open-simulator": ("Open-Gpu-Share", "Simon"),
    "alibaba/open-local": ("Open-Local",),
    "AliyunContainerService/gpushare-scheduler-extender": ("GPUShare", "GPUSharing"),
    "volcano-sh/volcano": ("Binpack", "Binpacking", "Gang"),
    "flux-framework/flux-k8s": ("Fluence",),
    "kubernetes-sigs/kube-scheduler-simulator": ("NodeNumber",),
    "NJUPT-ISL/Yoda-Scheduler": ("Yoda",),
}
"""Project → names of its plugins; names of projects are those of their repositories."""


@cache
def _by_name() -> Mapping[str, str]:
    return {_folded(name): project for project, names in _PROJECTS.items() for name in names}


def _folded(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def project_of(name: str) -> str:
    """Return the project that has a plugin *name*, whatever its case and dashes; empty if none is known."""
    return _by_name().get(_folded(name), "")


@record(frozen=True)
class Elsewhere:
    """A plugin of another project that a configuration enables."""

    name: str
    project: str

    def __str__(self) -> str:
        return f"{self.name} is a plugin of {self.project}"


def enabled_elsewhere(config: KubeSchedulerConfiguration, catalogue: Catalogue) -> list[Elsewhere]:
    """Return the plugins that *config* enables and that only other projects have, by name."""
    names = {
        plugin.name
        for profile in config.profiles
        for point in (*POINTS, "multiPoint")
        for plugin in (profile.plugins or Plugins()).at(point).enabled
        if catalogue.get(plugin.name) is None and catalogue.removed(plugin.name) is None
    }
    return [Elsewhere(name, project) for name in sorted(names) if (project := project_of(name))]


def stand_ins(config: KubeSchedulerConfiguration, found: Iterable[Elsewhere]) -> list[CatalogueEntry]:
    """Return entries for plugins of other projects, at the points whose own lists enable them.

    Of a plugin in multiPoint alone the points are not known, so that it has none.
    """
    return [
        CatalogueEntry(
            each.name,
            tuple(
                point
                for point in POINTS
                if any(
                    plugin.name == each.name
                    for profile in config.profiles
                    for plugin in (profile.plugins or Plugins()).at(point).enabled
                )
            ),
        )
        for each in found
    ]
