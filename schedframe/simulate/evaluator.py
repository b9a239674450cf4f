"""Evaluates a pod on the core of a scheduler: that of a simulation, or of a running scheduler."""

from __future__ import annotations

from random import Random

import numpy as np
from attrs import field

from .._base.value import record
from ..api import Pod
from ..cycle import Decision
from ..cycle.core import Core
from ..cycle.search.search import Search
from ..fork.dry_run import dry_run
from ..framework import CycleState, Framework
from ..state import Rows
from .evaluation import Evaluation
from .explain import explain_decision
from .record import PostFilterReport


@record(eq=False)
class Evaluator:
    """Evaluates all nodes without shortcuts and changes nothing. For the thread of the core."""

    core: Core
    _search: Search = field(init=False)

    def __attrs_post_init__(self) -> None:
        extending = self.core.search.extending
        self._search = Search(self.core.cache, Random(0), shortcuts=False, extending=extending)

    def framework_of(self, pod: Pod) -> Framework | None:
        """Return the profile that schedules *pod*, ``None`` if no profile has its scheduler name."""
        return self.core.frameworks.get(pod.spec.scheduler_name)

    def evaluate(self, pod: Pod) -> Evaluation:
        """Return what would happen to *pod* now, preemption included."""
        name = pod.spec.scheduler_name
        framework = self.framework_of(pod)
        if framework is None or pod.is_terminating:
            return Evaluation(pod, name, skipped=True)
        with dry_run(self.core) as writes:
            gate = framework.run_pre_enqueue(pod)
            if gate is not None:
                return Evaluation(pod, name, pre_enqueue=gate)
            decision = self._search.decide(framework, pod)
            explanations = explain_decision(framework, decision)
            evaluation = Evaluation(pod, name, decision=decision, plugin_explanations=explanations)
            if decision.diagnosis is not None and framework.plan.post_filter and not pod.spec.node_name:
                result, status = framework.run_post_filter(decision.state, pod, decision.diagnosis)
                decision.diagnosis.post_filter_message = status.message
                evaluation.post_filter = PostFilterReport(result, status, writes)
        return evaluation

    def decide(self, pod: Pod) -> Decision | None:
        """Return the decision about *pod* without preemption, ``None`` for a pod that no cycle would try."""
        framework = self.framework_of(pod)
        if framework is None or pod.is_terminating:
            return None
        with dry_run(self.core):
            gated = framework.run_pre_enqueue(pod) is not None
            return None if gated else self._search.decide(framework, pod)

    def feasible(self, pod: Pod) -> list[str]:
        """Return the nodes on which *pod* can run, in the order of the table; none for a gated pod.

        Runs only the filters, which costs a fraction of :meth:`evaluate`.
        """
        framework = self.framework_of(pod)
        table, state = self.core.cache.table, CycleState()
        if framework is None or pod.is_terminating or not table.num_nodes:
            return []
        rows = table.rows()
        with dry_run(self.core):
            if framework.run_pre_enqueue(pod) is not None:
                return []
            outcome = framework.run_pre_filter(state, pod, rows)
            if outcome.status is not None:
                return []
            if outcome.node_names is not None:
                named = {table.live_row(name) for name in outcome.node_names}
                rows = Rows.at(table, np.array(sorted(row for row in named if row is not None), np.intp))
            verdicts = framework.filter_rows(state, pod, rows)
        return [] if verdicts.first_error() is not None else rows.select(verdicts.passing()).names()
