"""Dry run of a preemption on one node: the smallest set of victims."""

from __future__ import annotations

from collections.abc import Sequence

from ...api import Pod
from ...state import NodeInfo
from ..cycle_state import CycleState
from ..handle import PluginsRunner
from ..status import Status
from .budgets import Budget, split_by_budgets
from .candidates import Candidate, importance

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")


def select_victims(
    runner: PluginsRunner,
    state: CycleState,
    pod: Pod,
    info: NodeInfo,
    budgets: Sequence[Budget],
    potential: Sequence[Pod],
) -> Candidate | Status:
    """Return the pods of *potential* that must be removed for *pod*, or why preemption does not work here.

    All of them are removed first; if *pod* fits then, they are put back one after another where possible.

    Pods that violate a budget are taken back first, in each part the most important ones first. *state* and
    *info* must be clones: both are changed. O(victims × filters).
    """
    if not potential:
        return NO_VICTIMS
    for other in potential:
        status = _remove(runner, state, pod, other, info)
        if status is not None:
            return status
    status = runner.run_filters_with_nominated_pods(state, pod, info)
    if status is not None:
        return status
    violating, others = split_by_budgets(sorted(potential, key=importance), budgets)
    victims: list[Pod] = []
    violations = 0
    for place, other in enumerate((*violating, *others)):
        kept = _reprieve(runner, state, pod, other, info)
        if isinstance(kept, Status):
            return kept
        if not kept:
            victims.append(other)
            violations += place < len(violating)
    victims.sort(key=importance)
    return Candidate(info.name, tuple(victims), violations)


def _reprieve(
    runner: PluginsRunner, state: CycleState, pod: Pod, other: Pod, info: NodeInfo
) -> bool | Status:
    """Put *other* back; whether *pod* still fits, *other* being removed again if not."""
    info.add_pod(other)
    status = runner.run_add_pod(state, pod, other, info)
    if status is not None:
        return status
    if runner.run_filters_with_nominated_pods(state, pod, info) is None:
        return True
    status = _remove(runner, state, pod, other, info)
    return status if status is not None else False


def _remove(runner: PluginsRunner, state: CycleState, pod: Pod, other: Pod, info: NodeInfo) -> Status | None:
    info.remove_pod(other)
    return runner.run_remove_pod(state, pod, other, info)
