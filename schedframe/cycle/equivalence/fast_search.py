"""Decide by what is remembered of pods like this one, asking only the plugins that must be asked.

The same statuses, scores, ties and draws as :class:`.search.Search` finds the long way; whenever something is
not covered here (``None``), that way is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
from attrs import define, evolve

from ...api import Pod
from ...errors import CacheFault
from ...framework import MAX_SCORE, MIN_SCORE, Code, CycleState, Framework, PreFilterOutcome, Status, Verdicts
from ...framework.filtering import run_pre_filter
from ...framework.plan import FilterEntry, ScoreEntry
from ...framework.scoring import run_pre_score, run_scores
from ...state import LazyRows, Rows
from ..search.decision import Decision
from ..search.diagnosis import diagnose
from ..search.tie_breaking import one_of
from .cache import RememberedClasses
from .equivalence_class import PodClass
from .index.group_max import Group, GroupedMaxima
from .live_answers import Mask, ask, ask_all, merge, passing
from .nominated import ExpectedPods
from .spec_memo import Known
from .totals import best_where, totals_of


@define(eq=False)
class FastPath:
    """The search for pods whose class is remembered."""

    classes: RememberedClasses
    rng: Random
    report: Callable[[Status, Pod], None] = lambda status, pod: None
    """Called once for each fault of the cache."""
    _begun: Decision | None = None
    """The decision for which pre_filter plugins were called in this cycle."""

    def decide(self, framework: Framework, pod: Pod) -> Decision | None:
        """A decision; ``None`` for a full search, an unsettled decision for one that begins after pre_filter.

        O(rows touched since the class was last used) where no live plugin has anything to say and no
        nominated pod is in the way. A fault of the cache is reported, its class dropped, and the pod left to
        the full search. If the fault came after a draw among the best rows, that search draws again.
        """
        self._begun = None
        try:
            return self._decide(framework, pod)
        except Exception as error:  # noqa: BLE001 - whatever is wrong here must not stop the scheduler
            return self._dropped(framework, pod, error)

    def _dropped(self, framework: Framework, pod: Pod, error: Exception) -> Decision | None:
        """Drop what *error* came from and report it; what the full search may go on with."""
        begun = self._begun
        table = framework.handle.table
        key = self.classes.drop(framework, pod)
        fault = CacheFault(
            f"{type(error).__name__}: {error}; the equivalence class was dropped, the full search decides. "
            f"To reproduce: pod {pod.key}, class {key!r}, {table.num_nodes} nodes in {table.size} rows, "
            f"capacity {table.capacity}, row log {table.row_log.version}, node log "
            f"{table.node_log.version}, layout {table.layout}"
        )
        fault.__cause__ = error
        self.report(Status.from_error(fault), pod)
        if begun is None:
            return None
        # pre_filter is called once in a cycle: the full search goes on from there.
        fresh = Decision(pod, begun.state)
        fresh.pre_filter = begun.pre_filter
        return fresh

    def _decide(self, framework: Framework, pod: Pod) -> Decision | None:
        if pod.status.nominated_node_name:
            return None
        known = self.classes.lookup(framework, pod)
        if known is None:
            return None
        found = known.found
        nominated = known.nominations
        if (known.scores or found.outlined) and not nominated and found.best_alike():
            decision = self._quiet(known, pod) if known.scores else None
            if decision is not None:
                return self._take_alike(found, decision)
            if found.outlined:
                return self._decide_beside_live(framework, known, pod, alike=True)
        if not found.refresh():
            return None
        decision = self._quiet(known, pod) if known.scores or not found.feasible else None
        if decision is not None:
            if found.feasible and not nominated:
                found.alike.visited()
                return self._take(found, decision)
            return self._beside_nominated(framework, known, decision, quiet=True)
        return self._decide_beside_live(framework, known, pod)

    def _quiet(self, known: Known, pod: Pod) -> Decision | None:
        """Begin a cycle in which no live plugin has anything to say; ``None`` if one may have."""
        state = known.quiet_state(self.classes.objects)
        if state is None:
            return None
        decision = Decision(pod, state)
        decision.pre_filter, decision.evaluated = _NOTHING_SAID, known.found.table.num_nodes
        decision.idle = known.idle
        return decision

    def _decide_beside_live(
        self, framework: Framework, known: Known, pod: Pod, *, alike: bool = False
    ) -> Decision | None:
        """Ask the live plugins, first of all at pre_filter; *alike*: the best rows are found, if nobody
        objects.
        """
        found = known.found
        decision = Decision(pod, found.new_state())
        live = found.parts.live
        outcome = _NOTHING_SAID
        rows = found.table.rows()
        if live.pre_filter:
            outcome = run_pre_filter(live, decision.state, pod, rows)
            decision.pre_filter, self._begun = outcome, decision
            if outcome.status is not None and outcome.status.code is Code.ERROR:
                return _failed(decision, outcome.status)
            if outcome.status is not None:
                return self._rejected(found, decision, outcome)
            if outcome.node_names is not None:
                return _unsettled(decision, outcome)
        decision.pre_filter = outcome
        decision.evaluated = len(rows)
        skip = decision.state.skip_filter_plugins
        asked = [entry for entry in live.filter if entry.name not in skip]
        if alike and not asked:
            return self._choose_alike(known, decision)
        if found.outlined and not found.refresh():
            return _unsettled(decision, decision.pre_filter)
        if asked:
            return self._ask(framework, known, decision, asked)
        return self._beside_nominated(framework, known, decision, quiet=False)

    def _rejected(self, found: PodClass, decision: Decision, outcome: PreFilterOutcome) -> Decision:
        """A live pre_filter rejected the pod: the cycle state must be what the full search would leave."""
        status = outcome.status
        assert status is not None
        if status.code is Code.UNSCHEDULABLE:
            # All plugins are called in that case.
            return _unsettled(decision, outcome)
        # Plugins behind the rejecting one are not called, and their entries are missing for post_filter.
        names = [entry.name for entry in found.framework.plan.pre_filter]
        rejecting = {status.plugin} if status.plugin else outcome.plugins
        last = max([names.index(name) for name in rejecting if name in names], default=len(names))
        before = set(names[:last])
        state = CycleState()
        earlier = [entry for entry in found.parts.remembered.pre_filter if entry.name in before]
        run_pre_filter(
            evolve(found.parts.remembered, pre_filter=tuple(earlier)), state, decision.pod, found.table.rows()
        )
        state.take_over(decision.state, but=found.state)
        rejected = Decision(decision.pod, state)
        return _unsettled(rejected, outcome)

    def _beside_nominated(
        self, framework: Framework, known: Known, decision: Decision, *, quiet: bool
    ) -> Decision | None:
        """No live plugin filters; *quiet*: none scores either."""
        found = known.found
        if known.nominations:
            pod = decision.pod
            if framework.handle.nominator.node_of(pod) is not None:
                return _unsettled(decision, decision.pre_filter)
            expected = found.expected(pod.priority)
            expected.sync(framework, decision.state, pod)
            if not found.usable:
                return _unsettled(decision, decision.pre_filter)
            if expected.any:
                return self._beside_expected(found, decision, expected)
        if quiet and found.feasible:
            return self._take(found, decision)
        return self._choose(known, decision, quiet=quiet)

    # ---- nobody else rejects anything --------------------------------------------------------------------

    def _choose(self, known: Known, decision: Decision, *, quiet: bool = False) -> Decision | None:
        found = known.found
        live = found.parts.live
        if not found.feasible:
            verdicts = decision.verdicts = found.verdicts()
            decision.error = verdicts.first_error()
            if decision.error is None:
                assert decision.pre_filter is not None
                decision.diagnosis = diagnose(decision.pre_filter, verdicts, len(verdicts.rows))
                if not quiet:
                    known.note_quiet(decision.pod, decision.state, self.classes.objects, scores=False)
            return decision
        if found.feasible > 1 and live.score:
            feasible = decision.feasible = found.feasible_rows()
            asked = _who_scores(found, decision, feasible)
            if asked is None:
                return decision
            if asked:
                return self._score(found, decision, feasible, asked)
            known.note_quiet(decision.pod, decision.state, self.classes.objects, scores=True)
        return self._take(found, decision)

    def _choose_alike(self, known: Known, decision: Decision) -> Decision | None:
        """As :meth:`_choose`, where nothing is known by row."""
        found = known.found
        feasible = found.alike.feasible_rows()
        if len(feasible) > 1 and found.parts.live.score:
            asked = _who_scores(found, decision, feasible)
            if asked is None:
                decision.feasible = feasible
                return decision
            if asked:
                if not found.refresh():
                    return None
                decision.feasible = found.feasible_rows()
                return self._score(found, decision, found.feasible_rows(), asked)
            known.note_quiet(decision.pod, decision.state, self.classes.objects, scores=True)
        return self._take_alike(found, decision)

    def _take_alike(self, found: PodClass, decision: Decision) -> Decision:
        """One of the best rows, where nothing is known by row."""
        decision.by_groups = found.alike
        decision.node_name = found.table.name_of(found.alike.one_of(self.rng))
        return decision

    def _score(
        self, found: PodClass, decision: Decision, feasible: Rows, asked: list[ScoreEntry]
    ) -> Decision | None:
        """Live plugins score the *feasible* rows."""
        row = self._best_of_groups(found, decision, asked)
        if row is None:
            return self._choose_scored(found, decision, feasible)
        decision.node_name = found.table.name_of(row)
        return decision

    def _take(self, found: PodClass, decision: Decision) -> Decision | None:
        """One of the rows with the highest total."""
        row = found.maxima.choose(self.rng, found.table.size)
        if row is None:
            return None
        if decision.feasible is None:
            decision.feasible = found.feasible_rows()
        decision.node_name = found.table.name_of(row)
        return decision

    def _best_of_groups(self, found: PodClass, decision: Decision, asked: list[ScoreEntry]) -> int | None:
        """One of the best of all feasible rows, where the one live plugin that scores does so by group.

        ``None`` to look at each row; so whatever a plugin does wrong is met and reported there.
        """
        entry = asked[0]
        if len(asked) > 1 or entry.score_groups is None:
            return None
        try:
            answer = entry.score_groups(decision.state, decision.pod, found.table)
            if answer is None:
                return None
            grouped = found.groupings.of(answer.columns, found.maxima, found.table)
            if grouped is None:
                return None
            keys = grouped.present()
            scores = answer.scores(keys)
        except Exception:  # noqa: BLE001 - a short cut that is not there
            return None
        if len(scores) != len(keys) or set(map(type, scores)) != _INT:
            return None
        if min(scores) < MIN_SCORE or max(scores) > MAX_SCORE:
            return None
        if entry.weight != 1:
            scores = [score * entry.weight for score in scores]
        return grouped.choose(scores, self.rng, found.table.size)

    def _choose_scored(self, found: PodClass, decision: Decision, feasible: Rows) -> Decision | None:
        """Add what live plugins give to what is remembered, then take one of the best."""
        rows = found.table.rows()
        if len(feasible) == len(rows):
            # The same rows in the same order: columns need not be picked apart.
            feasible = rows
        total = totals_of(found, feasible)
        if found.parts.live.score:
            scores = run_scores(found.parts.live, decision.state, decision.pod, feasible)
            if isinstance(scores, Status):
                return _failed(decision, scores)
            total = total + scores.total
        decision.node_name = found.table.name_of(one_of(feasible, total == total.max(), self.rng))
        return decision

    # ---- live plugins and nominated pods have a say ------------------------------------------------------

    def _ask(
        self, framework: Framework, known: Known, decision: Decision, asked: list[FilterEntry]
    ) -> Decision | None:
        """Live filters have something to say; their columns alone where that is enough."""
        found = known.found
        if any(entry.filter_rows is None for entry in asked) or framework.nominated.nodes_for(decision.pod):
            return self._merged(framework, found, decision, asked)
        if len(asked) == 1:
            decided = self._ask_groups(known, decision, asked[0])
            if decided is not None:
                return decided
        rows, order = found.table.rows(), found.parts.order
        answers = ask_all(asked, order, decision.state, decision.pod, rows)
        if not answers:
            return self._choose(known, decision)
        codes = rows.take(found.codes)
        if not any(answer.fails for answer in answers):
            mask = passing(codes, found.feasible < len(rows), answers)
            if mask.any():
                return self._choose_where(found, decision, mask)
        verdicts = Verdicts(rows, codes.copy(), list(found.statuses))
        places = found.numbering.places_of(verdicts.codes)
        for answer in answers:
            merge(answer, verdicts, places)
        return self._of_verdicts(found, decision, verdicts)

    def _ask_groups(self, known: Known, decision: Decision, entry: FilterEntry) -> Decision | None:
        """The one live plugin that filters says which groups of rows pass; two rows or more do.

        ``None`` to look at each row, as where it is to be told why none passes.
        """
        found = known.found
        table = found.table
        passing = self._groups_that_pass(found, decision, entry)
        if passing is None:
            return None
        grouped, groups, every = passing
        count = sum([group.rows for group in groups])
        if count < 2:
            return None
        if every:
            return self._choose(known, decision)
        feasible: Rows = LazyRows(table, count, lambda: grouped.rows_of(groups))
        decision.feasible = feasible
        asked = _who_scores(found, decision, feasible)
        if asked is None:
            return decision
        if asked:
            return self._choose_scored(found, decision, feasible)
        decision.node_name = table.name_of(grouped.choose([0] * len(groups), self.rng, table.size, groups))
        return decision

    def _groups_that_pass(
        self, found: PodClass, decision: Decision, entry: FilterEntry
    ) -> tuple[GroupedMaxima, list[Group], bool] | None:
        """The groups of feasible rows that pass, and whether all do; ``None`` to look at each row.

        So is done where totals depend on the highest score of the rows that pass.
        """
        if entry.filter_groups is None or any([column.highest for column in found.normalized]):  # noqa: C419
            return None
        try:
            answer = entry.filter_groups(decision.state, decision.pod, found.table)
            grouped = (
                None if answer is None else found.groupings.of(answer.columns, found.maxima, found.table)
            )
            if grouped is None:
                return None
            keys = grouped.present()
            passes = answer.passes(keys)
        except Exception:  # noqa: BLE001 - a short cut that is not there
            return None
        if len(passes) != len(keys) or set(map(type, passes)) - _BOOL:
            return None
        return grouped, grouped.chosen(passes), all(passes)

    def _choose_where(self, found: PodClass, decision: Decision, mask: Mask) -> Decision | None:
        """Score and choose among the rows at which *mask* is true."""
        rows, table = found.table.rows(), found.table
        count = int(np.count_nonzero(mask))
        feasible: Rows = LazyRows(table, count, lambda: rows.select(mask).positions)
        decision.feasible = feasible
        if count == 1:
            decision.node_name = feasible.names()[0]
            return decision
        asked = _who_scores(found, decision, feasible)
        if asked is None:
            return decision
        if asked:
            return self._choose_scored(found, decision, feasible)
        decision.node_name = table.name_of(one_of(rows, best_where(found, rows, mask), self.rng))
        return decision

    def _merged(
        self, framework: Framework, found: PodClass, decision: Decision, asked: list[FilterEntry]
    ) -> Decision | None:
        """Plugins without columnar form, or nominated pods: verdicts of all rows are put together."""
        rows, order = found.table.rows(), found.parts.order
        verdicts = Verdicts(rows, found.codes[rows.index].copy(), list(found.statuses))
        places = found.numbering.places_of(verdicts.codes)
        for entry in asked:
            ask(entry, order[entry.name], decision.state, decision.pod, verdicts, places)
        nominated = framework.nominated.nodes_for(decision.pod)
        if nominated:
            framework.nominated.overlay(decision.state, decision.pod, verdicts, nominated)
        return self._of_verdicts(found, decision, verdicts)

    def _beside_expected(
        self, found: PodClass, decision: Decision, expected: ExpectedPods
    ) -> Decision | None:
        """Nominated pods take room on some rows; no other plugin has anything to say."""
        rows = found.table.rows()
        codes = expected.codes[rows.index]
        verdicts = Verdicts.counted(rows, codes, found.statuses, expected.counts())
        return self._of_verdicts(found, decision, verdicts)

    def _of_verdicts(self, found: PodClass, decision: Decision, verdicts: Verdicts) -> Decision | None:
        """Score and choose among the rows that pass; or say why none does."""
        rows = verdicts.rows
        decision.verdicts = verdicts
        error = verdicts.first_error()
        if error is not None:
            return _failed(decision, error)
        passing = verdicts.passing()
        if not len(passing):
            assert decision.pre_filter is not None
            decision.diagnosis = diagnose(decision.pre_filter, verdicts, len(rows))
            return decision
        feasible = decision.feasible = rows if len(passing) == len(rows) else rows.select(passing)
        if len(feasible) == 1:
            decision.node_name = feasible.names()[0]
            return decision
        if _who_scores(found, decision, feasible) is None:
            return decision
        return self._choose_scored(found, decision, feasible)


def _who_scores(found: PodClass, decision: Decision, feasible: Rows) -> list[ScoreEntry] | None:
    """Ask the live plugins' pre_score; those that will score, ``None`` if one failed: that ends the cycle."""
    live, state = found.parts.live, decision.state
    if not live.score:
        return []
    status = run_pre_score(live, state, decision.pod, feasible)
    if status is not None:
        decision.pre_score_error = decision.error = status
        return None
    return [entry for entry in live.score if entry.name not in state.skip_score_plugins]


def _unsettled(decision: Decision, outcome: PreFilterOutcome | None) -> Decision:
    """pre_filter was asked, and is not to be asked again: the search goes on with what it said."""
    decision.pre_filter, decision.evaluated, decision.idle = outcome, 0, False
    return decision


def _failed(decision: Decision, error: Status) -> Decision:
    """A plugin that was asked failed: that ends the cycle, as it does the long way."""
    decision.error = error
    return decision


_NOTHING_SAID = PreFilterOutcome()
_INT = {int}
_BOOL = {bool}
