"""Query: what evaluators need to know of a class."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from ....api import Pod
from ....framework import CycleState
from ....framework.plan import FilterEntry, ScoreEntry
from ....state import NodeTable
from ..status_codes import StatusCodes


@frozen(eq=False)
class Query:
    """A pod, its cycle state after the cached pre_filter and pre_score, and the plugins to call for it.

    These are the cached plugins that do not look at the node object alone, without those that skip the pod.
    """

    table: NodeTable
    codes: StatusCodes
    pod: Pod
    state: CycleState
    filters: tuple[FilterEntry, ...] = ()
    scores: tuple[ScoreEntry, ...] = ()
    """Those whose scores are used as they are."""
    raw_scores: tuple[ScoreEntry, ...] = ()
    """Those whose scores are normalised over all feasible rows."""

    def with_scores(self, entries: Sequence[ScoreEntry]) -> Query:
        """The query with those of the plugins *entries* that do not skip the pod at pre_score."""
        scores = [entry for entry in entries if entry.name not in self.state.skip_score_plugins]
        fixed = tuple([entry for entry in scores if entry.normalization is None])
        raw = tuple([entry for entry in scores if entry.normalization is not None])
        return evolve(self, scores=fixed, raw_scores=raw)

    @property
    def plugins(self) -> set[str]:
        """The names of all plugins."""
        return {entry.name for entry in self.filters} | {e.name for e in (*self.scores, *self.raw_scores)}

    @property
    def is_columnar(self) -> bool:
        """Whether all filters have a columnar form."""
        return all(entry.filter_rows is not None for entry in self.filters)

    @property
    def is_rowwise(self) -> bool:
        """Whether all plugins have a per-node form."""
        filters = all(entry.filter is not None for entry in self.filters)
        return filters and all(entry.score is not None for entry in (*self.scores, *self.raw_scores))
