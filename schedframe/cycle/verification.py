"""Verify mode: a share of all pods is decided both by the equivalence cache and by the full search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from attrs import field
from typing_extensions import override

from .._base.value import record
from ..api import Pod
from ..errors import VerificationError
from ..framework import Framework, Status
from ..state import Rows
from .equivalence.equivalence_class import EquivalenceClass
from .equivalence.fast_search import FastSearch
from .equivalence.index.group_max import Gains, GroupMax
from .equivalence.live_answers import Mask
from .equivalence.live_search import LiveSearch, columns_of
from .search.decision import Decision
from .search.lazy_filter import LazyFilter
from .search.search import Search
from .search.tie_breaking import Scores


@record(eq=False)
class RecordingSearch(LiveSearch):
    """As :class:`LiveSearch`, and keeps the scores by which the last row was chosen."""

    scores: Callable[[Rows], Scores] | None = None
    """Feasible rows of the last decision → their total scores; ``None`` if nothing was chosen here."""

    @override
    def best_row(self, eq_class: EquivalenceClass, mask: Mask | None = None) -> int:
        self.scores = columns_of(eq_class).totals_of
        return super().best_row(eq_class, mask)

    @override
    def choose_row(self, feasible: Rows, total: Scores) -> int:
        self.scores = lambda rows: total
        return super().choose_row(feasible, total)

    @override
    def choose_in_groups(self, groups: GroupMax, gains: Gains, size: int) -> int:
        self.scores = lambda rows: groups.scores_at(rows.positions, gains)
        return super().choose_in_groups(groups, gains, size)


@record(eq=False)
class VerifyingSearch(Search):
    """As :class:`Search`, and for a *share* of the pods decides twice from the same state of the generator.

    A difference in node, statuses, feasible nodes, their scores, error or draws is reported with what
    reproduces it, and the decision of the full search counts. Plugins are called twice for such a pod.
    """

    fast: FastSearch | None = None
    share: float = 1.0
    """From 0 to 1; pods are taken at equal distances."""
    report: Callable[[Status, Pod], None] = lambda status, pod: None
    """Called once for each difference."""
    _due: float = 0.0
    _full: Search = field(init=False)
    _recording: RecordingSearch | None = None

    def __attrs_post_init__(self) -> None:
        self._full = Search(self.cache, self.rng, self.sampling, self.shortcuts)
        if self.fast is not None:
            self.fast.live = self._recording = RecordingSearch(self.rng, self.fast.live.objects)

    @override
    def decide(self, framework: Framework, pod: Pod) -> Decision:
        """Take one pod through the cache and, if its turn has come, through the full search, too."""
        extended = self.extending is not None and self.extending.interested(pod)
        if extended or not self._takes_all(framework):
            return super().decide(framework, pod)  # the cache has no part in it
        self._due += self.share
        if self._due < 1:
            return super().decide(framework, pod)
        self._due -= 1
        rng = self.rng
        before, start = rng.getstate(), 0 if self.sampling is None else self.sampling.next_start
        if self._recording is not None:
            self._recording.scores = None
        cached = super().decide(framework, pod)
        outcome = seen(cached, rng)
        scores = self._cached_scores(framework, cached)
        rng.setstate(before)
        if self.sampling is not None:
            self.sampling.next_start = start
        full = self._full.decide(framework, pod)
        expected = seen(full, rng)
        if scores is not None:
            outcome["scores"] = scores
            expected["scores"] = None if full.scores is None else relative(full, full.scores.total)
        different = [name for name in expected if expected[name] != outcome[name]]
        if not different:
            return cached
        if full.error is not None and isinstance(cached.by_groups, LazyFilter) and cached.by_groups.failed:
            return full  # the fault is on a row that did not have to be decided
        self.report(Status.from_error(self._error(pod, different, outcome, expected)), pod)
        return full

    def _cached_scores(self, framework: Framework, decision: Decision) -> dict[str, int] | None:
        """Return the scores by which the cache chose; ``None`` where it did not, and after its faults."""
        try:
            scores = self._scores_of(decision)
        except Exception as error:  # noqa: BLE001 - as in FastSearch.decide
            assert self.fast is not None
            self.fast.drop(framework, decision.pod, error)
            return None
        return None if scores is None else relative(decision, scores)

    def _scores_of(self, decision: Decision) -> Scores | None:
        feasible, fast = decision.feasible, self.fast
        if decision.scores is not None or decision.error is not None or feasible is None or len(feasible) < 2:
            return None
        index = None if fast is None or fast.indexed is None else fast.indexed.index
        if index is not None and decision.by_groups is fast:
            return index.scores_at(feasible.positions)
        if isinstance(decision.by_groups, LazyFilter):
            return decision.by_groups.totals[feasible.positions]
        if self._recording is not None and self._recording.scores is not None:
            return self._recording.scores(feasible)
        return None

    def _error(
        self, pod: Pod, different: list[str], cached: dict[str, Any], full: dict[str, Any]
    ) -> VerificationError:
        table = self.cache.table
        said = "; ".join(
            "{} {!r:.300} instead of {!r:.300}".format(name, *_differing(cached[name], full[name]))
            for name in different
            if name != "random state"
        )
        return VerificationError(
            f"pod {pod.key}: the equivalence cache decided {said or 'by other draws'}. To reproduce: "
            f"{pod.spec!r:.1000}, {table.num_nodes} nodes in {table.size} rows, row log "
            f"{table.row_log.version}, node log {table.node_log.version}"
        )


def relative(decision: Decision, scores: Scores) -> dict[str, int]:
    """Scores by node, less the best of them: the cache leaves out what all feasible nodes have in common."""
    assert decision.feasible is not None
    return dict(zip(decision.feasible.names(), (scores - scores.max()).tolist(), strict=True))


def _differing(one: Any, other: Any) -> tuple[Any, Any]:
    """Both, without the items that are equal if they are mappings."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return one, other
    same = {key for key, value in one.items() if key in other and other[key] == value}
    first, second = ({key: each[key] for key in each if key not in same} for each in (one, other))
    return first, second


def seen(decision: Decision, rng: Random) -> dict[str, Any]:
    """Return all of a decision that must not depend on how it was made."""
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
