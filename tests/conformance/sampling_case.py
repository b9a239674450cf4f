"""Nodes a cycle looks at, against :class:`schedframe.Simulation` (``Node sampling`` in data/README.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import schedframe

from .corpus import Case
from .difference import as_json, differences
from .plan import Plan, plugins_met, waiting_for
from .scheduling_case import without_post_filter

Step = dict[str, Any]

_FIELDS = ("order", "start", "next", "evaluated", "feasible", "best", "best_total")
_OPTIONAL_FIELDS = ("shortcut", "message", "error")


def compare(case: Case) -> list[str]:
    """The differences at the first step that has any; the steps after it would differ for the same reason."""
    simulation = schedframe.Simulation((), config=case["config"], score_all_nodes=False)
    simulation.add(*case["nodes"])

    def cycle(step: Step) -> Step:
        for change in step["changes"]:
            apply_change(simulation, change)
        report = simulation.cycle(step["pod"])
        if report.best:
            simulation.assume(step["pod"], report.best[0])
        return {field: getattr(report, field) for field in (*_FIELDS, *_OPTIONAL_FIELDS)}

    return sampling_differences(case, cycle)


def plan(case: Case, undelivered: frozenset[str]) -> Plan:
    """Totals have no scores by plugin, so a case waits for every plugin that its pods meet."""
    if case["batching"]:
        return Plan("excluded", ("results of a cycle are never used again as hints",))
    waits_for = undelivered & plugins_met(step["pod"] for step in case["steps"])
    return waiting_for(waits_for) if waits_for else Plan()


def apply_change(simulation: schedframe.Simulation, change: dict[str, Any]) -> None:
    """Does what happens to the cluster between two cycles."""
    match change["op"]:
        case "add_node" | "update_node":
            simulation.add(change["node"])
        case "remove_node":
            simulation.remove_node(change["name"])
        case "remove_pod":
            simulation.remove_pod(change["pod"])
        case other:
            raise ValueError(f"unknown change {other!r}")


def sampling_differences(case: Case, cycle: Callable[[Step], Step]) -> list[str]:
    """Runs the steps of *case* through *cycle*, which answers with all fields, None for those absent."""
    order: list[str] = []
    for number, (step, expect) in enumerate(zip(case["steps"], case["expect"], strict=True)):
        actual = as_json(cycle(step))
        # "order" is given when it changes; an empty cluster has no list to tell.
        order = actual["order"] if "error" in expect else expect.get("order", order)
        expected = {field: expect.get(field) for field in (*_FIELDS, *_OPTIONAL_FIELDS)} | {"order": order}
        actual = {**actual, "message": without_post_filter(actual["message"])}
        if expect.get("feasible_any_order"):
            actual["feasible"] = sorted(actual["feasible"])
        found = list(differences(f"steps[{number}]", expected, actual))
        if found:
            return found
    return []
