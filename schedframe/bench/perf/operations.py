"""The operations of scheduler_perf by opcode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..operations import Operation, StartClaimController, StartPodTracker
from .creating_operations import create_any, create_namespaces, create_nodes, create_pod_sets, create_pods
from .definitions import Fields, Workload
from .devices import alloc_resource_claims, create_resource_claims, create_resource_driver
from .step import FileOperation, Step, StepFunction, TemplateFiles
from .timed_operations import churn, delete_pods, update_any
from .waiting_operations import barrier, sleep, start_collecting, stop_collecting

FUNCTIONS: Final[Mapping[str, StepFunction]] = {
    "createNodes": create_nodes,
    "createNamespaces": create_namespaces,
    "createPods": create_pods,
    "createPodSets": create_pod_sets,
    "createAny": create_any,
    "updateAny": update_any,
    "deletePods": delete_pods,
    "churn": churn,
    "barrier": barrier,
    "sleep": sleep,
    "startCollectingMetrics": start_collecting,
    "stopCollectingMetrics": stop_collecting,
    "createResourceDriver": create_resource_driver,
    "createResourceClaims": create_resource_claims,
    "allocResourceClaims": alloc_resource_claims,
}


def operations_of(workload: Workload, plugins: frozenset[str]) -> list[Operation]:
    """Return the operations of *workload*, where *plugins* are installed."""
    templates = TemplateFiles(workload)
    steps = (
        Step(Fields(data, workload.params, f"workloadTemplate[{number}]"), number, templates, plugins)
        for number, data in enumerate(workload.template)
    )
    started: list[Operation] = [StartClaimController(), StartPodTracker()]
    return started + [FileOperation(step, FUNCTIONS) for step in steps]
