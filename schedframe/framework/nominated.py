"""Filters for nodes that other pods are nominated to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import field

from .._base.plugin_faults import fault_text, plugin_faults
from .._base.value import record
from ..api import Pod
from ..state import NodeInfo, Rows
from .cycle_state import CycleState
from .filtering import run_filters, run_pod_hook
from .handle import Handle
from .plan import Plan
from .status import Code, Status
from .verdicts import Verdicts


@record(eq=False)
class NominatedFilter:
    """Filters that also hold when the pods nominated to a node have taken their room there.

    A node must pass both ways: with these pods, because they will come, and without, because they may not.
    """

    plan: Plan
    handle: Handle
    _none: tuple[Pod, ...] = field(default=(), init=False)

    def pods_for(self, pod: Pod, node_name: str) -> Iterable[Pod]:
        """Return the pods nominated to that node with a priority equal to that of *pod* or higher."""
        nominated = self.handle.nominator.nominated_pods_for_node(node_name)
        if not nominated:
            return self._none
        return [other for other in nominated if other.priority >= pod.priority and other.uid != pod.uid]

    def run(self, state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
        """Return the first rejection of either way; ``None`` if the node passes both."""
        handle = self.handle
        table = handle.table
        # Dry runs of preemption come here for each victim, mostly on nodes without nominations.
        if handle.nominator.nominated_pods_for_node(info.name):
            trial = self.trial(state, pod, info)
            if isinstance(trial, Status):
                return trial
            if trial is not None:
                status = run_filters(self.plan, *trial, table)
                if status is not None:
                    return status
        return run_filters(self.plan, state, pod, info, table)

    def in_order(self, state: CycleState, pod: Pod, rows: Rows, wanted: int) -> tuple[Verdicts, int]:
        """Call the filters for one row after another until *wanted* pass and one more, or one has an error.

        Returns the verdicts of *rows*, and how many of these rows count as looked at: up to the one more.
        """
        table = self.handle.table
        verdicts = Verdicts.passing_all(rows)
        found = end = 0
        for position, row in enumerate(rows.positions.tolist()):
            status = self.run(state, pod, table.info(row))
            if status is not None:
                verdicts.reject(position, status)
            elif found == wanted:
                break
            else:
                found += 1
            end = position + 1
            if status is not None and not status.is_rejected:
                break
        return verdicts, end

    def trial(
        self, state: CycleState, pod: Pod, info: NodeInfo
    ) -> tuple[CycleState, Pod, NodeInfo] | Status | None:
        """Copies that have the nominated pods on the node, ``None`` if there are none; an error."""
        others = self.pods_for(pod, info.name)
        if not others:
            return None
        try:
            trial_state, trial_info = state.clone(), info.clone()
        except plugin_faults() as error:  # of clone() of a value that a plugin wrote
            return Status(Code.ERROR, (f"cloning the cycle state: {fault_text(error)}",), error=error)
        for other in others:
            trial_info.add_pod(other)
            status = run_pod_hook(self.plan, trial_state, pod, other, trial_info, "add_pod")
            if status is not None:
                return status
        return trial_state, pod, trial_info

    def nodes_for(self, pod: Pod) -> list[str]:
        """Return the nodes with nominated pods for which *pod* must leave room."""
        nominator = self.handle.nominator
        if not nominator.nominations:
            return []
        return [name for name in nominator.node_names if self.pods_for(pod, name)]

    def overlay(self, state: CycleState, pod: Pod, verdicts: Verdicts, names: Iterable[str]) -> None:
        """Evaluate again, node by node, the nodes of *names*; O(those nodes × filters)."""
        table = self.handle.table
        position_of = _positions(verdicts.rows)
        for name in names:
            row = table.live_row(name)
            position = position_of(row) if row is not None else None
            if row is None or position is None:
                continue
            status = self.run(state, pod, table.info(row))
            if status is None:
                verdicts.accept(position)
            else:
                verdicts.reject(position, status)


def _positions(rows: Rows) -> Callable[[int], int | None]:
    """Return a function from a row to its position among *rows*; O(1) where they follow each other."""
    index = rows.index
    if not isinstance(index, slice):
        return {row: i for i, row in enumerate(index.tolist())}.get
    start, stop = index.start, index.stop
    return lambda row: row - start if start <= row < stop else None
