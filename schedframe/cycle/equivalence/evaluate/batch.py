"""One row, many classes: verdicts and scores by the prepared forms of plugins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import add
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from ....framework import MAX_SCORE, MIN_SCORE, Code, RowVerdicts, Status
from .query import EvaluationFailed, Query
from .rowwise import RowwiseEvaluator

Column = npt.NDArray[np.int64]
Answers = Sequence[int | None] | Column
"""By class: the sum of the scores, the negated code of a rejection, ``None`` if a plugin failed."""

_SUCCESS: Final = Code.SUCCESS


@frozen
class PluginBatch:
    """One plugin, prepared for the classes that use it."""

    name: str
    weight: int
    places: tuple[int, ...]
    """Positions of these classes among all of the batch."""
    answers: Callable[[int], Any]
    """What the plugin says of a row for each of them; ``None`` if all pass."""


@define(eq=False, repr=False)
class BatchEvaluator:
    """What plugins prepared for a batch of classes; valid for one layout of the table.

    Making and using it raises whatever a plugin raises, and :class:`EvaluationFailed` for an invalid answer.
    """

    queries: Sequence[Query]
    _filters: list[PluginBatch] = field(init=False)
    _scores: list[PluginBatch] = field(init=False)

    def __attrs_post_init__(self) -> None:
        filters = {entry.name: entry for query in self.queries for entry in query.filters}
        scores = {entry.name: entry for query in self.queries for entry in query.scores}
        users = [{entry.name for entry in query.filters} for query in self.queries]
        order = self.queries[0].codes.order
        self._filters = [
            self._prepared((name, 1), users, filters[name].prepare_filter, filters[name].filter)
            for name in sorted(filters, key=order.__getitem__)
        ]
        users = [{entry.name for entry in query.scores} for query in self.queries]
        self._scores = [
            self._prepared((name, entry.weight), users, entry.prepare_score, entry.score)
            for name, entry in scores.items()
        ]

    def _prepared(
        self, plugin: tuple[str, int], users: Sequence[Collection[str]], prepare: Any, per_node: Any
    ) -> PluginBatch:
        """A *plugin*, by name and weight, for the classes among whose *users* it is."""
        name, weight = plugin
        places = tuple([place for place, names in enumerate(users) if name in names])
        queries = [self.queries[place] for place in places]
        table = queries[0].table
        if prepare is not None:
            answers = prepare([each.state for each in queries], [each.pod for each in queries], table)
            if answers is not None:
                return PluginBatch(name, weight, places, answers)
        calls = [(each.state, each.pod) for each in queries]

        def one_by_one(row: int) -> list[Any]:
            info = table.info(row)
            return [per_node(state, pod, info) for state, pod in calls]

        return PluginBatch(name, weight, places, one_by_one)

    def evaluate(self, row: int) -> Answers:
        """What the classes say of a row that the node columns let pass."""
        rejected = self._rejections(row)
        totals = self._totals(row)
        # Of several plugins that reject the row the first one counts.
        for places, codes in reversed(rejected):
            if isinstance(totals, np.ndarray):
                totals[np.asarray(places)] = np.negative(codes)
            else:
                for place, code in zip(places, codes, strict=True):
                    totals[place] = -code
        return totals

    def _rejections(self, row: int) -> list[tuple[Sequence[int] | Column, Sequence[int] | Column]]:
        """By plugin that rejects the row: places of classes, and codes."""
        rejected: list[tuple[Sequence[int] | Column, Sequence[int] | Column]] = []
        for plugin in self._filters:
            verdicts = plugin.answers(row)
            if verdicts is None:
                continue
            if len(verdicts.codes if isinstance(verdicts, RowVerdicts) else verdicts) != len(plugin.places):
                raise EvaluationFailed(f"{plugin.name} gave {verdicts} for {len(plugin.places)} pods")
            if isinstance(verdicts, RowVerdicts):
                codes = np.array([0, *[self._code_of(each, plugin.name) for each in verdicts.statuses]])
                where = verdicts.codes.nonzero()[0]
                rejected.append((np.array(plugin.places).take(where), codes.take(verdicts.codes.take(where))))
                continue
            found = [
                (place, self._code_of(status, plugin.name))
                for place, status in zip(plugin.places, verdicts, strict=True)
                if status is not None and status.code is not _SUCCESS
            ]
            if found:
                places, numbers = zip(*found, strict=True)
                rejected.append((places, numbers))
        return rejected

    def _code_of(self, status: Status, plugin: str) -> int:
        if status.code is Code.ERROR:
            raise EvaluationFailed(f"{plugin}: {status}")
        return self.queries[0].codes.code_of(status.with_plugin(plugin))

    def _totals(self, row: int) -> list[int] | Column:
        """The weighted sum of the scores for each class."""
        count = len(self.queries)
        totals: Any = None
        for plugin in self._scores:
            scores = weighted(plugin, plugin.answers(row))
            if len(scores) < count:
                totals = [0] * count if totals is None else totals
                for place, score in zip(plugin.places, scores, strict=True):
                    totals[place] += score
            elif totals is None:
                totals = list(scores) if isinstance(scores, Sequence) else scores.copy()
            elif isinstance(totals, list) and isinstance(scores, Sequence):
                totals = list(map(add, totals, scores))
            else:
                totals = np.add(totals, scores)
        return [0] * count if totals is None else totals


def weighted(plugin: PluginBatch, scores: Any) -> Any:
    """The scores of one plugin, weighted; :class:`EvaluationFailed` if they are not valid."""
    if isinstance(scores, np.ndarray):
        valid = scores.dtype.kind in "iu" and scores.shape == (len(plugin.places),)
        valid = valid and int(scores.min()) >= MIN_SCORE and int(scores.max()) <= MAX_SCORE
    else:
        valid = len(scores) == len(plugin.places) and min(scores) >= MIN_SCORE and max(scores) <= MAX_SCORE
    if not valid:
        raise EvaluationFailed(f"{plugin.name} scored {scores} for {len(plugin.places)} pods")
    if plugin.weight == 1:
        return scores
    return scores * plugin.weight if isinstance(scores, np.ndarray) else [s * plugin.weight for s in scores]


@define(eq=False, repr=False)
class BatchWithFallback:
    """A batch of classes that is evaluated at once; class by class after that failed."""

    queries: Sequence[Query]
    _batch: BatchEvaluator | None = None
    _layout: int = -1
    _alone: list[RowwiseEvaluator] | None = None

    def evaluate(self, row: int) -> Answers:
        """What the classes say of a row that the node columns let pass."""
        layout = self.queries[0].table.layout
        if self._alone is None:
            try:
                if self._batch is None or self._layout != layout:
                    self._batch, self._layout = BatchEvaluator(self.queries), layout
                return self._batch.evaluate(row)
            except Exception:  # noqa: BLE001 - the fault of one class must not concern the others
                self._alone = [RowwiseEvaluator(query) for query in self.queries]
        return [_answer(evaluator, row) for evaluator in self._alone]


def _answer(evaluator: RowwiseEvaluator, row: int) -> int | None:
    try:
        return evaluator.evaluate(row)
    except EvaluationFailed:
        return None
