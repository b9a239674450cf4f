"""Diagnosis of no feasible node: from verdicts to blame."""

from __future__ import annotations

import numpy as np

from ..._base.value import record
from ...framework import Code, Diagnosis, PreFilterOutcome, Status, Verdicts
from ...state import NodeTable, Rows
from .decision import Decision


def refuse(decision: Decision, table: NodeTable, outcome: PreFilterOutcome) -> None:
    """Note that pre_filter ended the cycle, by rejecting the pod or by failing."""
    status = outcome.status
    assert status is not None
    if not status.is_rejected:
        decision.error = status
        return
    empty = Verdicts.passing_all(Rows.at(table, np.empty(0, np.intp)))
    diagnosis = Diagnosis(empty, table.num_nodes, status, status, set(outcome.plugins))
    _blame(diagnosis, status)
    decision.verdicts, decision.diagnosis = empty, diagnosis


@record(frozen=True)
class Refused:
    """The nominated node, tried before all others and refused."""

    name: str
    row: int
    status: Status


def diagnose(
    outcome: PreFilterOutcome, verdicts: Verdicts, num_nodes: int, refused: Refused | None = None
) -> Diagnosis:
    """Return why no node is feasible.

    A refused nominated node has its own reason, also where pre_filter named others. As in the reference, the
    plugin that rejected it is then listed in the status of the nodes that pre_filter left out.
    """
    also = [] if refused is None else [refused.status.plugin]
    absent = outcome.absent_status_with(also)
    diagnosis = Diagnosis(verdicts, num_nodes, None, absent, set(outcome.plugins))
    for status, _ in verdicts.settle():
        _blame(diagnosis, status)
    if refused is not None and outcome.node_names is not None and refused.name not in outcome.node_names:
        diagnosis.named[refused.name] = refused.status
        _blame(diagnosis, refused.status)
    return diagnosis


def _blame(diagnosis: Diagnosis, status: Status) -> None:
    if not status.plugin:
        return
    if status.code is Code.PENDING:
        diagnosis.pending_plugins.add(status.plugin)
    elif status.is_rejected:
        diagnosis.unschedulable_plugins.add(status.plugin)
