"""Extenders in preemption: they may leave out candidates and change their victims."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ...api import Pod
from ...state import NodeTable
from ..extender import Extender, ExtenderError, ExtenderVerb, Victims, VictimUids, checked, is_interested
from ..handle import Handle
from .candidates import Candidate

logger = logging.getLogger("schedframe")


def candidates_of_extenders(handle: Handle, pod: Pod, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that the extenders leave, with their victims.

    Extenders are called one after another, each with what the one before it left. Raises
    :class:`ExtenderError` if one that is not ignorable fails, or names a node or pod that is not there.
    """
    left = list(candidates)
    for extender in handle.extenders:
        if not left:
            break
        if ExtenderVerb.PREEMPT not in extender.verbs or not is_interested(extender, pod):
            continue
        try:
            left = _answered_by(extender, handle.table, pod, left)
        except ExtenderError as error:
            if not extender.is_ignorable:
                raise
            logger.info("extender %s is ignored for pod %s: %s", extender.name, pod.key, error)
    return left


def _answered_by(
    extender: Extender, table: NodeTable, pod: Pod, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Return the candidates in the answer of *extender*, in the order of *candidates*, others last."""
    offered = {each.node_name: Victims(each.victims, each.pdb_violations) for each in candidates}
    answer: dict[str, VictimUids] = checked(
        extender, lambda: dict(extender.process_preemption(pod, offered)), dict
    )
    if not all(isinstance(each, VictimUids) for each in answer.values()):
        raise ExtenderError(f'extender "{extender.name}" answered other victims than VictimUids')
    found = {name: _candidate(extender, table, name, uids) for name, uids in answer.items()}
    for name, candidate in found.items():
        if not candidate.victims and not extender.is_ignorable:
            raise ExtenderError(f'expected at least one victim pod on node "{name}"')
    order = (*(name for name in offered if name in found), *(name for name in found if name not in offered))
    return [found[name] for name in order if found[name].victims]


def _candidate(extender: Extender, table: NodeTable, name: str, chosen: VictimUids) -> Candidate:
    row = table.live_row(name)
    if row is None:
        raise ExtenderError(f'nodeinfo not found for node name "{name}"')
    pods = table.pods_at(row)
    for uid in chosen.uids:
        if uid not in pods:
            raise ExtenderError(
                f"extender: {extender.name} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, "
                "but the pod is not found on that node"
            )
    return Candidate(name, tuple(pods[uid] for uid in chosen.uids), chosen.pdb_violations)
