"""What a lazy filter takes from the columns of a class, and what it gives to a search of all rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...framework import Plan, Verdicts
from ...framework.plan import FilterEntry
from ..search.decision import Decision
from ..search.lazy_filter import LazyFilter
from ..search.tie_breaking import INFEASIBLE
from .columns import ClassColumns
from .equivalence_class import EquivalenceClass
from .live_answers import Mask, passing, run_columnar_filters


def may_skip(live: Plan) -> bool:
    """Whether all live plugins that score may answer Skip: one without pre_score needs all feasible rows."""
    named = {entry.name for entry in live.pre_score}
    return all(entry.name in named for entry in live.score)


def lazy_filter(
    eq_class: EquivalenceClass, decision: Decision, filters: Sequence[FilterEntry]
) -> LazyFilter | None:
    """Return the filters without columnar form, over the rows that all others pass; ``None`` if one fails."""
    columns, table = eq_class.columns, eq_class.table
    assert columns is not None
    columnar = [entry for entry in filters if entry.filter_rows is not None]
    totals = columns.totals
    if columnar:
        rows = table.rows()
        answers = run_columnar_filters(columnar, eq_class.plan.order, decision.state, decision.pod, rows)
        if any(answer.fails for answer in answers):
            return None
        if answers:
            totals = totals.copy()
            totals[rows.select(~passing(rows.take(columns.codes), True, answers)).index] = INFEASIBLE
    by_node = [entry for entry in filters if entry.filter_rows is None]
    return LazyFilter(by_node, decision.state, decision.pod, table, totals)


def keeps_highest(columns: ClassColumns, lazy: LazyFilter) -> bool:
    """Whether the totals are normalised as if *lazy* did not filter: a row with each highest score passes."""
    size = columns.table.size
    return all(
        lazy.first_passing(((each.raw[:size] == highest) & lazy.candidates).nonzero()[0], 1)
        for each, highest in zip(columns.normalized, columns.highest, strict=True)
        if highest
    )


def merge_decided(lazy: LazyFilter, verdicts: Verdicts) -> Mask:
    """Merge what *lazy* knows of the rows that all other plugins pass; return by position what it decided."""
    decided = np.zeros(len(verdicts.codes), np.bool_)
    for row, status in lazy.rejected.items():
        position = verdicts.rows.position_of(row)
        verdicts.reject(position, status)
        decided[position] = True
    for row in lazy.passed:
        decided[verdicts.rows.position_of(row)] = True
    return decided
