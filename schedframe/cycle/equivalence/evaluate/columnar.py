"""Many rows, one class: verdicts and scores by the columnar forms of plugins where they have any."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ....api import Pod
from ....framework import MAX_SCORE, Code, CycleState, Status, Verdicts
from ....framework.plan import ScoreEntry
from ....framework.scoring import run_score
from ....state import Rows
from ....state.greatest import greatest
from ..live_answers import run_filter
from ..status_codes import Codes, EvaluationFailed
from .query import Query

Column = npt.NDArray[np.int64]

_LARGEST = int(np.iinfo(np.int64).max)


def filter_codes(query: Query, rows: Rows, codes: Codes) -> Codes:
    """Complete *codes*, what other plugins say of *rows*, in place; O(filters x rows).

    Of several plugins that reject a row the first one in the profile counts.
    """
    registry = query.codes
    known = len(registry.statuses)
    verdicts = Verdicts(rows, codes, registry.statuses, registry.codes)
    positions = registry.positions_of(codes)
    for entry in query.filters:
        run_filter(entry, registry.order[entry.name], query.state, query.pod, verdicts, positions)
    if any(status.code is Code.ERROR for status in registry.statuses[known:]):
        raise EvaluationFailed("a filter plugin failed")
    return codes


def partial_scores(query: Query, node_codes: Codes) -> Column | None:
    """By row the sum of the scores that are not normalised; negative where the row is rejected: the code,
    negated, or any number if *node_codes* reject it. O(plugins x rows).

    ``None`` if no row is feasible, or a plugin has no columnar form.
    """
    if not query.is_columnar or any(entry.score_rows is None for entry in query.scores):
        return None
    table = query.table
    rows = table.rows()
    codes = filter_codes(query, rows, rows.take(node_codes).copy())
    passing = rows.select(codes == 0) if np.count_nonzero(codes) else rows
    scores: Column = np.full(table.size, -1, np.int64)
    scores[rows.index] = -np.abs(codes)
    scores[passing.index] = weighted_sum(query.scores, query.state, query.pod, passing)
    return scores if len(scores) and greatest(scores) >= 0 else None


def weighted_sum(entries: Iterable[ScoreEntry], state: CycleState, pod: Pod, rows: Rows) -> Column:
    """Return the weighted sum of scores that are not normalised: a fresh array."""
    total: Column | None = None
    for entry in entries:
        raw = raw_scores(entry, state, pod, rows)
        part = raw if entry.weight == 1 else raw * entry.weight
        total = part.copy() if total is None else np.add(total, part, out=total)
    return np.zeros(len(rows), np.int64) if total is None else total


def raw_scores(entry: ScoreEntry, state: CycleState, pod: Pod, rows: Rows) -> Column:
    """Return the scores of one plugin, not weighted; :class:`EvaluationFailed` if they are not valid."""
    raw = run_score(entry, state, pod, rows)
    if isinstance(raw, Status):
        raise EvaluationFailed(entry.name)
    scores: Column = raw.astype(np.int64, copy=False)
    most = MAX_SCORE if entry.normalization is None else _LARGEST
    # The result of normalising a negative raw score cannot be maintained row by row. MIN_SCORE is 0: seen as
    # unsigned, a negative score is larger than any, and one pass tells both.
    if len(scores) and greatest(scores.view(np.uint64)) > most:
        raise EvaluationFailed(entry.name)
    return scores
