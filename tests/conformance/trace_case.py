"""Pods scheduled one after another against :class:`schedframe.Simulation` (``trace`` in data/README.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import schedframe

from .corpus import Case
from .difference import as_json, differences
from .plan import Plan, plugins_met, waiting_for
from .scheduling_case import without_post_filter

Step = dict[str, Any]


def compare(case: Case) -> list[str]:
    """The differences at the first step that has any; the steps after it would differ for the same reason."""
    simulation = schedframe.Simulation(case["objects"], config=case["config"])
    return trace_differences(case, lambda pod: simulation.evaluate(pod).to_dict(), simulation.assume)


def plan(case: Case, undelivered: frozenset[str]) -> Plan:
    """A trace has no scores by plugin, so it waits for every plugin that its pods meet."""
    pods = [manifest for manifest in case["objects"] if manifest["kind"] == "Pod"]
    met = plugins_met([*pods, *case["pods"]], {manifest["kind"] for manifest in case["objects"]})
    decided = {status["plugin"] for step in case["steps"] for status in step["rejected"].values()}
    waits_for = undelivered & (met | decided)
    return waiting_for(waits_for) if waits_for else Plan()


def trace_differences(
    case: Case,
    evaluate: Callable[[dict[str, Any]], dict[str, Any]],
    assume: Callable[[dict[str, Any], str], object],
) -> list[str]:
    """Runs the pods of *case* through *evaluate* and *assume*."""
    for number, (pod, step) in enumerate(zip(case["pods"], case["steps"], strict=True)):
        actual = step_of(pod, as_json(evaluate(pod)))
        found = list(_step_differences(f"steps[{number}]", step, actual))
        if found:
            return found
        if actual["chosen"] is not None:
            assume(pod, actual["chosen"])
    return []


def step_of(pod: dict[str, Any], evaluation: dict[str, Any]) -> Step:
    """What a step records of *evaluation*; fields that are only there if set are left out if not."""
    best = evaluation["best"]
    step: Step = {
        "pod": f"{pod['metadata']['namespace']}/{pod['metadata']['name']}",
        "chosen": best[0] if best else None,
        "best": best,
        "total": evaluation["total"],
        "rejected": {n: status for n, status in evaluation["filter"].items() if status["code"] != "Success"},
    }
    prefilter = evaluation["prefilter"]
    if prefilter and (prefilter["code"] != "Success" or prefilter["node_names"] is not None):
        step["prefilter"] = prefilter
    if evaluation["error"] is not None:
        step["error"] = evaluation["error"]
    if evaluation["message"] is not None:
        step["message"] = without_post_filter(evaluation["message"])
    return step


def _step_differences(path: str, expected: Step, actual: Step) -> Iterator[str]:
    yield from differences(path, _comparable(expected), _comparable(actual))


def _comparable(step: Step) -> Step:
    """*step* with reasons as sets, and of an error only that there is one."""
    rejected = {
        node: {**status, "reasons": sorted(set(status["reasons"]))}
        for node, status in step["rejected"].items()
    }
    comparable = {**step, "rejected": rejected}
    if "error" in step:
        comparable["error"] = bool(step["error"])
    return comparable
