"""What plugins have to say about their verdicts; asked while the cluster is as the search found it."""

from __future__ import annotations

from attrs import define, field

from ..api import Pod
from ..cycle import Decision
from ..framework import CycleState, Framework, Status
from ..framework.plan import Call
from ..state import NodeInfo


@define(eq=False)
class Explanations:
    """Accounts by plugins, beyond reasons and scores."""

    nodes: dict[str, str] = field(factory=dict)
    """Node → what is behind its rejection, where the plugin that rejects it says so."""
    pod: dict[str, tuple[str, ...]] = field(factory=dict)
    """Plugin → lines about the pod and the cluster as a whole."""


def explain(framework: Framework, decision: Decision) -> Explanations:
    """Ask the plugins of *framework* about *decision*; O(rejected nodes) calls."""
    found = Explanations()
    plan, state, pod = framework.plan, decision.state, decision.pod
    verdicts = decision.verdicts
    if plan.explain and verdicts is not None:
        for position in verdicts.codes.nonzero()[0].tolist():
            status = verdicts.status_at(position)
            if _account_of(framework, status) is not None:
                info = verdicts.rows.table.info(int(verdicts.rows.positions[position]))
                line = account(framework, status, state, pod, info)
                if line:
                    found.nodes[info.name] = line
    for plugin, tell in plan.explain_pod.items():
        try:
            lines = tuple(tell(state, pod))
        except Exception as error:  # noqa: BLE001 - a fault of the plugin, shown in place of its account
            lines = (_fault(error),)
        if lines:
            found.pod[plugin] = lines
    return found


def account(
    framework: Framework, status: Status | None, state: CycleState, pod: Pod, info: NodeInfo
) -> str | None:
    """What the plugin behind *status* says of its rejection of that node, if it has anything to say."""
    call = _account_of(framework, status)
    return _of_node(framework, call, state, pod, info) if call is not None else None


def _account_of(framework: Framework, status: Status | None) -> Call | None:
    if status is None or not status.is_rejected:
        return None
    return framework.plan.explain.get(status.plugin)


def _of_node(framework: Framework, call: Call, state: CycleState, pod: Pod, info: NodeInfo) -> str | None:
    """Of the node as it is, else as it will be when the pods nominated to it have come."""
    try:
        line: str | None = call(state, pod, info)
        if line is None:
            trial = framework.nominated.trial(state, pod, info)
            if trial is not None and not isinstance(trial, Status):
                line = call(*trial)
                line = f"{line} (counting nominated pods)" if line is not None else None
    except Exception as error:  # noqa: BLE001 - a fault of the plugin, shown in place of its account
        return _fault(error)
    return line


def _fault(error: Exception) -> str:
    return f"no explanation: {type(error).__name__}: {error}"
