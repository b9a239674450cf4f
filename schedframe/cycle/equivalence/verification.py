"""Verify mode: a share of all pods is decided both by the equivalence cache and by the full search."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from attrs import define, field
from typing_extensions import override

from ...api import Pod
from ...errors import VerificationError
from ...framework import Framework, Status
from ..search.decision import Decision
from ..search.lazy_filter import LazyFilter
from ..search.search import Search


@define(eq=False)
class VerifyingSearch(Search):
    """As :class:`Search`, and for a *share* of the pods decides twice from the same state of the generator.

    A difference in node, statuses, feasible nodes, error or draws is reported with what reproduces it, and
    the decision of the full search counts. Plugins are called twice for such a pod.
    """

    share: float = 1.0
    """From 0 to 1; pods are taken at equal distances."""
    report: Callable[[Status, Pod], None] = lambda status, pod: None
    """Called once for each difference."""
    _due: float = 0.0
    _full: Search = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._full = Search(self.cache, self.rng, self.sampling, self.shortcuts)

    @override
    def decide(self, framework: Framework, pod: Pod) -> Decision:
        """One pod through the cache and, if its turn has come, through the full search, too."""
        self._due += self.share
        if self._due < 1:
            return super().decide(framework, pod)
        self._due -= 1
        rng = self.rng
        before = rng.getstate()
        cached = super().decide(framework, pod)
        outcome = seen(cached, rng)
        rng.setstate(before)
        full = self._full.decide(framework, pod)
        expected = seen(full, rng)
        different = [name for name in expected if expected[name] != outcome[name]]
        if not different:
            return cached
        if full.error is not None and isinstance(cached.by_groups, LazyFilter) and cached.by_groups.failed:
            return full  # the fault is on a row that did not have to be decided
        self.report(Status.from_error(self._error(pod, different, outcome, expected)), pod)
        return full

    def _error(
        self, pod: Pod, different: list[str], cached: dict[str, Any], full: dict[str, Any]
    ) -> VerificationError:
        table = self.cache.table
        said = "; ".join(
            f"{name} {cached[name]!r:.300} instead of {full[name]!r:.300}"
            for name in different
            if name != "random state"
        )
        return VerificationError(
            f"pod {pod.key}: the equivalence cache decided {said or 'by other draws'}. To reproduce: "
            f"{pod.spec!r:.1000}, {table.num_nodes} nodes in {table.size} rows, row log "
            f"{table.row_log.version}, node log {table.node_log.version}"
        )


def seen(decision: Decision, rng: Random) -> dict[str, Any]:
    """All of a decision that must not depend on how it was made."""
    feasible, diagnosis, error = decision.feasible, decision.diagnosis, decision.error
    return {
        "node": decision.node_name,
        "error": None if error is None else (error.plugin, error.message),
        "feasible": None if feasible is None or error is not None else feasible.names(),
        "statuses": None if diagnosis is None else dict(diagnosis),
        "message": None if diagnosis is None else diagnosis.message(),
        "plugins": None
        if diagnosis is None
        else (diagnosis.unschedulable_plugins, diagnosis.pending_plugins),
        "evaluated": decision.evaluated,
        "random state": rng.getstate(),
    }
