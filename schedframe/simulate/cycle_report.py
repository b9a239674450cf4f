"""Findings of one scheduling cycle of a simulation."""

from __future__ import annotations

from .._base.value import record
from ..cycle import Decision


@record(eq=False)
class CycleReport:
    """One scheduling cycle of :meth:`Simulation.cycle`, with names in the order of the search."""

    order: list[str]
    """All nodes in search order, sorted if the order has no effect."""
    start: int
    next: int
    evaluated: int
    feasible: list[str]
    shortcut: str | None
    best: list[str]
    best_total: int | None
    message: str | None
    error: str | None


def report_of(decision: Decision, order: list[str], start: int, next_start: int) -> CycleReport:
    """Return the report of *decision*, which began at *start* in *order*."""
    best, total = _best(decision)
    return CycleReport(
        order=order,
        start=start,
        next=next_start,
        evaluated=decision.evaluated,
        feasible=decision.feasible.names() if decision.feasible is not None else [],
        shortcut=decision.shortcut or None,
        best=best,
        best_total=total,
        message=decision.diagnosis.message() if decision.diagnosis is not None else None,
        error=decision.error.message if decision.error is not None else None,
    )


def _best(decision: Decision) -> tuple[list[str], int | None]:
    if decision.scores is not None:
        table = decision.scores
        return sorted(table.rows.select(table.best()).names()), int(table.total.max())
    return ([decision.node_name] if decision.node_name is not None else []), None
