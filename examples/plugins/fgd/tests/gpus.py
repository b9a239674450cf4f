"""Nodes and pods with GPUs, and a simulation with the plugin."""

from __future__ import annotations

from typing import Any

from schedframe_fgd import FGD
from schedframe_fgd.compare import installed
from schedframe_fgd.trace import RESOURCE

from schedframe import Pod, Simulation

TASKS: list[dict[str, Any]] = [
    {"cpuMilli": 1000, "gpuMilli": 500, "weight": 5},
    {"cpuMilli": 2000, "gpuMilli": 1000, "weight": 3},
    {"cpuMilli": 8000, "gpuMilli": 2000, "models": ["G2"], "weight": 1},
]


def node(name: str, gpus: int = 2, cpu: int = 16, model: str = "T4") -> dict[str, Any]:
    room = {"cpu": str(cpu), "memory": "64Gi", "pods": "110", RESOURCE: str(1000 * gpus)}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"alibabacloud.com/gpu-card-model": model}},
        "status": {"allocatable": room},
    }


def pod(name: str, gpu: int = 0, cpu: int = 1, **metadata: Any) -> dict[str, Any]:
    requests = {"cpu": str(cpu)} | ({RESOURCE: str(gpu)} if gpu else {})
    containers = [{"name": "c", "resources": {"requests": requests}}]
    return {"kind": "Pod", "metadata": {"name": name, **metadata}, "spec": {"containers": containers}}


def configuration(**args: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {"enabled": [{"name": "FGD"}]},
                    "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "FGD"}]},
                },
                "pluginConfig": [{"name": "FGD", "args": {"tasks": TASKS} | args}],
            }
        ],
    }


def simulation(*objects: Any, **args: Any) -> Simulation:
    plugins = {} if "FGD" in installed() else {"FGD": FGD}
    return Simulation(objects, configuration(**args), plugins=plugins)


def plugin_of(world: Simulation) -> FGD:
    (framework,) = world.scheduler.core.frameworks.values()
    found = framework.plan.plugins["FGD"]
    assert isinstance(found, FGD)
    return found


def devices(world: Simulation, name: str) -> str | None:
    """Return the annotation of a placed pod."""
    return stored(world, name).metadata.annotations.get("fgd.schedframe.example/devices")


def stored(world: Simulation, name: str) -> Pod:
    """Return the pod from the cluster."""
    found = world.cluster.get("Pod", f"default/{name}")
    assert isinstance(found, Pod)
    return found
