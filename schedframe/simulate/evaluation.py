"""What the scheduler would do with a pod, and why: as a value, a dictionary, a text, a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, field
from typing_extensions import override

from ..api import Pod
from ..cycle import Decision
from ..framework import Code, PostFilterResult, Preemption, Status
from .dry_run import DryRunCluster
from .explaining import Explanations

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

Document = dict[str, Any]


@define(eq=False)
class PostFilterReport:
    """What post_filter would have done."""

    result: PostFilterResult | None
    status: Status
    writes: DryRunCluster


@define(eq=False)
class Evaluation:
    """The outcome of evaluating one pod. ``str()`` explains it; ``to_dict()`` is the full record."""

    pod: Pod
    profile: str
    skipped: bool = False
    """The scheduler leaves the pod alone: it is being deleted, or no profile has its scheduler name."""
    pre_enqueue: Status | None = None
    """The plugin that keeps the pod out of the queue; nothing else was looked at then."""
    decision: Decision | None = None
    post_filter: PostFilterReport | None = None
    told: Explanations = field(factory=Explanations)
    """What the plugins had to add."""

    # ---- the answer --------------------------------------------------------------------------------------

    @property
    def best(self) -> list[str]:
        """All nodes with the highest total, sorted: the scheduler takes any of them."""
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
            # An error on one node ends the cycle; others may have passed all the same.
            return sorted(name for name, status in self.statuses.items() if status is None)
        return sorted(decision.feasible.names())

    @property
    def error(self) -> str | None:
        """The fault that ends the cycle."""
        decision = self.decision
        if decision is None or decision.error is None or self.scoring_error is not None:
            return None
        return decision.error.message

    @property
    def scoring_error(self) -> str | None:
        """Scoring failed where it was not needed: a single feasible node is taken without."""
        decision = self.decision
        if (
            decision is None
            or decision.error is None
            or decision.feasible is None
            or len(decision.feasible) != 1
        ):
            return None
        return decision.error.message

    @property
    def message(self) -> str | None:
        """Why no node is feasible, as the pod's condition says it."""
        decision = self.decision
        if decision is None or decision.diagnosis is None:
            return None
        return decision.diagnosis.message()

    @property
    def statuses(self) -> dict[str, Status | None]:
        """Why each node on which the filters ran was rejected, ``None`` where the pod can run."""
        decision = self.decision
        if decision is None or decision.verdicts is None:
            return {}
        verdicts = decision.verdicts
        return {name: verdicts.status_at(i) for i, name in enumerate(verdicts.rows.names())}

    @property
    def explanations(self) -> dict[str, str]:
        """Node → what is behind its rejection, such as the pod in the way; where the plugin says so."""
        return self.told.nodes

    @property
    def findings(self) -> dict[str, tuple[str, ...]]:
        """Plugin → what it found out about the cluster for this pod, such as counts by domain."""
        return self.told.pod

    @property
    def preemption(self) -> Preemption | None:
        """What preemption would do and why, ``None`` if it was not tried or works in no place."""
        result = self.post_filter.result if self.post_filter is not None else None
        details = result.details if result is not None else None
        return details if isinstance(details, Preemption) and details.chosen is not None else None

    @property
    def scores(self) -> dict[str, dict[str, int]]:
        """Plugin → node → normalised score × weight."""
        if self.decision is None or self.decision.scores is None:
            return {}
        table = self.decision.scores
        names = table.rows.names()
        return {
            plugin: dict(zip(names, scores.tolist(), strict=True))
            for plugin, scores in table.by_plugin.items()
        }

    @property
    def total(self) -> dict[str, int]:
        """Node → sum of its scores."""
        if self.decision is None or self.decision.scores is None:
            return {}
        table = self.decision.scores
        return dict(zip(table.rows.names(), table.total.tolist(), strict=True))

    # ---- forms -------------------------------------------------------------------------------------------

    def to_dict(self) -> Document:
        """Everything, in plain types: the form of ``expect`` in the conformance data."""
        from .record import record

        return record(self)

    @override
    def __str__(self) -> str:
        from .report import text

        return text(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from .report import table

        yield table(self)

    def _repr_html_(self) -> str:
        from .report import html

        return html(self)


def status_document(status: Status | None) -> Document:
    """A status in plain types; ``None`` is success."""
    if status is None:
        return {"code": Code.SUCCESS.label, "plugin": "", "reasons": []}
    return {"code": status.code.label, "plugin": status.plugin, "reasons": sorted(status.reasons)}
