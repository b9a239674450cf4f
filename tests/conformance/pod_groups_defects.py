"""Cases of ``pod_groups`` and ``placements`` that show what v1.36 does and this scheduler does not, by name.

The hot loop of v1.36 excludes no case: a step that pops a rejected group again while it backs off asks for
that attempt (see ``Run._cycle`` in :mod:`tests.conformance.pod_groups_case`).
"""

from __future__ import annotations

from typing import Any, Final

from .corpus import Case
from .plan import Plan

EVICTS_FOR_NOTHING: Final = (
    "v1.36 evicts for members of a group that cannot run even then; here that is decided first"
)

EXCLUDED: Final = {
    "preemption-230": EVICTS_FOR_NOTHING,
    "preemption-243": EVICTS_FOR_NOTHING,
    "preemption-244": EVICTS_FOR_NOTHING,
    "no_preemption-175": EVICTS_FOR_NOTHING,
}
"""Name → reason."""


def plan(case: Case, undelivered: frozenset[str]) -> Plan:
    """Return whether the case is compared; other data of the same form is compared by what it shows."""
    reason = EXCLUDED.get(case["name"])
    if reason is None and evicts_for_nothing(case):
        reason = EVICTS_FOR_NOTHING
    return Plan() if reason is None else Plan("excluded", (reason,))


def evicts_for_nothing(case: Case) -> bool:
    """Whether a member waits for its victims to go although its group cannot run without them either.

    The group is not waiting for preemption, and no preemption for groups as a whole is enabled.
    """
    if "WorkloadAwarePreemption" in case["gates"] or isinstance(case["expect"], dict):
        return False
    groups = {
        f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}": _group_of(pod)
        for step in case["steps"]
        for pod in step.get("objects", ())
        if pod["kind"] == "Pod"
    }
    return any(
        shown.get("gating_plugin") == "DefaultPreemption"
        and shown.get("unschedulable_plugins") == ["DefaultPreemption"]
        and _is_hopeless(state.get("pod_groups", {}).get(groups.get(key, ""), ()))
        for state in case["expect"]
        for key, shown in state.get("pods", {}).items()
    )


def _group_of(pod: Any) -> str:
    name = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName", "")
    return f"{pod['metadata'].get('namespace', 'default')}/{name}"


def _is_hopeless(conditions: Any) -> bool:
    return any(
        each["status"] == "False" and "waiting for preemption" not in each["message"] for each in conditions
    )
