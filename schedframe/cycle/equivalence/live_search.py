"""LiveSearch: merge what uncached plugins say about a pod into the columns of its class, and choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from ..._base.plugin_faults import plugin_faults
from ..._base.value import record
from ...framework import MAX_SCORE, MIN_SCORE, Framework, PreFilterOutcome, Status, Verdicts
from ...framework.plan import FilterEntry, ScoreEntry
from ...framework.scoring import run_pre_score, run_scores
from ...state import LazyRows, ObjectStore, Rows
from ...state.greatest import greatest
from ..search.decision import Decision
from ..search.diagnosis import diagnose
from ..search.lazy_filter import LazyFilter
from ..search.tie_breaking import INFEASIBLE, Scores, one_of
from .columns import ClassColumns
from .equivalence_class import EquivalenceClass
from .index.group_max import Gains, GroupMax
from .live_answers import Mask, failed, merge_answer, passing, run_columnar_filters, run_filter
from .spec_memo import SpecMemo


@record(eq=False)
class LiveSearch:
    """Choices among the rows of a class that has columns, which are up to date.

    Filters say which rows are feasible; :meth:`conclude` scores these, and chooses. The three methods that
    end a choice, ``best_row``, ``choose_row`` and ``choose_in_groups``, are what a verification overrides.
    """

    rng: Random
    objects: ObjectStore

    # ---- choosing ----------------------------------------------------------------------------------------

    def conclude(
        self,
        memo: SpecMemo,
        decision: Decision,
        feasible: Rows,
        draw: Callable[[], int],
        *,
        pre_scored: bool = False,
    ) -> Decision:
        """Choose one of the *feasible* rows by the scores of live plugins; by *draw* if none of them scores.

        *pre_scored*: their pre_score was called.
        """
        eq_class, state = memo.eq_class, decision.state
        live, table = eq_class.plan.live, eq_class.table
        decision.feasible = feasible
        # As in the reference, one feasible node is taken without pre_score and score.
        if len(feasible) == 1:
            decision.node_name = feasible.names()[0]
            return decision
        if not pre_scored and not pre_score_live(eq_class, decision, feasible):
            return decision
        scores = [entry for entry in live.score if entry.name not in state.skip_score_plugins]
        if not scores:
            memo.record_skips(decision.pod, state, self.objects, scores=True)
            decision.node_name = table.name_of(draw())
            return decision
        # Groups hold the totals of all feasible rows; for fewer rows they would name absent ones.
        every = eq_class.columns is not None and len(feasible) == eq_class.columns.feasible
        row = self._best_of_groups(eq_class, decision, scores) if every else None
        if row is None:
            row = self._best_scored(eq_class, decision, feasible)
        decision.node_name = None if row is None else table.name_of(row)
        return decision

    def best_row(self, eq_class: EquivalenceClass, mask: Mask | None = None) -> int:
        """Return one of the feasible rows with the highest total; *mask*: among the rows where it is true."""
        columns, table = columns_of(eq_class), eq_class.table
        if mask is None and table.size > eq_class.policy.pass_rows:
            groups = eq_class.groupings.of((), columns.totals, columns.generation, table)
            if groups is not None and groups.present():
                return groups.choose((0,), self.rng, table.size)
        rows = table.rows()
        totals = rows.take(columns.totals)
        best = totals == greatest(totals) if mask is None else columns.best_where(rows, mask)
        return one_of(rows, best, self.rng)

    def _best_of_groups(
        self, eq_class: EquivalenceClass, decision: Decision, scores: list[ScoreEntry]
    ) -> int | None:
        """Return one of the best of all feasible rows, if the only live plugin that scores does so by group.

        ``None`` to score each row; so an invalid answer is met and reported there.
        """
        entry = scores[0]
        if len(scores) > 1 or entry.score_groups is None:
            return None
        answer = answered(entry.score_groups, decision.state, decision.pod, eq_class.table)
        groups = None if answer is None else group_max(eq_class, answer.columns)
        gains = None if groups is None else answers_of(answer.scores, groups, int)
        if groups is None or gains is None or min(gains) < MIN_SCORE or max(gains) > MAX_SCORE:
            return None
        return self.choose_in_groups(groups, [gain * entry.weight for gain in gains], eq_class.table.size)

    def choose_in_groups(self, groups: GroupMax, gains: Gains, size: int) -> int:
        """As :meth:`GroupMax.choose`."""
        return groups.choose(gains, self.rng, size)

    def _best_scored(self, eq_class: EquivalenceClass, decision: Decision, feasible: Rows) -> int | None:
        """Add the scores of live plugins to the totals, and choose; ``None`` if a plugin fails."""
        rows = eq_class.table.rows()
        if len(feasible) == len(rows):
            # The same rows in the same order: columns need not be gathered.
            feasible = rows
        scores = run_scores(eq_class.plan.live, decision.state, decision.pod, feasible)
        if isinstance(scores, Status):
            decision.error = scores
            return None
        return self.choose_row(feasible, columns_of(eq_class).totals_of(feasible) + scores.total)

    def choose_row(self, feasible: Rows, total: Scores) -> int:
        """Return one of the *feasible* rows with the highest total."""
        return one_of(feasible, total == greatest(total), self.rng)

    # ---- no live plugin filters --------------------------------------------------------------------------

    def choose(
        self, memo: SpecMemo, decision: Decision, *, all_skip: bool = False, pre_scored: bool = False
    ) -> Decision:
        """No live plugin rejects anything: choose among all feasible rows, if there are any.

        *all_skip*: none scores either; *pre_scored*: their pre_score was called.
        """
        eq_class = memo.eq_class
        columns = columns_of(eq_class)
        if not columns.feasible:
            if not all_skip:
                memo.record_skips(decision.pod, decision.state, self.objects, scores=False)
            return rejected(decision, columns.verdicts())
        if all_skip:
            decision.feasible = columns.feasible_rows()
            decision.node_name = eq_class.table.name_of(self.best_row(eq_class))
            return decision
        feasible = columns.feasible_rows()
        return self.conclude(memo, decision, feasible, lambda: self.best_row(eq_class), pre_scored=pre_scored)

    # ---- live plugins filter -----------------------------------------------------------------------------

    def run_filters(
        self, framework: Framework, memo: SpecMemo, decision: Decision, filters: list[FilterEntry]
    ) -> Decision:
        """Run the live plugins *filters*; by columns alone where that is enough."""
        eq_class, columns = memo.eq_class, columns_of(memo.eq_class)
        # Filters run once more with nominated pods added, node by node, as in the reference.
        if framework.nominated.nodes_for(decision.pod):
            return self._merged(framework, memo, decision, filters)
        if None in [entry.filter_rows for entry in filters]:
            return self.filter_lazily(framework, memo, decision, filters)
        if len(filters) == 1 and filters[0].filter_groups is not None:
            decided = self._by_groups(memo, decision, filters[0])
            if decided is not None:
                return decided
        rows, order = eq_class.table.rows(), eq_class.plan.order
        answers = run_columnar_filters(filters, decision.state, decision.pod, rows)
        if not answers:
            return self.choose(memo, decision)
        codes = rows.take(columns.codes)
        if not failed(answers):
            mask = passing(codes, columns.feasible < len(rows), answers)
            count = int(np.count_nonzero(mask))
            if count:
                feasible = LazyRows(eq_class.table, count, lambda: rows.select(mask).positions)
                return self.conclude(memo, decision, feasible, lambda: self.best_row(eq_class, mask))
        # From here on no row passes or a filter failed: only now are the reasons of each row needed.
        verdicts = Verdicts(rows, codes.copy(), list(columns.statuses))
        positions = eq_class.node_columns.status_codes.positions_of(verdicts.codes)
        for name, answer in answers:
            merge_answer(name, order[name], answer, verdicts, positions)
        return self.of_verdicts(memo, decision, verdicts)

    def _by_groups(self, memo: SpecMemo, decision: Decision, entry: FilterEntry) -> Decision | None:
        """Decide by groups, if the only live plugin that filters does so and two rows or more pass.

        ``None`` to filter each row: also where none passes, as statuses are needed then, and where totals
        depend on the highest raw score of the rows that pass.
        """
        eq_class = memo.eq_class
        table = eq_class.table
        # Normalised scores depend on the best raw score that passes, which groups do not hold.
        if any(columns_of(eq_class).highest):
            return None
        assert entry.filter_groups is not None
        answer = answered(entry.filter_groups, decision.state, decision.pod, table)
        groups = None if answer is None else group_max(eq_class, answer.columns)
        passes = None if groups is None else answers_of(answer.passes, groups, bool)
        if groups is None or passes is None:
            return None
        gains = [0 if passed else None for passed in passes]
        chosen = groups.chosen(gains)
        count = sum([group.rows for group in chosen])
        # No row needs reasons, one row is not scored: the form for rows does both.
        if count < 2:
            return None
        if all(passes):
            return self.choose(memo, decision)
        feasible = LazyRows(table, count, lambda: groups.rows_of(chosen))
        return self.conclude(
            memo, decision, feasible, lambda: self.choose_in_groups(groups, gains, table.size)
        )

    def filter_lazily(
        self,
        framework: Framework,
        memo: SpecMemo,
        decision: Decision,
        filters: Sequence[FilterEntry],
        *,
        all_skip: bool = False,
    ) -> Decision:
        """Call filters without columnar form for no more rows than the choice takes.

        *all_skip*: no live plugin scores. All rows are filtered where a live plugin scores, a filter fails,
        no row passes, or totals depend on which rows pass.
        """
        eq_class, live = memo.eq_class, memo.eq_class.plan.live
        # A plugin without pre_score cannot skip, and needs all feasible rows.
        may_skip = {entry.name for entry in live.score} <= {entry.name for entry in live.pre_score}
        lazy = lazy_filter(eq_class, decision, filters) if all_skip or may_skip else None
        pre_scored = False
        if lazy is not None and not all_skip and lazy.several_pass():
            called = pre_score_live(eq_class, decision, lazy.rows_on_demand())
            pre_scored = not lazy.failed
            if pre_scored and not called:
                return decision
            if pre_scored and all(each.name in decision.state.skip_score_plugins for each in live.score):
                memo.record_skips(decision.pod, decision.state, self.objects, scores=True)
                all_skip = True
        if lazy is not None and all_skip and keeps_highest(columns_of(eq_class), lazy):
            row = lazy.choose(self.rng)
            if row is not None:
                decision.by_groups, decision.node_name = lazy, eq_class.table.name_of(row)
                return decision
        return self._merged(framework, memo, decision, filters, lazy, pre_scored=pre_scored)

    def _merged(
        self,
        framework: Framework,
        memo: SpecMemo,
        decision: Decision,
        filters: Sequence[FilterEntry],
        lazy: LazyFilter | None = None,
        *,
        pre_scored: bool = False,
    ) -> Decision:
        """Merge the verdicts of all rows, of which *lazy* has some; *pre_scored*: pre_score was called."""
        eq_class, columns = memo.eq_class, columns_of(memo.eq_class)
        rows, order = eq_class.table.rows(), eq_class.plan.order
        verdicts = Verdicts(rows, columns.codes[rows.index].copy(), list(columns.statuses))
        positions = eq_class.node_columns.status_codes.positions_of(verdicts.codes)
        decided = None if lazy is None else lazy.merge_into(verdicts)
        for entry in filters:
            run_filter(entry, order[entry.name], decision.state, decision.pod, verdicts, positions, decided)
        nominated = framework.nominated.nodes_for(decision.pod)
        if nominated:
            framework.nominated.overlay(decision.state, decision.pod, verdicts, nominated)
        return self.of_verdicts(memo, decision, verdicts, pre_scored=pre_scored)

    def of_verdicts(
        self, memo: SpecMemo, decision: Decision, verdicts: Verdicts, *, pre_scored: bool = False
    ) -> Decision:
        """Score and choose among the rows that pass, or tell why none does."""
        rows, passed = verdicts.rows, verdicts.passing()
        if not len(passed) or verdicts.first_error() is not None:
            return rejected(decision, verdicts)
        decision.verdicts = verdicts
        feasible = rows if len(passed) == len(rows) else rows.select(passed)

        def draw() -> int:
            return self.choose_row(feasible, columns_of(memo.eq_class).totals_of(feasible))

        return self.conclude(memo, decision, feasible, draw, pre_scored=pre_scored)


def rejected(decision: Decision, verdicts: Verdicts) -> Decision:
    """End the cycle: a filter failed, or *verdicts* say why no node is feasible."""
    assert decision.pre_filter is not None
    decision.verdicts = verdicts
    decision.error = verdicts.first_error()
    if decision.error is None:
        decision.diagnosis = diagnose(decision.pre_filter, verdicts, len(verdicts.rows))
    return decision


def columns_of(eq_class: EquivalenceClass) -> ClassColumns:
    """Return the columns of a class that was just refreshed."""
    assert eq_class.columns is not None
    return eq_class.columns


def lazy_filter(
    eq_class: EquivalenceClass, decision: Decision, filters: Sequence[FilterEntry]
) -> LazyFilter | None:
    """Return the filters without columnar form, over the rows that all others pass; ``None`` if one fails."""
    columns, rows = columns_of(eq_class), eq_class.table.rows()
    columnar = [entry for entry in filters if entry.filter_rows is not None]
    answers = run_columnar_filters(columnar, decision.state, decision.pod, rows)
    if failed(answers):
        return None
    totals = columns.totals
    if answers:
        totals = totals.copy()
        totals[rows.select(~passing(rows.take(columns.codes), True, answers)).index] = INFEASIBLE
    by_node = [entry for entry in filters if entry.filter_rows is None]
    return LazyFilter(by_node, decision.state, decision.pod, eq_class.table, totals)


def keeps_highest(columns: ClassColumns, lazy: LazyFilter) -> bool:
    """Return whether *lazy* leaves the normalisation as it is: a row with each highest score passes."""
    size = columns.table.size
    return all(
        lazy.first_passing(((each.raw[:size] == highest) & lazy.candidates).nonzero()[0], 1)
        for each, highest in zip(columns.normalized, columns.highest, strict=True)
        if highest
    )


def group_max(eq_class: EquivalenceClass, codes: Any) -> GroupMax | None:
    """Return the totals of a class by group of rows; ``None`` if passes over all rows cost less."""
    if not codes or type(codes) is not tuple or not all(isinstance(each, np.ndarray) for each in codes):
        return None
    columns = columns_of(eq_class)
    return eq_class.groupings.of(codes, columns.totals, columns.generation, eq_class.table)


def answered(hook: Callable[..., Any], *args: Any) -> Any:
    """Return what a plugin says of groups; ``None`` if it fails: its form for rows reports it then."""
    try:
        return hook(*args)
    except plugin_faults():  # as above
        return None


def answers_of(hook: Callable[..., Any], groups: GroupMax, kind: type) -> Any:
    """Return what a plugin says of each group with feasible rows; ``None`` unless all are of that *kind*."""
    keys = groups.present()
    answers = answered(hook, keys)
    try:
        return answers if len(answers) == len(keys) and set(map(type, answers)) == {kind} else None
    except TypeError:  # no sequence, such as None
        return None


def pre_score_live(eq_class: EquivalenceClass, decision: Decision, feasible: Rows) -> bool:
    """Run the live plugins' pre_score; ``False`` if one failed: that ends the cycle."""
    live = eq_class.plan.live
    if live.score:
        decision.pre_score_error = decision.error = run_pre_score(
            live, decision.state, decision.pod, feasible
        )
    return decision.error is None


def start_after_pre_filter(decision: Decision, outcome: PreFilterOutcome | None) -> Decision:
    """Leave the rest of the cycle to the full search: pre_filter was called, and is not called again."""
    decision.pre_filter, decision.evaluated, decision.idle = outcome, 0, False
    return decision
