"""FastSearch: decide from cached answers, calling only the plugins that must be called.

The same statuses, scores, ties and draws as in :class:`.search.Search`. Whatever is not covered here
(``None``) is left to that search. README.md has the data flow.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from attrs import evolve, field

from ..._base.plugin_faults import plugin_faults
from ..._base.value import record
from ...api import Pod
from ...errors import CacheFault
from ...framework import Code, CycleState, Framework, PreFilterOutcome, Status, Verdicts
from ...framework.faults import from_exception
from ...framework.filtering import run_pre_filter
from ...state import Rows
from ..search.decision import Decision
from .among import choose_among
from .cache import EquivalenceCache
from .equivalence_class import EquivalenceClass
from .live_search import LiveSearch, columns_of, pre_score_live, start_after_pre_filter
from .spec_memo import NOTHING_SAID, SpecMemo

T = TypeVar("T")


@record(eq=False)
class FastSearch:
    """A :class:`~..search.fast_path.FastPath`: the search for pods that have an equivalence class.

    What is done depends on the uncached ("live") plugins and on nominated pods:

    ================  =================================  ==================================
    live plugins      no nominated pods                  nominated pods
    ================  =================================  ==================================
    all skip          draw from the index, or columns    overlay on the columns, then draw
    some filter       merge their answers into codes     full overlay by the framework
    some score        add their scores to the totals     the same for rows of the overlay
    ================  =================================  ==================================
    """

    cache: EquivalenceCache
    rng: Random
    report: Callable[[Status, Pod], None] = lambda status, pod: None
    """Called once for each fault of the cache."""
    indexed: EquivalenceClass | None = None
    """The class whose index gave the last decision that was drawn from one."""
    live: LiveSearch = field(init=False)
    """Chooses where a class has columns."""
    _unsigned: set[tuple[str, str]] = field(factory=set, init=False)
    """Profile and name of the plugins whose pod_signature failed."""
    _begun: Decision | None = None
    """The decision for which live pre_filter plugins were called in this cycle."""

    def __attrs_post_init__(self) -> None:
        self.live = LiveSearch(self.rng, self.cache.objects)
        self.cache.on_signature_failure = self._report_signatures

    def decide(self, framework: Framework, pod: Pod) -> Decision | None:
        """Return a decision; ``None`` for a full search, an unsettled one for a search after pre_filter.

        O(dirty rows of the class) where all live plugins skip and no nominated pod is in the way. A fault of
        the cache is reported, its class dropped, and the pod left to the full search. If the fault came after
        a draw among the best rows, that search draws again.
        """
        self._begun = None
        # A nominated pod tries that node alone first, which answers for all rows cannot say.
        if pod.status.nominated_node_name:
            return None
        try:
            memo = self.cache.lookup(framework, pod)
            if memo is None:
                return None
            eq_class, nominated = memo.eq_class, memo.nominations
            only_row = None if eq_class.rejected is None or nominated else eq_class.rejected.only_row()
            # A single feasible row is not scored: the live plugins need not skip then.
            if only_row is not None and (decision := memo.all_skip(pod, self.cache.objects)) is not None:
                decision.by_groups, decision.node_name = eq_class.rejected, eq_class.table.name_of(only_row)
                return decision
            # An index knows rows, not reasons: overlays and filters of live plugins need the columns.
            indexed = memo.all_live_skip or eq_class.columns is None
            if indexed and not nominated and not eq_class.plan.node_filters and eq_class.find_best():
                decision = memo.all_skip(pod, self.cache.objects) if memo.all_live_skip else None
                if decision is not None:
                    return self._draw_indexed(eq_class, decision)
                if eq_class.columns is None:
                    return self._with_live(framework, memo, pod, indexed=True)
            return self._by_columns(framework, memo, pod)
        except plugin_faults() as error:  # whatever is wrong here must not stop the scheduler
            return self._after_fault(framework, pod, error)
        except BaseException:
            self.cache.drop(framework, pod)  # interrupted midway, as by Ctrl-C
            raise

    def _by_columns(self, framework: Framework, memo: SpecMemo, pod: Pod) -> Decision | None:
        """Decide from the columns of the class, built if need be; see :meth:`decide`."""
        eq_class, nominated = memo.eq_class, memo.nominations
        if not eq_class.refresh():
            return None
        lazy = eq_class.plan.node_filters
        feasible = columns_of(eq_class).feasible
        # Where no row is feasible nothing is scored, so only the skips at filtering matter.
        decision = memo.all_skip(pod, self.cache.objects) if memo.all_live_skip or not feasible else None
        if decision is None or (lazy and (nominated or not feasible)):
            return self._with_live(framework, memo, pod)
        if lazy:
            return self.live.filter_lazily(framework, memo, decision, lazy, all_skip=True)
        if feasible and not nominated:
            eq_class.visited()
            return self.live.choose(memo, decision, all_skip=True)
        return self._with_nominated(framework, memo, decision, all_skip=True)

    # ---- some of the nodes -------------------------------------------------------------------------------

    def decide_among(self, framework: Framework, pod: Pod, among: Rows) -> Decision | None:
        """Return the decision of the full search, restricted to *among*; ``None`` to leave it to that search.

        Covers classes for which no uncached plugin has anything to say. O(dirty rows of the class + rows).
        """

        def choose(memo: SpecMemo, decision: Decision) -> Decision:
            return choose_among(memo, decision, among, self.rng)

        return self._with_class(framework, pod, choose)

    def feasible_codes(self, framework: Framework, pod: Pod) -> npt.NDArray[np.integer] | None:
        """Return a column with 0 for each row that is feasible for *pod*; ``None`` if no class can tell.

        Read-only, of shape ``(capacity,)``, and good until a row changes.
        """
        return self._with_class(framework, pod, lambda memo, _: columns_of(memo.eq_class).codes)

    def _with_class(
        self, framework: Framework, pod: Pod, read: Callable[[SpecMemo, Decision], T]
    ) -> T | None:
        """Return what *read* makes of the class of *pod*; faults as in :meth:`decide`."""
        try:
            found = self._of_class(framework, pod)
            return None if found is None else read(*found)
        except plugin_faults() as error:
            self.drop(framework, pod, error)
            return None
        except BaseException:
            self.cache.drop(framework, pod)
            raise

    def _of_class(self, framework: Framework, pod: Pod) -> tuple[SpecMemo, Decision] | None:
        """Return the memo of *pod*, whose class is up to date, and a decision that has begun."""
        if pod.status.nominated_node_name:
            return None
        memo = self.cache.lookup(framework, pod)
        # Nominated pods and filters that never skip change verdicts by pod, not by class.
        if memo is None or memo.nominations or memo.eq_class.plan.node_filters:
            return None
        if not memo.eq_class.refresh():
            return None
        decision = memo.all_skip(pod, self.cache.objects) if memo.all_live_skip else None
        if decision is None and memo.probed != memo.eq_class.generation:
            # The answers of the uncached plugins are learnt by a search among all nodes, once.
            memo.probed = memo.eq_class.generation
            self.decide(framework, pod)
            if memo.eq_class.evicted or not memo.eq_class.refresh() or not memo.all_live_skip:
                return None
            decision = memo.all_skip(pod, self.cache.objects)
        return None if decision is None else (memo, decision)

    # ---- faults ------------------------------------------------------------------------------------------

    def _after_fault(self, framework: Framework, pod: Pod, error: BaseException) -> Decision | None:
        """Return what the full search may go on with; the class is dropped and *error* reported."""
        # What live pre_filter plugins left in the state must not be made twice: they may count.
        begun = self._begun
        self.drop(framework, pod, error)
        return None if begun is None else begun.before_filters()

    def drop(self, framework: Framework, pod: Pod, error: BaseException) -> None:
        """Drop the class of *pod* and report *error* as a fault of the cache."""
        table = framework.handle.table
        key = self.cache.drop(framework, pod)
        fault = CacheFault(
            f"{type(error).__name__}: {error}; the equivalence class was dropped, the full search decides. "
            f"To reproduce: pod {pod.key}, class {key!r}, {table.num_nodes} nodes in {table.size} rows, "
            f"capacity {table.capacity}, row log {table.row_log.version}, node log "
            f"{table.node_log.version}, layout {table.layout}"
        )
        fault.__cause__ = error
        self.report(Status.from_error(fault), pod)

    def feasible_rows(self) -> Rows:
        """Return what the index of the last decision found feasible, by another search if it fails."""
        eq_class = self.indexed
        assert eq_class is not None
        try:
            assert eq_class.index is not None
            return eq_class.index.feasible_rows()
        except plugin_faults() as error:
            framework, pod, state = eq_class.framework, eq_class.pod, eq_class.new_state()
            self.drop(framework, pod, error)
            verdicts = framework.filter_rows(state, pod, eq_class.table.rows())
            return verdicts.rows.select(verdicts.passing())

    def _report_signatures(self, framework: Framework, pod: Pod) -> None:
        """Report each plugin once whose pod_signature fails or cannot be hashed; its pods have no class."""
        for name, call in framework.plan.signatures:
            if call is None or (framework.profile_name, name) in self._unsigned:
                continue
            try:
                hash(call(pod))
            except plugin_faults() as error:
                self._unsigned.add((framework.profile_name, name))
                self.report(from_exception(name, "pod_signature", error, pod), pod)

    # ---- live plugins have nothing to say ----------------------------------------------------------------

    def _draw_indexed(self, eq_class: EquivalenceClass, decision: Decision) -> Decision:
        """Choose one of the best rows, which the index just found."""
        index = eq_class.index
        assert index is not None
        decision.by_groups, self.indexed = self, eq_class
        decision.node_name = eq_class.table.name_of(index.draw(self.rng))
        return decision

    def _with_nominated(
        self, framework: Framework, memo: SpecMemo, decision: Decision, *, all_skip: bool
    ) -> Decision | None:
        """No live plugin filters; *all_skip*: none scores either."""
        eq_class = memo.eq_class
        if memo.nominations:
            pod, columns = decision.pod, columns_of(eq_class)
            # The overlay of a class counts every nomination, but none may count against its own pod.
            if framework.handle.nominator.node_of(pod) is not None:
                return start_after_pre_filter(decision, decision.pre_filter)
            overlay = eq_class.overlay(pod.priority)
            overlay.sync(framework, decision.state, pod, columns)
            if overlay.rows:
                rows = eq_class.table.rows()
                verdicts = Verdicts(rows, overlay.codes[rows.index], columns.statuses)
                return self.live.of_verdicts(memo, decision, verdicts)
        return self.live.choose(memo, decision, all_skip=all_skip)

    # ---- live plugins must be called ---------------------------------------------------------------------

    def _with_live(
        self, framework: Framework, memo: SpecMemo, pod: Pod, *, indexed: bool = False
    ) -> Decision | None:
        """Call the live plugins, pre_filter first; *indexed*: the index just found the best rows."""
        eq_class = memo.eq_class
        decision = Decision(pod, eq_class.new_state())
        live, rows, outcome = eq_class.plan.live, eq_class.table.rows(), NOTHING_SAID
        if live.pre_filter:
            outcome = run_pre_filter(live, decision.state, pod, rows)
            decision.pre_filter, self._begun = outcome, decision
            if outcome.status is not None and outcome.status.code is Code.ERROR:
                decision.error = outcome.status
                return decision
            if outcome.status is not None:
                return self._rejected(eq_class, decision, outcome)
            # Few nodes are named as a rule, and answers for all rows would be refreshed for them.
            if outcome.node_names is not None:
                return start_after_pre_filter(decision, outcome)
        decision.pre_filter, decision.evaluated = outcome, len(rows)
        skip = decision.state.skip_filter_plugins
        filters = [entry for entry in live.filter if entry.name not in skip]
        if indexed and not filters:
            return self._choose_indexed(memo, decision)
        if eq_class.columns is None and not eq_class.refresh():
            return start_after_pre_filter(decision, outcome)
        if filters:
            return self.live.run_filters(framework, memo, decision, filters)
        return self._with_nominated(framework, memo, decision, all_skip=False)

    def _choose_indexed(self, memo: SpecMemo, decision: Decision) -> Decision:
        """No live plugin filters, and the index has the best rows: draw, unless one scores."""
        eq_class = memo.eq_class
        assert eq_class.index is not None
        feasible = eq_class.index.feasible_rows()
        if len(feasible) > 1:
            # As in the reference, one feasible node is not scored and pre_score is not called.
            if not pre_score_live(eq_class, decision, feasible):
                decision.feasible = feasible
                return decision
            skipped = decision.state.skip_score_plugins
            if any(entry.name not in skipped for entry in eq_class.plan.live.score):
                if not eq_class.refresh():
                    return decision.before_filters()
                return self.live.choose(memo, decision, pre_scored=True)
            memo.record_skips(decision.pod, decision.state, self.cache.objects, scores=True)
        return self._draw_indexed(eq_class, decision)

    def _rejected(
        self, eq_class: EquivalenceClass, decision: Decision, outcome: PreFilterOutcome
    ) -> Decision:
        """End the cycle of a pod that a live pre_filter rejected, in the state that a full search leaves."""
        status = outcome.status
        assert status is not None
        if status.code is Code.UNSCHEDULABLE:
            # All plugins are called in that case.
            return start_after_pre_filter(decision, outcome)
        # Plugins behind the rejecting one are not called, and their entries are missing for post_filter.
        names = [entry.name for entry in eq_class.framework.plan.pre_filter]
        rejecting = {status.plugin} if status.plugin else outcome.plugins
        last = max([names.index(name) for name in rejecting if name in names], default=len(names))
        before = set(names[:last])
        state = CycleState()
        cached = eq_class.plan.cached
        earlier = evolve(cached, pre_filter=tuple([e for e in cached.pre_filter if e.name in before]))
        run_pre_filter(earlier, state, decision.pod, eq_class.table.rows())
        state.take_over(decision.state, but=eq_class.state)
        return start_after_pre_filter(Decision(decision.pod, state), outcome)
