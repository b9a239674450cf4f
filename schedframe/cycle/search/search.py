"""Find the nodes on which a pod can run, score them and choose one: the heart of the scheduling cycle."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt

from ..._base.value import record
from ...api import Pod
from ...framework import (
    EXTENDER,
    CycleState,
    Diagnosis,
    Extender,
    Framework,
    PreFilterOutcome,
    Status,
    Verdicts,
)
from ...state import Cache, Rows
from ...state.greatest import greatest
from .decision import Decision
from .diagnosis import Refused, diagnose, refuse
from .extending import Extending
from .fast_path import FastPath
from .sampling import Sampling
from .tie_breaking import Ties

NO_NODES = Status.unresolvable("no nodes available to schedule pods")
"""Ends the cycle as an error does, and is no fault: the pod is tried again after its backoff."""

Positions = npt.NDArray[np.intp]


@record(eq=False)
class Search:
    """Finds a node for a pod. All nodes are looked at unless a :class:`Sampling` leaves some out.

    Without ``shortcuts`` the nominated node is no better than others, and a single feasible one is scored.
    """

    cache: Cache
    rng: Random
    sampling: Sampling | None = None
    shortcuts: bool = True
    fast: FastPath | None = None
    """Decides for pods like earlier ones, where all nodes are looked at: a sample differs every time."""
    extending: Extending | None = None
    """Asks the extenders, if there are any."""
    fast_filter: FastPath | None = None
    """Finds the feasible rows to ask extenders about. Its choices and draws count for nothing."""

    def decide(self, framework: Framework, pod: Pod) -> Decision:
        """Take one pod through pre_filter, filter, pre_score, score and select."""
        extending = self.extending
        if extending is not None and (extenders := extending.interested(pod)):
            return self._decide_with(extending, extenders, framework, pod)
        decision, fast, sampling = None, self.fast, self.sampling
        if fast is not None and (sampling is None or sampling.covers(framework)):
            decision = fast.decide(framework, pod) if self.cache.table.num_nodes else None
            if decision is not None:
                if decision.node_name is not None:
                    return decision
                if decision.is_settled:
                    if decision.diagnosis is None or not framework.plan.runs_all_filters:
                        return decision
                    decision = decision.before_filters()  # the cache knows the first rejection of a node
        if decision is None:
            decision = Decision(pod, CycleState())
        if self._find(framework, decision):
            self._choose(framework, decision)
        return decision

    def decide_among(self, framework: Framework, pod: Pod, among: Rows) -> Decision:
        """As :meth:`decide`, with the nodes of *among* alone to choose from.

        What plugins count beforehand covers all nodes.
        """
        extenders = self.extending.interested(pod) if self.extending is not None else ()
        cached = not extenders and not framework.plan.runs_all_filters and self._takes_all(framework)
        if self.fast is not None and cached:
            decision = self.fast.decide_among(framework, pod, among)
            if decision is not None:
                self._advance(decision, None)
                return decision
        decision = Decision(pod, CycleState())
        if extenders:
            decision.extenders = extenders
        if self._find(framework, decision, among):
            self._choose(framework, decision)
        return decision

    def feasible_codes(self, framework: Framework, pod: Pod) -> npt.NDArray[np.integer] | None:
        """Return a column with 0 for each row that is feasible for *pod*; ``None`` if only a search can tell.

        Of shape ``(capacity,)``, and good until a row changes.
        """
        asks = self.extending is not None and self.extending.interested(pod)
        if self.fast is None or asks or not self._takes_all(framework):
            return None
        return self.fast.feasible_codes(framework, pod)

    def _takes_all(self, framework: Framework) -> bool:
        """Return whether all nodes are looked at for pods of *framework*; O(1)."""
        return self.sampling is None or self.sampling.covers(framework)

    def _decide_with(
        self, extending: Extending, extenders: tuple[Extender, ...], framework: Framework, pod: Pod
    ) -> Decision:
        """As :meth:`decide`, for a pod that *extenders* are interested in."""
        decision = self._filtered_by_cache(framework, pod) or Decision(pod, CycleState())
        if decision.is_settled:
            return decision
        decision.extenders = extenders
        if decision.feasible is not None:
            self._extend(framework, decision, None)
        else:
            self._find(framework, decision)
        if decision.feasible is not None and decision.error is None:
            self._choose(framework, decision)
        return decision

    def _filtered_by_cache(self, framework: Framework, pod: Pod) -> Decision | None:
        """Return the decision of the equivalence cache, with feasible rows in place of a node.

        ``None`` for a full search; one that is not settled and has no feasible rows is gone on with there.
        """
        if self.fast_filter is None or not self.cache.table.num_nodes or not self._takes_all(framework):
            return None
        decision = self.fast_filter.decide(framework, pod)
        if decision is not None and decision.diagnosis is not None and framework.plan.runs_all_filters:
            return decision.before_filters()  # the cache knows the first rejection of a node only
        if decision is not None and decision.node_name is not None:
            decision.feasible, decision.by_groups = decision.feasible, None
            decision.node_name = decision.scores = None
        return decision

    # ---- filter ------------------------------------------------------------------------------------------

    def _find(self, framework: Framework, decision: Decision, among: Rows | None = None) -> bool:
        """Fill in what is feasible, of *among* or of all nodes; whether anything is."""
        table = self.cache.table
        if not table.num_nodes:
            decision.error = NO_NODES
            return False
        rows = table.rows()
        outcome = decision.pre_filter
        if outcome is None:
            outcome = decision.pre_filter = framework.run_pre_filter(decision.state, decision.pod, rows)
        if outcome.status is not None:
            refuse(decision, table, outcome)
            if among is not None and decision.diagnosis is not None:
                decision.diagnosis.num_nodes = len(among)
            return False
        refused = self._try_nominated(framework, decision, among)
        if decision.feasible is not None or decision.error is not None:
            return decision.error is None
        candidates = self._candidates(rows if among is None else among, outcome)
        if self.sampling is None or self.sampling.covers(framework):
            verdicts = framework.filter_rows(decision.state, decision.pod, candidates)
            found = verdicts.passing()
            evaluated = len(candidates)
        else:
            restricted = among is not None or outcome.node_names is not None
            verdicts, found, evaluated = self._sample(
                framework, decision, self.sampling, candidates, restricted=restricted
            )
        decision.verdicts, decision.evaluated = verdicts, evaluated
        if verdicts.statuses:
            decision.error = verdicts.first_error()
        if decision.error is None and len(found):
            decision.feasible = (
                candidates if _is_all(found, candidates, verdicts) else verdicts.rows.select(found)
            )
        elif decision.error is None:
            decision.diagnosis = self._diagnose(decision, refused, among)
        self._advance(decision, refused)
        if decision.extenders and decision.feasible is not None:
            self._extend(framework, decision, refused, among)
        return decision.feasible is not None

    def _extend(
        self, framework: Framework, decision: Decision, refused: Refused | None, among: Rows | None = None
    ) -> None:
        """Leave the feasible rows that the extenders keep; without any, say why."""
        extending, feasible, verdicts = self.extending, decision.feasible, decision.verdicts
        assert extending is not None
        assert feasible is not None
        if decision.named and verdicts is not None:
            # What an extender said of the nominated node gives way to what the filters say of it now.
            rejected = set(verdicts.rows.select(verdicts.codes != 0).names())
            decision.named = {name: s for name, s in decision.named.items() if name not in rejected}
        if self._takes_all(framework):
            feasible = extending.order.sorted(feasible)
        rows = extending.filter(framework, decision, feasible)
        decision.feasible = rows if rows is not None and len(rows) else None
        if rows is not None and not len(rows):
            if decision.verdicts is None:
                # The equivalence cache filtered, which keeps no verdicts.
                everything = self.cache.table.rows()
                decision.verdicts = framework.filter_rows(decision.state, decision.pod, everything)
            decision.diagnosis = self._diagnose(decision, refused, among)
            decision.diagnosis.unschedulable_plugins.add(EXTENDER)

    def _diagnose(self, decision: Decision, refused: Refused | None, among: Rows | None = None) -> Diagnosis:
        """Return why no node remains, of *among* or of all nodes."""
        outcome, verdicts = decision.pre_filter, decision.verdicts
        assert outcome is not None
        assert verdicts is not None
        num_nodes = self.cache.table.num_nodes if among is None else len(among)
        diagnosis = diagnose(outcome, verdicts, num_nodes, refused)
        diagnosis.named.update(decision.named)
        return diagnosis

    def _try_nominated(
        self, framework: Framework, decision: Decision, among: Rows | None = None
    ) -> Refused | None:
        """Take the nominated node if it passes; the node and why, if it was tried and refused."""
        name = decision.pod.status.nominated_node_name
        if not name or not self.shortcuts:
            return None
        table = self.cache.table
        row = table.live_row(name)
        if row is None or (among is not None and row not in among.positions):
            return None
        info = table.info(row)
        status = framework.filter_nominated(decision.state, decision.pod, info)
        if status is not None:
            # An error here is not final: the search that follows meets it again where it matters.
            return Refused(name, row, status) if status.is_rejected else None
        feasible: Rows | None = Rows.at(table, np.array([row], np.intp))
        if decision.extenders and self.extending is not None and feasible is not None:
            feasible = self.extending.filter(framework, decision, feasible)
            if feasible is None or not len(feasible):
                # As above: the search that follows asks them again.
                decision.error = decision.diagnosis = None
                return None
        decision.feasible = feasible
        decision.evaluated = 1
        decision.shortcut = "nominated"
        return None

    def _candidates(self, rows: Rows, outcome: PreFilterOutcome) -> Rows:
        if outcome.node_names is None:
            return rows
        table = self.cache.table
        found = {table.live_row(name) for name in outcome.node_names}
        there = found if len(rows) == table.num_nodes else found.intersection(rows.positions.tolist())
        positions = sorted(row for row in there if row is not None)
        return Rows.at(table, np.array(positions, np.intp))

    # ---- sampling ----------------------------------------------------------------------------------------

    def _sample(
        self,
        framework: Framework,
        decision: Decision,
        sampling: Sampling,
        candidates: Rows,
        *,
        restricted: bool,
    ) -> tuple[Verdicts, Positions, int]:
        """Look at candidates in search order until one more than enough is found."""
        ordered = candidates.positions if restricted else sampling.ordered()
        if not len(ordered):
            return Verdicts.passing_all(candidates), np.empty(0, np.intp), 0
        wanted = sampling.wanted(framework, len(ordered))
        ordered = sampling.rotated(ordered)
        if not framework.plan.filter:
            verdicts = Verdicts.passing_all(Rows.at(candidates.table, ordered))
            return verdicts, np.arange(min(wanted, len(ordered))), min(wanted, len(ordered))
        if any(entry.filter_rows is None for entry in framework.plan.filter):
            # A plugin has no columnar form: it sees just the nodes it must.
            rows = Rows.at(candidates.table, ordered)
            return _met(*framework.filter_in_order(decision.state, decision.pod, rows, wanted))
        # Columns make looking ahead cheap: first what is likely to hold enough, else everything.
        for portion in (2 * wanted + 64, len(ordered)):
            rows = Rows.at(candidates.table, ordered[:portion])
            verdicts = framework.filter_rows(decision.state, decision.pod, rows)
            found = verdicts.passing()
            if len(found) > wanted or portion >= len(ordered):
                break
        return _met(verdicts, int(found[wanted]) if len(found) > wanted else len(rows))

    def _advance(self, decision: Decision, refused: Refused | None) -> None:
        """Move the start of the next search; a refused nominated node counts once, wherever it was met."""
        verdicts = decision.verdicts
        if refused is not None and verdicts is not None:
            met = verdicts.rows.positions[verdicts.codes != 0]
            if refused.row not in met:
                decision.named = {refused.name: refused.status}
                decision.evaluated += 1
        if self.sampling is not None:
            self.sampling.advance(decision.evaluated)

    # ---- score and select --------------------------------------------------------------------------------

    def _choose(self, framework: Framework, decision: Decision) -> None:
        feasible = decision.feasible
        assert feasible is not None
        if len(feasible) == 1 and self.shortcuts:
            decision.node_name = feasible.names()[0]
            return
        if decision.extenders and self.extending is not None:
            self.extending.score(framework, decision)
        else:
            score(framework, decision)
        if decision.scores is not None:
            if self.extending is not None and not framework.plan.score:
                decision.scores.total = decision.scores.total - 1  # as in the reference, sums start from 0
            decision.node_name = select(decision, self.rng)


def _met(verdicts: Verdicts, end: int) -> tuple[Verdicts, Positions, int]:
    """Return the verdicts, the passing positions and the number of nodes that a search until *end* met.

    It ends at the first error, too, which does not count.
    """
    failed = verdicts.first_failed()
    if failed is not None and failed < end:
        end = failed + 1
    if end < len(verdicts.rows):
        verdicts = verdicts.first(end)
    return verdicts, verdicts.passing(), end - (failed is not None and failed < end)


def score(framework: Framework, decision: Decision) -> None:
    """pre_score and score for the feasible rows; fills in ``scores`` or ``error``."""
    feasible = decision.feasible
    assert feasible is not None
    if framework.plan.score:
        decision.scored = True
        error = framework.run_pre_score(decision.state, decision.pod, feasible)
        if error is not None:
            decision.error = decision.pre_score_error = error
            return
    scores = framework.run_scores(decision.state, decision.pod, feasible)
    if isinstance(scores, Status):
        decision.error = scores
    else:
        decision.scores = scores


def select(decision: Decision, rng: Random) -> str:
    """Return one of the nodes with the highest total, as :mod:`~.tie_breaking` says."""
    scores = decision.scores
    assert scores is not None
    ties = decision.ties
    if ties is None:
        ties = Ties(scores.rows, scores.total == greatest(scores.total))
    return scores.rows.table.name_of(ties.draw(rng))


def _is_all(found: Positions, candidates: Rows, verdicts: Verdicts) -> bool:
    return verdicts.rows is candidates and len(found) == len(candidates)
