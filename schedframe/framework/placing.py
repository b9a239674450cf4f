"""Placements of a group, whether it can still run, and the score of each feasible placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._base.plugin_faults import plugin_faults
from .._base.value import record
from ..api import Pod
from ..state import Rows
from .cycle_state import CycleState
from .faults import from_exception, invalid_answer
from .normalization import MAX_SCORE, MIN_SCORE
from .placements import GroupPlacement, PodGroupInfo
from .plan import Plan
from .status import Code, Status


@record(frozen=True, eq=False)
class PlacedGroup:
    """A placement in which the group can run, and the members that found a node in it."""

    placement: GroupPlacement
    placed: tuple[Pod, ...]
    """Each with its node; without it for plugins that declare ``reads_no_nodes_of_members``."""


@record(frozen=True, eq=False)
class PlacementScores:
    """The scores of placements, aligned with them."""

    by_plugin: Mapping[str, Sequence[int]]
    """Normalised and weighted."""
    total: Sequence[int]


def generate_placements(
    plan: Plan, state: CycleState, group: PodGroupInfo, nodes: Rows
) -> tuple[GroupPlacement, ...] | Status:
    """Return the placements of the first plugin that generates any; one of all *nodes* without a plugin."""
    if not plan.placement_generate:
        return (GroupPlacement("", nodes),)
    entry = plan.placement_generate[0]
    try:
        answer = entry.call(state, group, nodes)
    except plugin_faults() as error:
        return from_exception(entry.name, "placement_generate", error, group=group.key)
    if isinstance(answer, Status) and (answer.is_rejected or answer.code is Code.ERROR):
        return answer.with_plugin(entry.name)
    if isinstance(answer, Status) or not all(isinstance(each, GroupPlacement) for each in answer):
        return invalid_answer(entry.name, "placement_generate", answer, "placements, a rejection or an error")
    return tuple(answer)


def check_feasible(
    plan: Plan, state: CycleState, group: PodGroupInfo, placed: Sequence[Pod], left: int
) -> Status | None:
    """Return the first rejection or error of a plugin that says that the group cannot run any more."""
    for entry in plan.placement_feasible:
        try:
            status = entry.call(state, group, placed, left)
        except plugin_faults() as error:
            return from_exception(entry.name, "placement_feasible", error, group=group.key)
        if status is None or (isinstance(status, Status) and status.is_success):
            continue
        if not isinstance(status, Status) or not (status.is_rejected or status.code is Code.ERROR):
            return invalid_answer(entry.name, "placement_feasible", status, "None, a rejection or an error")
        return status.with_plugin(entry.name)
    return None


def score_placements(
    plan: Plan, state: CycleState, group: PodGroupInfo, candidates: Sequence[PlacedGroup]
) -> PlacementScores | Status:
    """Return the scores of all *candidates*, or the error of a plugin."""
    by_plugin: dict[str, Sequence[int]] = {}
    total = [0] * len(candidates)
    for entry in plan.placement_score:
        try:
            scores = [entry.score(state, group, each.placement, each.placed) for each in candidates]
            if entry.normalize is not None:
                scores = list(entry.normalize(state, group, scores))
        except plugin_faults() as error:
            return from_exception(entry.name, "placement_score", error, group=group.key)
        wanted = f"for each placement a whole number from {MIN_SCORE} to {MAX_SCORE}"
        if len(scores) != len(candidates) or not all(_is_score(score) for score in scores):
            return invalid_answer(entry.name, "placement_score", scores, wanted)
        by_plugin[entry.name] = weighted = [score * entry.weight for score in scores]
        total = [sum(pair) for pair in zip(total, weighted, strict=True)]
    return PlacementScores(by_plugin, total)


def _is_score(score: object) -> bool:
    return type(score) is int and MIN_SCORE <= score <= MAX_SCORE
