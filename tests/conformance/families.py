"""Which family of cases is compared by which module, and how a case is planned and compared."""

from __future__ import annotations

import importlib
from types import ModuleType

from .corpus import Case
from .plan import Plan, Planner, compare_whole
from .undelivered import UNDELIVERED

# A comparer is a module with ``compare(case) -> list[str]`` (no line: the case conforms) and, where plugins
# may be missing or cases are excluded, ``plan(case, undelivered) -> Plan``. None: not compared yet.
FAMILIES: dict[str, str | None] = {
    "resources": "scheduling_case",
    "taints": "scheduling_case",
    "node_affinity": "scheduling_case",
    "node_selector_name_unschedulable": "scheduling_case",
    "ports": "scheduling_case",
    "images": "scheduling_case",
    "topology_spread": "scheduling_case",
    "inter_pod_affinity": "scheduling_case",
    "volumes": "scheduling_case",
    "volumes_more": "scheduling_case",
    "preemption": "scheduling_case",
    "scheduling_gates_and_misc": "scheduling_case",
    "dra": "scheduling_case",
    "dra_more": "scheduling_case",
    "profiles": "scheduling_case",
    "mixed": "scheduling_case",
    "trace": "trace_case",
    "sampling": "sampling_case",
    "config": "config_case",
    "queue": "queue_case",
    "event_derivation": "event_derivation_case",
    "hints": "hints_case",
    "extenders": "extenders_case",
    "pod_groups": "pod_groups_case",
    "placements": "pod_groups_case",
    "admission": "admission_case",
    "controllers": "controllers_case",
}


def comparer(family: str) -> ModuleType | None:
    """The module that compares *family*."""
    name = FAMILIES[family]
    return importlib.import_module(f"{__package__}.{name}") if name else None


def plan(family: str, case: Case, undelivered: frozenset[str] = UNDELIVERED) -> Plan:
    """What is done with *case*."""
    module = comparer(family)
    if module is None:
        raise LookupError(f"family {family} has no comparer")
    planner: Planner = getattr(module, "plan", compare_whole)
    return planner(case, undelivered)


def compare(family: str, case: Case) -> list[str]:
    """The differences between *case* and what schedframe does, as far as the plan goes."""
    module = comparer(family)
    if module is None:
        raise LookupError(f"family {family} has no comparer")
    lines: list[str] = module.compare(case)
    return lines
