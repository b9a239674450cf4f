"""Many rows, one class: verdicts and scores by the columnar forms of plugins where they have any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...._plugin_faults import plugin_faults
from ....api import Pod
from ....framework import MAX_SCORE, MIN_SCORE, CycleState, Verdicts
from ....framework.plan import ScoreEntry
from ....state import Rows
from ..live_answers import merge_answer, run_columnar_filters, run_filter
from ..status_codes import Codes, EvaluationFailed
from .query import Query

Column = npt.NDArray[np.int64]

_LARGEST = int(np.iinfo(np.int64).max)


def filter_codes(query: Query, rows: Rows, codes: Codes) -> Codes:
    """Complete *codes*, what other plugins say of *rows*, in place; O(filters x rows).

    Of several plugins that reject a row the first one in the profile counts.
    """
    registry = query.codes
    if query.is_columnar:
        answers = run_columnar_filters(query.filters, registry.order, query.state, query.pod, rows)
        if not answers:
            return codes
    verdicts = Verdicts(rows, codes, registry.statuses, registry.codes)
    positions = registry.positions_of(codes)
    if query.is_columnar:
        for answer in answers:
            merge_answer(answer, verdicts, positions)
    else:
        for entry in query.filters:
            order = registry.order[entry.name]
            run_filter(entry, order, query.state, query.pod, verdicts, positions)
    if not registry.register():
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
    return scores if int(scores.max(initial=-1)) >= 0 else None


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
    try:
        if entry.score_rows is not None:
            raw: Any = entry.score_rows(state, pod, rows)
        else:
            assert entry.score is not None
            score = entry.score
            raw = np.array([score(state, pod, info) for info in rows], np.int64)
        valid = raw.shape == (len(rows),) and raw.dtype.kind in "iu" and _in_range(entry, raw)
    except plugin_faults() as error:
        raise EvaluationFailed(entry.name) from error
    if not valid:
        raise EvaluationFailed(entry.name)
    return raw.astype(np.int64, copy=False)  # type: ignore[no-any-return]  # an array, as was checked


def _in_range(entry: ScoreEntry, raw: Column) -> bool:
    if not len(raw):
        return True
    if raw.dtype == np.int64:
        # MIN_SCORE is 0: seen as unsigned, a negative score is larger than any, and one pass tells both.
        highest = int(np.maximum.reduce(raw.view(np.uint64)))
        most = MAX_SCORE if entry.normalization is None else _LARGEST
        return highest <= most
    lowest, highest = int(raw.min()), int(raw.max())
    # The result of normalising a negative raw score cannot be maintained row by row.
    return lowest >= MIN_SCORE and (entry.normalization is not None or highest <= MAX_SCORE)
