"""pre_score, score and normalize_scores: from feasible nodes to totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.plugin_faults import plugin_faults, shown
from .._base.value import record
from ..api import Pod
from ..errors import PluginError
from ..state import Rows
from ..state.greatest import greatest
from .cycle_state import CycleState
from .faults import as_error, from_exception, invalid_answer, read_status
from .normalization import MAX_SCORE, MIN_SCORE
from .plan import Plan, ScoreEntry
from .status import Code, Status

Scores = npt.NDArray[np.int64]

_ANY_CODE = frozenset(Code)


@record(eq=False)
class ScoreTable:
    """Scores of the feasible rows; every array is int64 of shape ``(len(rows),)``."""

    rows: Rows
    by_plugin: dict[str, Scores]
    """Normalised and weighted, in order of the profile; skipped plugins are absent."""
    total: Scores
    by_extender: dict[str, dict[str, int]] = field(factory=dict)
    """Extender → node → weighted score, where it gave one."""

    def add_extender(self, name: str, nodes: Sequence[str], scores: Mapping[str, int]) -> None:
        """Add the *scores* of an extender; *nodes* are the names of the rows. Unknown names are ignored."""
        known = {node: int64(scores[node]) for node in nodes if node in scores}
        self.by_extender[name] = known
        self.total = self.total + np.array([known.get(node, 0) for node in nodes], np.int64)

    def restricted(self, rows: Rows, nodes: Sequence[str], kept: Sequence[int]) -> ScoreTable:
        """Return the scores at the positions *kept*, which are *rows* now; *nodes* are all names."""
        names = {nodes[position] for position in kept}
        chosen = np.array(kept, np.intp)
        return ScoreTable(
            rows,
            {plugin: scores[chosen] for plugin, scores in self.by_plugin.items()},
            self.total[chosen],
            {
                extender: {node: score for node, score in scores.items() if node in names}
                for extender, scores in self.by_extender.items()
            },
        )

    def best(self) -> npt.NDArray[np.intp]:
        """Return the positions (among ``rows``) of all rows with the highest total, ascending."""
        best: npt.NDArray[np.intp] = (self.total == greatest(self.total)).nonzero()[0]
        return best


def run_pre_score(plan: Plan, state: CycleState, pod: Pod, rows: Rows) -> Status | None:
    """Run the pre_score plugins in order; an error or ``None``."""
    for entry in plan.pre_score:
        try:
            status = entry.call(state, pod, rows)
        except plugin_faults() as error:
            return from_exception(entry.name, "pre_score", error, pod)
        if status is None:
            continue
        if isinstance(status, Status) and status.code is Code.SKIP:
            state.skip_score_plugins.add(entry.name)
            continue
        problem = read_status(entry.name, "pre_score", status, "None or a Status", _ANY_CODE)
        if problem is not None:
            return as_error(entry.name, "pre_score", problem)
    return None


def run_scores(plan: Plan, state: CycleState, pod: Pod, rows: Rows) -> ScoreTable | Status:
    """Score, normalise and weigh every row with every plugin that was not skipped; an ERROR if one fails.

    Most plugins give most pods zeros everywhere: one pass recognises that and saves the other passes.
    """
    total: Scores | None = None
    everywhere = 0
    by_plugin: dict[str, Scores] = {}
    for entry in plan.score:
        if entry.name in state.skip_score_plugins:
            continue
        raw = run_score(entry, state, pod, rows)
        if isinstance(raw, Status):
            return raw
        if entry.normalization is not None and _all_zero(raw):
            level = entry.normalization.of_zeros * entry.weight
            by_plugin[entry.name] = np.full(len(rows), level, np.int64)
            everywhere += level
            continue
        scores = _normalized(entry, state, pod, raw, rows)
        if isinstance(scores, Status):
            return scores
        weighted = by_plugin[entry.name] = scores if entry.weight == 1 else scores * entry.weight
        total = weighted if total is None else total + weighted
    if total is None:
        total = np.full(len(rows), everywhere if plan.score else 1, np.int64)
    elif everywhere:
        total = total + everywhere
    return ScoreTable(rows, by_plugin, total)


def run_score(entry: ScoreEntry, state: CycleState, pod: Pod, rows: Rows) -> Scores | Status:
    """Call one plugin; return what it says, of the right shape and kind of number, or an error."""
    point = "score" if entry.score_rows is None else "score_rows"
    given: list[Any] = []
    try:
        if entry.score_rows is not None:
            answer = entry.score_rows(state, pod, rows)
        else:
            score = entry.for_each_of(len(rows))
            given.extend(map(score, repeat(state), repeat(pod), rows))  # it keeps those before a fault
            if set(map(type, given)) != _INT:
                given = [_integer(entry.name, each) for each in given]
            answer = np.array(given, np.int64)
    except plugin_faults() as error:
        node = rows.names()[len(given)] if point == "score" and len(given) < len(rows) else ""
        return from_exception(entry.name, point, error, pod, node)
    problem = _problem(entry.name, point, answer, rows)
    return answer if problem is None else problem


def _normalized(entry: ScoreEntry, state: CycleState, pod: Pod, raw: Scores, rows: Rows) -> Scores | Status:
    """Normalised and checked."""
    if entry.normalize is None:
        return _in_range(entry.name, raw.astype(np.int64, copy=False))
    # A copy: what the plugin returned may be its own, or part of a column, and is changed in place now.
    scores: Scores = raw.astype(np.int64)
    try:
        answer = entry.normalize(state, pod, scores, rows)
    except plugin_faults() as error:
        return from_exception(entry.name, "normalize_scores", error, pod)
    if answer is not None and not (isinstance(answer, Status) and answer.is_success):
        problem = _problem(entry.name, "normalize_scores", answer, rows)
        if problem is not None:
            return problem
        scores = answer.astype(np.int64, copy=False)
    return _in_range(entry.name, scores)


def _all_zero(scores: Scores) -> bool:
    return bool(scores.dtype == np.int64 and len(scores) and not greatest(scores.view(np.uint64)))


def int64(value: int) -> int:
    """Return *value* wrapped around as the reference's 64-bit arithmetic does."""
    return (value + 2**63) % 2**64 - 2**63


_INT = {int}


def _integer(plugin: str, score: Any) -> int:
    if type(score) is int or isinstance(score, np.integer):
        return int(score)
    if isinstance(score, Status) and score.code is Code.ERROR:
        raise score.error if isinstance(score.error, Exception) else PluginError(score.message)
    raise PluginError(f"plugin {plugin} answered {shown(score)} at score; return an int")


def _problem(plugin: str, point: str, scores: Any, rows: Rows) -> Status | None:
    wanted = f"an int64 array of shape ({len(rows)},)"
    if isinstance(scores, Status) and scores.code is Code.ERROR:
        return read_status(plugin, point, scores, wanted)
    if not isinstance(scores, np.ndarray) or scores.shape != (len(rows),) or scores.dtype.kind not in "iu":
        found = (scores.dtype, scores.shape) if isinstance(scores, np.ndarray) else scores
        return invalid_answer(plugin, point, found, wanted)
    return None


def _in_range(plugin: str, scores: Scores) -> Scores | Status:
    # MIN_SCORE is 0: seen as unsigned, a negative score is larger than any.
    if len(scores) and greatest(scores.view(np.uint64)) > MAX_SCORE:
        low, high = int(scores.min()), int(scores.max())
        wrong = low if low < MIN_SCORE else high
        text = (
            f"plugin {plugin} gave the score {wrong}, outside of {MIN_SCORE} to {MAX_SCORE}; scale it, "
            "or bring it into that range in normalize_scores"
        )
        return Status.from_error(PluginError(text), plugin)
    return scores
