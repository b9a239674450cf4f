"""One row, one class: verdict and score by the per-node forms of plugins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from attrs import field

from ...._base.plugin_faults import plugin_faults
from ...._base.value import record
from ....framework import MAX_SCORE, MIN_SCORE, Code, Status
from ..status_codes import EvaluationFailed
from .query import Query

_SUCCESS: Final = Code.SUCCESS


@record(eq=False)
class RowwiseEvaluator:
    """Calls plugins node by node: a few microseconds a row, where a pass over columns costs some tens.

    :class:`EvaluationFailed` if a plugin raises or gives an invalid answer.
    """

    query: Query
    _filters: list[tuple[Callable[..., Any], str]] = field(init=False)
    """Per-node form, name."""
    _scores: list[tuple[Callable[..., Any], int]] = field(init=False)
    """Per-node form, weight."""

    def __attrs_post_init__(self) -> None:
        query = self.query
        self._filters = [(e.filter, e.name) for e in query.filters if e.filter is not None]
        self._scores = [(e.score, e.weight) for e in query.scores if e.score is not None]

    def evaluate(self, row: int) -> int:
        """Return the sum of the weighted scores, or the first rejection, negated.

        For a row that the node columns let pass. O(plugins).
        """
        query = self.query
        state, pod, info = query.state, query.pod, query.table.info(row)
        try:
            for run, name in self._filters:
                status = run(state, pod, info)
                if status is not None and status.code is not _SUCCESS:
                    return -self._code_of(status, name)
            total = 0
            for score, weight in self._scores:
                value = score(state, pod, info)
                if not MIN_SCORE <= value <= MAX_SCORE:
                    raise EvaluationFailed(f"score {value}")
                total += value * weight
        except plugin_faults() as error:
            raise EvaluationFailed from error
        return total

    def _code_of(self, status: Status, plugin: str) -> int:
        if status.code is Code.ERROR:
            raise EvaluationFailed(plugin)
        return self.query.codes.code_of(status.with_plugin(plugin))
