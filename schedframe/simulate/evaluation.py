"""Evaluation of a pod: the decision and its reasons, as a value, a dictionary, a text, a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from attrs import asdict, field
from typing_extensions import override

from .._base.tables import Cell, Table, Tabular
from .._base.value import record
from ..api import Pod
from ..cycle import Decision
from ..framework import EXTENDER, RECORDED, Preemption, Status
from . import preemption_report, report
from .explain import PluginExplanations
from .record import (
    Document,
    PostFilterReport,
    post_filter_document,
    pre_filter_document,
    pre_score_document,
    status_document,
)
from .report import Line, Report
from .saved import SavedDecision, SavedReport

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

LEFT_OUT: Final = Status.unresolvable("an extender left the node out").with_plugin(EXTENDER)
"""The status of a node about which an extender says nothing, and which it does not keep."""
_NAMED_NODES: Final = 3
"""Best nodes up to which a headline names all of them."""


@record(eq=False)
class Evaluation(Tabular):
    """The outcome of evaluating one pod. ``str()`` explains it, ``to_dict()`` is the full record.

    ``to_dataframe()`` has a row for each node that was filtered, with a column for each plugin that scores.
    """

    pod: Pod
    profile: str
    skipped: bool = False
    """Whether the scheduler ignores the pod: it is being deleted, or no profile has its scheduler name."""
    pre_enqueue: Status | None = None
    """The rejection that keeps the pod out of the queue; nothing else is evaluated then."""
    decision: Decision | None = None
    post_filter: PostFilterReport | None = None
    plugin_explanations: PluginExplanations = field(factory=PluginExplanations)

    def __getstate__(self) -> dict[str, Any]:
        """Return the answers apart from the cluster, for pickle and copy."""
        state = asdict(self, recurse=False)
        if self.decision is not None:
            state["decision"] = SavedDecision.of(self.decision)
        if self.post_filter is not None:
            state["post_filter"] = SavedReport.of(self.post_filter)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over the answers."""
        if state["decision"] is not None:
            state["decision"] = state["decision"].restored()
        if state["post_filter"] is not None:
            state["post_filter"] = state["post_filter"].restored()
        for name, value in state.items():
            setattr(self, name, value)

    # ---- the answer --------------------------------------------------------------------------------------

    @property
    def best(self) -> list[str]:
        """All nodes with the highest total, sorted. The scheduler draws one of them."""
        decision = self.decision
        if decision is None or decision.feasible is None:
            return []
        if decision.scores is not None:
            return sorted(decision.scores.rows.select(decision.scores.best()).names())
        return self.feasible if self.scoring_error is not None else []

    @property
    def feasible(self) -> list[str]:
        """All nodes on which the pod can run, sorted."""
        decision = self.decision
        if decision is None:
            return []
        if decision.feasible is None:
            # An error on one node ends the cycle, but other nodes may have passed the filters.
            return sorted(name for name, status in self.statuses.items() if status is None)
        return sorted(decision.feasible.names())

    @property
    def error(self) -> str | None:
        """The message of the fault that ends the cycle, ``None`` if there is none."""
        decision = self.decision
        if decision is None or decision.error is None or self.scoring_error is not None:
            return None
        return decision.error.message

    @property
    def scoring_error(self) -> str | None:
        """The message of a fault of scoring that has no effect: the only feasible node needs no score."""
        decision = self.decision
        if decision is None or decision.error is None or decision.feasible is None:
            return None
        return decision.error.message if len(decision.feasible) == 1 else None

    @property
    def message(self) -> str | None:
        """Return why no node is feasible, in the words of the pod's condition; ``None`` if one is."""
        decision = self.decision
        if decision is None or decision.diagnosis is None:
            return None
        return decision.diagnosis.message()

    @property
    def statuses(self) -> dict[str, Status | None]:
        """Node → its rejection, ``None`` where the pod can run; the nodes on which the filters ran."""
        decision = self.decision
        if decision is None or decision.verdicts is None:
            return {}
        verdicts = decision.verdicts
        statuses = {name: verdicts.status_at(i) for i, name in enumerate(verdicts.rows.names())}
        return self._with_extenders(decision, statuses) if decision.extenders else statuses

    def _with_extenders(
        self, decision: Decision, statuses: dict[str, Status | None]
    ) -> dict[str, Status | None]:
        """Return *statuses* with what the extenders said, also of nodes that are not there."""
        kept = set(decision.feasible.names()) if decision.feasible is not None else set()
        if decision.feasible is not None or decision.diagnosis is not None:
            for name, status in statuses.items():
                if status is None and name not in kept:
                    statuses[name] = LEFT_OUT
        return statuses | {name: status for name, status in decision.named.items() if name not in kept}

    @property
    def explanations(self) -> dict[str, str]:
        """Node → the explanation of its rejection, such as the pod in conflict, where the plugin has one."""
        by = self.decision.named_by if self.decision is not None else {}
        return {**self.plugin_explanations.nodes, **{n: f"reported by {each}" for n, each in by.items()}}

    @property
    def findings(self) -> dict[str, tuple[str, ...]]:
        """Plugin → its explanations of the cluster for this pod, such as counts by domain."""
        return self.plugin_explanations.pod

    @property
    def preemption(self) -> Preemption | None:
        """Return what preemption would do and why, ``None`` if it was not tried or frees no node."""
        preemption = self.post_filter.preemption if self.post_filter is not None else None
        return preemption if preemption is not None and preemption.chosen is not None else None

    @property
    def scores(self) -> dict[str, dict[str, int]]:
        """Plugin or extender → node → normalised score × weight; extenders may leave out nodes."""
        if self.decision is None or self.decision.scores is None:
            return {}
        table = self.decision.scores
        names = table.rows.names()
        by_plugin = {
            plugin: dict(zip(names, scores.tolist(), strict=True))
            for plugin, scores in table.by_plugin.items()
        }
        return by_plugin | table.by_extender

    @property
    def total(self) -> dict[str, int]:
        """Node → sum of its scores."""
        if self.decision is None or self.decision.scores is None:
            return {}
        table = self.decision.scores
        return dict(zip(table.rows.names(), table.total.tolist(), strict=True))

    # ---- forms -------------------------------------------------------------------------------------------

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        key = self.pod.key
        if self.skipped:
            terminating = self.pod.is_terminating
            why = "it is being deleted" if terminating else f"no profile is named {self.profile}"
            return f"{key} is left alone: {why}"
        if self.pre_enqueue is not None:
            return f"{key} is held back by {self.pre_enqueue.plugin}: {self.pre_enqueue.message}"
        if self.error is not None:
            return f"{key} cannot be scheduled, the cycle failed: {self.error}"
        best = self.best
        if not best:
            return f"{key} stays pending: {self.message}"
        return f"{key} fits {len(self.feasible)} of {self._num_nodes} nodes, best is {_one_of(best)}"

    def to_dict(self) -> Document:
        """Return everything in plain types, in the form of ``expect`` in the conformance data."""
        document: Document = {
            "pre_enqueue": status_document(self.pre_enqueue) if self.pre_enqueue is not None else None,
            "prefilter": pre_filter_document(self.decision),
            "filter": {name: status_document(status) for name, status in self.statuses.items()},
            "feasible": self.feasible,
            "prescore": pre_score_document(self.decision),
            "scores": self.scores,
            "total": self.total,
            "best": self.best,
            "post_filter": post_filter_document(self.post_filter),
            "error": self.error,
            "message": self.message,
        }
        return document | self._optional_fields()

    def _optional_fields(self) -> Document:
        """Return the fields that are written only where they have a value."""
        document: Document = {}
        if self.explanations:
            document["explanations"] = dict(self.explanations)
        if self.findings:
            document["findings"] = {plugin: list(lines) for plugin, lines in self.findings.items()}
        if self.skipped:
            document["skipped"] = True
        nominated = self.pod.status.nominated_node_name
        if nominated and nominated in self.feasible:
            document["nominated_node_feasible"] = nominated
        if self.scoring_error is not None:
            document["scoring_error"] = self.scoring_error
        if self.decision is not None:
            for name, value_of in (self.decision.state.get(RECORDED) or {}).items():
                value = value_of(self.feasible)
                if value:
                    document[name] = value
        return document

    @override
    def _table(self) -> Table:
        scores, total, best = self.scores, self.total, set(self.best)
        columns = {"node": str, "verdict": str, "plugin": str, "message": str, "total": int}
        rows: list[tuple[Cell, ...]] = []
        for name, status in self.statuses.items():
            verdict = "rejected" if status is not None else "best" if name in best else "fits"
            plugin, message = (status.plugin, status.message) if status is not None else (None, None)
            by_plugin = (by_node.get(name) for by_node in scores.values())
            rows.append((name, verdict, plugin, message, total.get(name), *by_plugin))
        return Table(columns | dict.fromkeys(scores, int), rows)

    @override
    def __str__(self) -> str:
        return report.text(self._report())

    @override
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield report.table(self._report())

    @override
    def _repr_html_(self) -> str:
        return report.html(self._report())

    def _report(self) -> Report:
        preemption = self.preemption
        candidates = preemption_report.lines(preemption) if preemption is not None else ()
        return Report(
            self.headline,
            (*self._feasible_lines(), *self._rejected_lines()),
            tuple(f"{plugin}: {line}" for plugin, lines in self.findings.items() for line in lines),
            tuple(Line(node, verdict, "", victims) for node, verdict, victims in candidates),
        )

    def _feasible_lines(self) -> list[Line]:
        """Feasible nodes, the best first."""
        total, scores, best = self.total, self.scores, set(self.best)
        return [
            Line(
                name,
                "best" if name in best else "fits",
                str(total[name]) if name in total else "",
                ", ".join(f"{plugin} {each[name]}" for plugin, each in scores.items() if name in each),
            )
            for name in sorted(self.feasible, key=lambda name: (-total.get(name, 0), name))
        ]

    def _rejected_lines(self) -> list[Line]:
        """Rejected nodes by name."""
        explanations = self.explanations
        lines = []
        for name, status in sorted(self.statuses.items()):
            if status is not None:
                behind = explanations.get(name)
                detail = f"{status.message}: {behind}" if behind else status.message
                lines.append(Line(name, status.plugin or "rejected", "", detail))
        return lines

    @property
    def _num_nodes(self) -> int:
        decision = self.decision
        if decision is None or decision.feasible is None:
            return 0
        return decision.feasible.table.num_nodes


def _one_of(best: list[str]) -> str:
    """Return the best nodes in words; the scheduler draws one of several."""
    if len(best) == 1:
        return best[0]
    last = best[-1] if len(best) <= _NAMED_NODES else f"one of {len(best) - 1} others"
    named = best[:-1] if len(best) <= _NAMED_NODES else best[:1]
    return f"{', '.join(named)} or {last}, with equal scores"
