"""Extenders in the search: what remains of the feasible nodes, and scores besides those of the plugins.

The core may go on with events while a remote extender answers, and the node table may have changed then.
Names are therefore read before a call, and the nodes are filtered again after it if any row changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
from attrs import field

from ..._base.value import record
from ...api import Pod
from ...framework import (
    SCORE_SCALE,
    CycleState,
    Extender,
    ExtenderError,
    ExtenderFilterResult,
    ExtenderVerb,
    Framework,
    OfferedNodes,
    ScoreTable,
    Status,
)
from ...framework.extender import checked, is_interested, sums_of_scores
from ...framework.plan import Plan
from ...framework.scoring import run_scores
from ...state import Rows
from ...state.greatest import greatest
from .decision import Decision, PreparedScores
from .diagnosis import refuse
from .replaced_nodes import ReplacedRows, plan_by_node
from .sampling import SearchOrder
from .tie_breaking import Ties

_IN_SEARCH = frozenset({ExtenderVerb.FILTER, ExtenderVerb.PRIORITIZE})


@record(frozen=True)
class _Failures:
    """The failures of one answer, as statuses."""

    failed: Mapping[str, str]
    failed_and_unresolvable: Mapping[str, str]
    statuses: Mapping[str, Status]
    reported_by: Mapping[str, str]
    """Node → the extender."""

    @classmethod
    def of(cls, answer: ExtenderFilterResult, extender: str) -> _Failures:
        """Return the failures of *answer*; those that removing pods cannot help have precedence."""
        failed, unresolvable = dict(answer.failed), dict(answer.failed_and_unresolvable)
        statuses = {name: Status.unschedulable(reason) for name, reason in failed.items()}
        statuses |= {name: Status.unresolvable(reason) for name, reason in unresolvable.items()}
        return cls(failed, unresolvable, statuses, dict.fromkeys(statuses, extender))

    def are_of(self, answer: ExtenderFilterResult) -> bool:
        """Return whether *answer* reports the same."""
        return self.failed == answer.failed and self.failed_and_unresolvable == answer.failed_and_unresolvable


@record(eq=False)
class Extending:
    """Asks the extenders of a scheduler. One for all profiles; core only."""

    extenders: tuple[Extender, ...]
    """In the order of their calls."""
    order: SearchOrder
    report: Callable[[Status, Pod], None] = lambda status, pod: None
    """Called with errors that do not end the cycle."""
    _last_offer: tuple[int, OfferedNodes | None] = field(default=(-1, None), init=False)
    """Version of the node log and the nodes: most offers are equal to the one before."""
    _left: OfferedNodes | None = field(default=None, init=False)
    """What the last :meth:`filter` left."""
    _failures: dict[str, _Failures] = field(factory=dict, init=False)
    """Extender → what it last reported: many report the same for each pod."""
    _plans: dict[Framework, Plan] = field(factory=dict, init=False)

    def interested(self, pod: Pod) -> tuple[Extender, ...]:
        """Return the extenders that take part in the search for a node for *pod*."""
        return tuple(
            [each for each in self.extenders if each.verbs & _IN_SEARCH and is_interested(each, pod)]
        )

    # ---- filter ------------------------------------------------------------------------------------------

    def filter(self, framework: Framework, decision: Decision, feasible: Rows) -> Rows | None:
        """Return what remains of the *feasible* rows.

        Statuses of the extenders are added to ``decision.named``. ``None`` if the cycle is over: the decision
        has an error, or a diagnosis because pre_filter rejects the pod by now.
        """
        version = feasible.table.row_log.version
        offered = first = self._offer(feasible)
        filters = [each for each in decision.extenders if ExtenderVerb.FILTER in each.verbs]
        for extender in filters:
            if not len(offered):
                break
            try:
                wait = _sent(extender, "filter", decision.pod, offered)
                if extender is filters[-1]:
                    self._prepare(framework, decision, offered)
                answer = checked(extender, wait, ExtenderFilterResult)
                kept = offered.kept(extender.name, answer)
            except ExtenderError as error:
                if not extender.is_ignorable:
                    decision.error = Status.from_error(error)
                    return None
                self._skipped(extender, error, decision.pod)
                continue
            self._add_failures(decision, extender, answer)
            offered = kept
        self._left = offered
        rows = offered.rows if offered.rows is not None else ReplacedRows.of(offered.nodes)
        if decision.pre_filter is None and not self._run_pre_filter(framework, decision):
            return None
        if feasible.table.row_log.version == version:
            return rows
        again = self._refiltered(framework, decision, rows, offered.names, set(first.names))
        return None if again is None else again[0]

    def _offer(self, feasible: Rows) -> OfferedNodes:
        """Return the *feasible* rows, with their names."""
        version, (known_version, known) = feasible.table.node_log.version, self._last_offer
        if known is not None and version == known_version and _are_equal(known.rows, feasible):
            return known
        offered = OfferedNodes(feasible)
        self._last_offer = version, offered
        return offered

    def _add_failures(self, decision: Decision, extender: Extender, answer: ExtenderFilterResult) -> None:
        """Add the failures that *extender* reports, also for nodes that it keeps or that do not exist."""
        if not answer.failed and not answer.failed_and_unresolvable:
            return
        failures = self._failures.get(extender.name)
        if failures is None or not failures.are_of(answer):
            failures = self._failures[extender.name] = _Failures.of(answer, extender.name)
        decision.named = {**decision.named, **failures.statuses}
        decision.named_by = {**decision.named_by, **failures.reported_by}

    def _skipped(self, extender: Extender, error: ExtenderError, pod: Pod) -> None:
        self.report(Status.from_error(error, extender.name), pod)

    def _refiltered(
        self, framework: Framework, decision: Decision, rows: Rows, names: Sequence[str], present: set[str]
    ) -> tuple[Rows, list[int]] | None:
        """Return those of *rows*, once named *names*, that are still there and still pass; events came in.

        With their positions. *present*: names that were in the node table; other ones are left alone.
        ``None`` as for :meth:`filter`.
        """
        table, pod = framework.handle.table, decision.pod
        decision.state, decision.prepared = CycleState(), None
        outcome = decision.pre_filter = framework.run_pre_filter(decision.state, pod, table.rows())
        if outcome.status is not None:
            refuse(decision, table, outcome)
            return None
        allowed = outcome.node_names
        row_of = {n: table.live_row(n) for n in names if n in present and (allowed is None or n in allowed)}
        live = list(dict.fromkeys(row for row in row_of.values() if row is not None))
        verdicts = framework.filter_rows(decision.state, pod, Rows.at(table, np.array(live, np.intp)))
        decision.error = verdicts.first_error()
        if decision.error is not None:
            return None
        passing = set(verdicts.rows.select(verdicts.passing()).positions.tolist())
        kept = [i for i, name in enumerate(names) if name not in present or row_of.get(name) in passing]
        if not kept:
            decision.verdicts = verdicts
        if isinstance(rows, ReplacedRows):
            return rows.subset(kept), kept
        return Rows.at(table, np.array([row_of[names[i]] for i in kept], np.intp)), kept

    def _prepare(self, framework: Framework, decision: Decision, offered: OfferedNodes) -> None:
        """Do what is needed if the answer is that of the last time, before it is awaited."""
        if decision.pre_filter is None and not self._run_pre_filter(framework, decision):
            return
        if offered.likely is not None:
            offered = offered.likely
        rows = offered.rows
        if rows is not None and len(rows) > 1:
            scores = self._plugin_scores(framework, decision, rows)
            if isinstance(scores, Status) or _prioritizers(decision):
                decision.prepared = PreparedScores(rows, scores)
            else:
                decision.prepared = PreparedScores(
                    rows, scores, Ties(rows, scores.total == greatest(scores.total))
                )

    def _run_pre_filter(self, framework: Framework, decision: Decision) -> bool:
        """Run pre_filter where the equivalence cache filtered the nodes; return whether the pod passes."""
        table = framework.handle.table
        outcome = decision.pre_filter = framework.run_pre_filter(decision.state, decision.pod, table.rows())
        if outcome.status is not None:
            refuse(decision, table, outcome)
        return outcome.status is None

    # ---- scores ------------------------------------------------------------------------------------------

    def score(self, framework: Framework, decision: Decision) -> None:
        """Fill in the scores of plugins and extenders, or the error of a plugin."""
        rows, prepared = decision.feasible, decision.prepared
        assert rows is not None
        decision.prepared = None
        if prepared is not None and prepared.rows is rows:
            scores, decision.ties = prepared.scores, prepared.ties
        else:
            scores = self._plugin_scores(framework, decision, rows)
        decision.scored = bool(framework.plan.score)
        if isinstance(scores, Status):
            decision.error = scores
        elif len(rows) > 1:
            self._prioritize(framework, decision, scores)
        else:
            decision.scores = scores

    def _plugin_scores(self, framework: Framework, decision: Decision, rows: Rows) -> ScoreTable | Status:
        """Return the scores of the plugins, or an error. Replaced rows are scored as they came back."""
        state, pod = decision.state, decision.pod
        if framework.plan.score:
            state.skip_score_plugins.clear()
            error = framework.run_pre_score(state, pod, rows)
            if error is not None:
                return error
        if isinstance(rows, ReplacedRows):
            return run_scores(self._plan_by_node(framework), state, pod, rows)
        return framework.run_scores(state, pod, rows)

    def _plan_by_node(self, framework: Framework) -> Plan:
        plan = self._plans.get(framework)
        if plan is None:
            plan = self._plans[framework] = plan_by_node(framework)
        return plan

    def _prioritize(self, framework: Framework, decision: Decision, scores: ScoreTable) -> None:
        """Add the scores of the extenders to those of the plugins."""
        rows, table = scores.rows, framework.handle.table
        version = table.row_log.version
        prioritizers = _prioritizers(decision)
        if not prioritizers:
            decision.scores = scores
            return
        if isinstance(rows, ReplacedRows):
            offered = OfferedNodes(None, rows.nodes)
        else:
            left = self._left
            offered = left if left is not None and left.rows is rows else self._offer(rows)
        names = offered.names
        present = {name for name in names if table.live_row(name) is not None} if offered.replaced else set()
        calls = [(each, _sent(each, "prioritize", decision.pod, offered)) for each in prioritizers]
        for extender, wait in calls:
            factor = extender.weight * SCORE_SCALE
            try:
                given = checked(extender, lambda: sums_of_scores(wait(), factor), dict)  # noqa: B023 - called at once
            except ExtenderError as error:
                self._skipped(extender, error, decision.pod)
            else:
                scores.add_extender(extender.name, names, given)
        decision.scores = scores
        if table.row_log.version != version:
            present = present if offered.replaced else set(names)
            again = self._refiltered(framework, decision, rows, names, present)
            decision.scores = None if again is None else scores.restricted(again[0], names, again[1])
            decision.feasible = None if again is None else again[0]


def _prioritizers(decision: Decision) -> list[Extender]:
    return [each for each in decision.extenders if ExtenderVerb.PRIORITIZE in each.verbs]


def _sent(extender: Extender, call: str, pod: Pod, offered: OfferedNodes) -> Callable[[], Any]:
    """Send the request of a remote extender; return what gives the answer of any extender."""
    # Looked up by name: isinstance with a protocol takes as long as deciding a pod.
    send: Callable[[Pod, OfferedNodes], Callable[[], Any]] | None = getattr(extender, f"send_{call}", None)
    if send is None:
        return partial(getattr(extender, call), pod, offered)
    try:
        return send(pod, offered)
    except Exception as error:  # noqa: BLE001 - raised where the answer is awaited
        return partial(_fail, error)


def _fail(error: Exception) -> NoReturn:
    raise error


def _are_equal(rows: Rows | None, others: Rows) -> bool:
    """Return whether both are the same rows in the same order."""
    return rows is others or (rows is not None and np.array_equal(rows.positions, others.positions))
