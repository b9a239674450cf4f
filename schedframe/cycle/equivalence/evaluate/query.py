"""Query: what evaluators need to know of a class."""

from __future__ import annotations

from functools import cached_property

from attrs import field

from ...._base.value import record
from ....api import Pod
from ....framework import CycleState, Plan
from ....framework.filtering import run_pre_filter
from ....framework.plan import FilterEntry, ScoreEntry
from ....framework.scoring import run_pre_score
from ....state import NodeTable, Rows
from ..status_codes import StatusCodes


@record(frozen=True, eq=False, slots=False)
class Query:
    """A pod, its cycle state after pre_filter and pre_score, and the plugins to call for it."""

    table: NodeTable
    codes: StatusCodes
    pod: Pod
    state: CycleState = field(factory=CycleState)
    filters: tuple[FilterEntry, ...] = ()
    scores: tuple[ScoreEntry, ...] = ()
    """Those whose scores are used as they are."""
    raw_scores: tuple[ScoreEntry, ...] = ()
    """Those whose scores are normalised over all feasible rows."""

    def prepared(self, plan: Plan, selected: Plan, rows: Rows) -> Query | None:
        """Return the query after pre_filter and pre_score of *plan*, with *selected* ones that do not skip.

        ``None`` if a plugin fails, rejects the pod or names nodes. *rows*: those that pre_score gets.
        """
        state = CycleState()
        outcome = run_pre_filter(plan, state, self.pod, self.table.rows())
        if outcome.status is not None or outcome.node_names is not None:
            return None
        if run_pre_score(plan, state, self.pod, rows) is not None:
            return None
        filters = [entry for entry in selected.filter if entry.name not in state.skip_filter_plugins]
        scores = [entry for entry in selected.score if entry.name not in state.skip_score_plugins]
        fixed = [entry for entry in scores if entry.normalization is None]
        raw = [entry for entry in scores if entry.normalization is not None]
        return Query(self.table, self.codes, self.pod, state, tuple(filters), tuple(fixed), tuple(raw))

    @property
    def plugins(self) -> set[str]:
        """The names of all plugins."""
        return {entry.name for entry in self.filters} | {e.name for e in (*self.scores, *self.raw_scores)}

    @cached_property
    def is_columnar(self) -> bool:
        """Return whether all filters have a columnar form."""
        return all(entry.filter_rows is not None for entry in self.filters)

    @property
    def is_rowwise(self) -> bool:
        """Return whether all plugins but those of ``raw_scores`` have a per-node form."""
        filters = all(entry.filter is not None for entry in self.filters)
        return filters and all(entry.score is not None for entry in self.scores)
