"""Query: what evaluators need to know of a class."""

from __future__ import annotations

from attrs import frozen

from ....api import Pod
from ....framework import CycleState
from ....framework.plan import FilterEntry, ScoreEntry
from ....state import NodeTable
from ..status_codes import StatusCodes


class EvaluationFailed(Exception):
    """A plugin raised, or gave an answer that the contract does not allow.

    No fault of the cache: the class is not cacheable then, and the full search reports the plugin.
    """


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

    @property
    def is_columnar(self) -> bool:
        """Whether all filters have a columnar form."""
        return all(entry.filter_rows is not None for entry in self.filters)

    @property
    def is_rowwise(self) -> bool:
        """Whether all plugins have a per-node form."""
        filters = all(entry.filter is not None for entry in self.filters)
        return filters and all(entry.score is not None for entry in (*self.scores, *self.raw_scores))
