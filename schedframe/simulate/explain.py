"""Explanations by plugins: one line about a node, several about the pod.

Plugins are called while the cluster is as the search left it, inside the dry run.
"""

from __future__ import annotations

from attrs import field

from .._base.plugin_faults import fault_text, plugin_faults
from .._base.value import record
from ..api import Pod
from ..cycle import Decision
from ..framework import CycleState, Framework, Status
from ..framework.hook_calls import Call
from ..state import NodeInfo


@record(eq=False)
class PluginExplanations:
    """Explanations by plugins, beyond reasons and scores."""

    nodes: dict[str, str] = field(factory=dict)
    """Node → explanation of its rejection, where the plugin that rejects it gives one."""
    pod: dict[str, tuple[str, ...]] = field(factory=dict)
    """Plugin → lines about the pod and the cluster as a whole."""


def explain_decision(framework: Framework, decision: Decision) -> PluginExplanations:
    """Return the explanations of the plugins of *framework*; O(rejected nodes) calls."""
    explanations = PluginExplanations()
    plan, state, pod = framework.plan, decision.state, decision.pod
    verdicts = decision.verdicts
    if plan.explain and verdicts is not None:
        for position in verdicts.codes.nonzero()[0].tolist():
            status = verdicts.status_at(position)
            if _hook_of(framework, status) is not None:
                info = verdicts.rows.table.info(int(verdicts.rows.positions[position]))
                line = explain_rejection(framework, status, state, pod, info)
                if line:
                    explanations.nodes[info.name] = line
    for plugin, explain_pod in plan.explain_pod.items():
        try:
            lines = tuple(explain_pod(state, pod))
        except plugin_faults() as error:  # shown in place of its explanation
            lines = (_fault(error),)
        if lines:
            explanations.pod[plugin] = lines
    return explanations


def explain_rejection(
    framework: Framework, status: Status | None, state: CycleState, pod: Pod, info: NodeInfo
) -> str | None:
    """Return the explanation of the plugin behind *status* for that node, ``None`` if it has none."""
    hook = _hook_of(framework, status)
    return _explained(framework, hook, state, pod, info) if hook is not None else None


def _hook_of(framework: Framework, status: Status | None) -> Call | None:
    if status is None or not status.is_rejected:
        return None
    return framework.plan.explain.get(status.plugin)


def _explained(framework: Framework, hook: Call, state: CycleState, pod: Pod, info: NodeInfo) -> str | None:
    """Explain the node as it is, else as it will be with the pods that are nominated to it."""
    try:
        line: str | None = hook(state, pod, info)
        if line is None:
            trial = framework.nominated.trial(state, pod, info)
            if trial is not None and not isinstance(trial, Status):
                line = hook(*trial)
                line = f"{line} (counting nominated pods)" if line is not None else None
    except plugin_faults() as error:  # shown in place of its explanation
        return _fault(error)
    return line


def _fault(error: BaseException) -> str:
    return f"no explanation: {fault_text(error)}"
