"""LiveSearch: merge what uncached plugins say about a pod into the columns of its class, and choose."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from attrs import define

from ...framework import MAX_SCORE, MIN_SCORE, Framework, PreFilterOutcome, Status, Verdicts
from ...framework.plan import FilterEntry, ScoreEntry
from ...framework.scoring import run_pre_score, run_scores
from ...state import LazyRows, ObjectStore, Rows
from ..search.decision import Decision
from ..search.diagnosis import diagnose
from ..search.lazy_filter import LazyFilter
from ..search.tie_breaking import Scores, one_of
from .columns import ClassColumns
from .equivalence_class import EquivalenceClass
from .index.group_max import Group, GroupMax
from .lazy_answers import keeps_highest, lazy_filter, may_skip, merge_decided
from .live_answers import Mask, merge_answer, passing, run_columnar_filters, run_filter
from .spec_memo import SpecMemo

_INT = {int}
_BOOL = {bool}


@define(eq=False)
class LiveSearch:
    """Choices among the rows of a class that has columns, which are up to date."""

    rng: Random
    objects: ObjectStore

    # ---- no live plugin filters --------------------------------------------------------------------------

    def choose(self, memo: SpecMemo, decision: Decision, *, all_skip: bool = False) -> Decision | None:
        """No live plugin rejects anything; *all_skip*: none scores either. Run their pre_score and choose."""
        eq_class, columns = memo.eq_class, columns_of(memo.eq_class)
        if not columns.feasible:
            verdicts = decision.verdicts = columns.verdicts()
            decision.error = verdicts.first_error()
            if decision.error is None:
                assert decision.pre_filter is not None
                decision.diagnosis = diagnose(decision.pre_filter, verdicts, len(verdicts.rows))
                if not all_skip:
                    memo.skips.record(decision.pod, decision.state, self.objects, scores=False)
            return decision
        if columns.feasible > 1 and eq_class.plan.live.score:
            feasible = decision.feasible = columns.feasible_rows()
            scores = pre_score_live(eq_class, decision, feasible)
            if scores is None:
                return decision
            if scores:
                return self.score(eq_class, decision, feasible, scores)
            memo.skips.record(decision.pod, decision.state, self.objects, scores=True)
        return self.draw(eq_class, decision)

    def draw(self, eq_class: EquivalenceClass, decision: Decision) -> Decision | None:
        """Choose one of the rows with the highest total."""
        columns, table = columns_of(eq_class), eq_class.table
        if not columns.feasible:
            return None
        if decision.feasible is None:
            decision.feasible = columns.feasible_rows()
        groups = eq_class.groupings.of((), columns.totals, columns.generation, table)
        if groups is not None and groups.present():
            row = groups.choose((0,), self.rng, table.size)
        else:
            rows = table.rows()
            totals = rows.take(columns.totals)
            row = one_of(rows, totals == totals.max(), self.rng)
        decision.node_name = table.name_of(row)
        return decision

    # ---- live plugins score ------------------------------------------------------------------------------

    def score(
        self, eq_class: EquivalenceClass, decision: Decision, feasible: Rows, scores: list[ScoreEntry]
    ) -> Decision | None:
        """The live plugins *scores* score the *feasible* rows, by group or each."""
        row = self._best_of_groups(eq_class, decision, scores)
        if row is None:
            return self._score_rows(eq_class, decision, feasible)
        decision.node_name = eq_class.table.name_of(row)
        return decision

    def _best_of_groups(
        self, eq_class: EquivalenceClass, decision: Decision, scores: list[ScoreEntry]
    ) -> int | None:
        """One of the best of all feasible rows, if the only live plugin that scores does so by group.

        ``None`` to score each row; so an invalid answer is met and reported there.
        """
        entry = scores[0]
        if len(scores) > 1 or entry.score_groups is None:
            return None
        try:
            answer = entry.score_groups(decision.state, decision.pod, eq_class.table)
        except Exception:  # noqa: BLE001 - score_rows is called instead, and reports the plugin
            return None
        groups = None if answer is None else group_max(eq_class, answer.columns)
        if groups is None:
            return None
        keys = groups.present()
        gains = answered(answer.scores, keys)
        if gains is None or set(map(type, gains)) != _INT:
            return None
        if min(gains) < MIN_SCORE or max(gains) > MAX_SCORE:
            return None
        if entry.weight != 1:
            gains = [gain * entry.weight for gain in gains]
        return self.choose_in_groups(decision, groups, gains, eq_class.table.size)

    def choose_in_groups(
        self,
        decision: Decision,
        groups: GroupMax,
        gains: Sequence[int],
        size: int,
        among: Sequence[Group] | None = None,
    ) -> int:
        """As :meth:`GroupMax.choose`."""
        return groups.choose(gains, self.rng, size, among)

    def _score_rows(self, eq_class: EquivalenceClass, decision: Decision, feasible: Rows) -> Decision | None:
        """Add the scores of live plugins to the totals, then choose one of the best rows."""
        rows = eq_class.table.rows()
        if len(feasible) == len(rows):
            # The same rows in the same order: columns need not be gathered.
            feasible = rows
        total = columns_of(eq_class).totals_of(feasible)
        live = eq_class.plan.live
        if live.score:
            scores = run_scores(live, decision.state, decision.pod, feasible)
            if isinstance(scores, Status):
                decision.error = scores
                return decision
            total = total + scores.total
        decision.node_name = eq_class.table.name_of(self.choose_row(feasible, total))
        return decision

    def choose_row(self, feasible: Rows, total: Scores) -> int:
        """One of the *feasible* rows with the highest total."""
        return one_of(feasible, total == total.max(), self.rng)

    # ---- live plugins filter -----------------------------------------------------------------------------

    def run_filters(
        self, framework: Framework, memo: SpecMemo, decision: Decision, filters: list[FilterEntry]
    ) -> Decision | None:
        """Run the live plugins *filters*; by columns alone where that is enough."""
        eq_class, columns = memo.eq_class, columns_of(memo.eq_class)
        if framework.nominated.nodes_for(decision.pod):
            return self._merged(framework, eq_class, decision, filters)
        if any(entry.filter_rows is None for entry in filters):
            return self.filter_lazily(framework, memo, decision, filters)
        if len(filters) == 1:
            decided = self._by_groups(memo, decision, filters[0])
            if decided is not None:
                return decided
        rows, order = eq_class.table.rows(), eq_class.plan.order
        answers = run_columnar_filters(filters, order, decision.state, decision.pod, rows)
        if not answers:
            return self.choose(memo, decision)
        codes = rows.take(columns.codes)
        if not any(answer.fails for answer in answers):
            mask = passing(codes, columns.feasible < len(rows), answers)
            if mask.any():
                return self.choose_where(eq_class, decision, mask)
        verdicts = Verdicts(rows, codes.copy(), list(columns.statuses))
        positions = eq_class.node_columns.status_codes.positions_of(verdicts.codes)
        for answer in answers:
            merge_answer(answer, verdicts, positions)
        return self.of_verdicts(eq_class, decision, verdicts)

    def _by_groups(self, memo: SpecMemo, decision: Decision, entry: FilterEntry) -> Decision | None:
        """The only live plugin that filters tells which groups of rows pass, and two rows or more do.

        ``None`` to filter each row, also where none passes: statuses are needed then.
        """
        eq_class = memo.eq_class
        table = eq_class.table
        found = self._passing_groups(eq_class, decision, entry)
        if found is None:
            return None
        groups, chosen, every = found
        count = sum([group.rows for group in chosen])
        if count < 2:
            return None
        if every:
            return self.choose(memo, decision)
        feasible: Rows = LazyRows(table, count, lambda: groups.rows_of(chosen))
        decision.feasible = feasible
        scores = pre_score_live(eq_class, decision, feasible)
        if scores is None:
            return decision
        if scores:
            return self._score_rows(eq_class, decision, feasible)
        gains = [0] * len(chosen)
        row = self.choose_in_groups(decision, groups, gains, table.size, chosen)
        decision.node_name = table.name_of(row)
        return decision

    def _passing_groups(
        self, eq_class: EquivalenceClass, decision: Decision, entry: FilterEntry
    ) -> tuple[GroupMax, list[Group], bool] | None:
        """The groups of feasible rows that pass, and whether all do; ``None`` to filter each row.

        Also where totals depend on the highest raw score of the rows that pass.
        """
        if entry.filter_groups is None or any(columns_of(eq_class).highest):
            return None
        try:
            answer = entry.filter_groups(decision.state, decision.pod, eq_class.table)
        except Exception:  # noqa: BLE001 - filter_rows is called instead, and reports the plugin
            return None
        groups = None if answer is None else group_max(eq_class, answer.columns)
        if groups is None:
            return None
        passes = answered(answer.passes, groups.present())
        if passes is None or set(map(type, passes)) - _BOOL:
            return None
        return groups, groups.chosen(passes), all(passes)

    def choose_where(self, eq_class: EquivalenceClass, decision: Decision, mask: Mask) -> Decision | None:
        """Score and choose among the rows at which *mask* is true."""
        table = eq_class.table
        rows = table.rows()
        count = int(np.count_nonzero(mask))
        feasible: Rows = LazyRows(table, count, lambda: rows.select(mask).positions)
        decision.feasible = feasible
        if count == 1:
            decision.node_name = feasible.names()[0]
            return decision
        scores = pre_score_live(eq_class, decision, feasible)
        if scores is None:
            return decision
        if scores:
            return self._score_rows(eq_class, decision, feasible)
        best = columns_of(eq_class).best_where(rows, mask)
        decision.node_name = table.name_of(one_of(rows, best, self.rng))
        return decision

    def filter_lazily(
        self,
        framework: Framework,
        memo: SpecMemo,
        decision: Decision,
        filters: Sequence[FilterEntry],
        *,
        all_skip: bool = False,
    ) -> Decision | None:
        """Call filters without columnar form for no more rows than the choice takes.

        *all_skip*: no live plugin scores. All rows are filtered where a live plugin scores, a filter fails,
        no row passes, or totals depend on which rows pass.
        """
        eq_class = memo.eq_class
        lazy = lazy_filter(eq_class, decision, filters) if all_skip or may_skip(eq_class) else None
        pre_scored = False
        if lazy is not None and not all_skip and lazy.several_pass():
            scores = pre_score_live(eq_class, decision, lazy.rows_on_demand())
            pre_scored = not lazy.failed
            if pre_scored and scores is None:
                return decision
            if pre_scored and not scores:
                memo.skips.record(decision.pod, decision.state, self.objects, scores=True)
                all_skip = True
        if lazy is not None and all_skip and keeps_highest(eq_class, lazy):
            row = lazy.choose(self.rng)
            if row is not None:
                decision.by_groups, decision.node_name = lazy, eq_class.table.name_of(row)
                return decision
        return self._merged(framework, eq_class, decision, filters, lazy, pre_scored=pre_scored)

    def _merged(
        self,
        framework: Framework,
        eq_class: EquivalenceClass,
        decision: Decision,
        filters: Sequence[FilterEntry],
        lazy: LazyFilter | None = None,
        *,
        pre_scored: bool = False,
    ) -> Decision | None:
        """Merge the verdicts of all rows, of which *lazy* has some; *pre_scored*: pre_score was called."""
        rows, order, columns = eq_class.table.rows(), eq_class.plan.order, columns_of(eq_class)
        verdicts = Verdicts(rows, columns.codes[rows.index].copy(), list(columns.statuses))
        positions = eq_class.node_columns.status_codes.positions_of(verdicts.codes)
        decided = None if lazy is None else merge_decided(lazy, verdicts)
        for entry in filters:
            run_filter(entry, order[entry.name], decision.state, decision.pod, verdicts, positions, decided)
        nominated = framework.nominated.nodes_for(decision.pod)
        if nominated:
            framework.nominated.overlay(decision.state, decision.pod, verdicts, nominated)
        return self.of_verdicts(eq_class, decision, verdicts, pre_scored=pre_scored)

    def of_verdicts(
        self, eq_class: EquivalenceClass, decision: Decision, verdicts: Verdicts, *, pre_scored: bool = False
    ) -> Decision | None:
        """Score and choose among the rows that pass, or tell why none does."""
        rows = verdicts.rows
        decision.verdicts = verdicts
        error = verdicts.first_error()
        if error is not None:
            decision.error = error
            return decision
        passed = verdicts.passing()
        if not len(passed):
            assert decision.pre_filter is not None
            decision.diagnosis = diagnose(decision.pre_filter, verdicts, len(rows))
            return decision
        feasible = decision.feasible = rows if len(passed) == len(rows) else rows.select(passed)
        if len(feasible) == 1:
            decision.node_name = feasible.names()[0]
            return decision
        if not pre_scored and pre_score_live(eq_class, decision, feasible) is None:
            return decision
        return self._score_rows(eq_class, decision, feasible)


def columns_of(eq_class: EquivalenceClass) -> ClassColumns:
    """The columns of a class that was just refreshed."""
    assert eq_class.columns is not None
    return eq_class.columns


def group_max(eq_class: EquivalenceClass, codes: Any) -> GroupMax | None:
    """The totals of a class by group of rows; ``None`` if passes over all rows cost less."""
    if not codes or type(codes) is not tuple or not all(isinstance(each, np.ndarray) for each in codes):
        return None
    columns = columns_of(eq_class)
    return eq_class.groupings.of(codes, columns.totals, columns.generation, eq_class.table)


def answered(hook: Any, keys: Sequence[Any]) -> Any:
    """What a plugin says of groups with these *keys*; ``None`` if it fails, or omits some."""
    try:
        answers = hook(keys)
        return answers if len(answers) == len(keys) else None
    except Exception:  # noqa: BLE001 - the form for rows is called instead, and reports the plugin
        return None


def pre_score_live(eq_class: EquivalenceClass, decision: Decision, feasible: Rows) -> list[ScoreEntry] | None:
    """Run the live plugins' pre_score; those that will score, ``None`` if one failed: that ends the cycle."""
    live, state = eq_class.plan.live, decision.state
    if not live.score:
        return []
    status = run_pre_score(live, state, decision.pod, feasible)
    if status is not None:
        decision.pre_score_error = decision.error = status
        return None
    return [entry for entry in live.score if entry.name not in state.skip_score_plugins]


def start_after_pre_filter(decision: Decision, outcome: PreFilterOutcome | None) -> Decision:
    """Leave the rest of the cycle to the full search: pre_filter was called, and is not called again."""
    decision.pre_filter, decision.evaluated, decision.idle = outcome, 0, False
    return decision
