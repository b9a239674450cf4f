"""One row, many classes: verdicts and scores by the prepared forms of plugins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import field

from ...._base.plugin_faults import plugin_faults
from ...._base.value import record
from ....framework import MAX_SCORE, Code, RowVerdicts
from ....framework.plan import FilterEntry, ScoreEntry
from ..status_codes import EvaluationFailed
from .query import Query

Column = npt.NDArray[np.int64]

_SUCCESS: Final = Code.SUCCESS


@record(frozen=True, eq=False)
class PreparedPlugin:
    """One plugin, prepared for the classes of a batch that use it."""

    name: str
    places: npt.NDArray[np.intp]
    """Positions of these classes among all of the batch."""
    answers: Callable[[int], Any]
    """Prepared form: the answers about a row for each of them."""
    weight: int = 1
    rejects: Callable[[int], Any] | None = None
    """Of a filter that has it: by class whether a row is rejected, without reasons."""

    def of_row(self, row: int) -> Any:
        """Return the answers about *row*; :class:`EvaluationFailed` if the plugin raises."""
        try:
            return self.answers(row)
        except plugin_faults() as error:
            raise EvaluationFailed(self.name) from error

    def rejected(self, row: int) -> npt.NDArray[np.bool_] | None:
        """Return the mask of rejecting classes for *row*. Raises :class:`EvaluationFailed`."""
        assert self.rejects is not None
        try:
            mask = self.rejects(row)
        except plugin_faults() as error:
            raise EvaluationFailed(self.name) from error
        if mask is None:
            return None
        if getattr(mask, "dtype", None) != np.bool_ or mask.shape != self.places.shape:
            raise EvaluationFailed(f"{self.name} gave {mask} for {len(self.places)} pods")
        rejected: npt.NDArray[np.bool_] = mask
        return rejected

    def scores(self, row: int) -> Column:
        """Return the weighted scores of *row*; :class:`EvaluationFailed` if they are not valid."""
        given = np.asarray(self.of_row(row))
        scores: Column = given.astype(np.int64, copy=False)
        valid = given.dtype.kind in "iu" and scores.shape == self.places.shape
        # MIN_SCORE is 0: seen as unsigned, a negative score is larger than any, and one pass tells both.
        if not valid or int(np.maximum.reduce(scores.view(np.uint64))) > MAX_SCORE:
            raise EvaluationFailed(f"{self.name} scored {given} for {len(self.places)} pods")
        return scores if self.weight == 1 else scores * self.weight


@record(eq=False, repr=False)
class BatchEvaluator:
    """Calls the prepared forms of plugins for a batch of classes; valid for one layout of the table.

    Making and using it raises :class:`EvaluationFailed` if a plugin has no prepared form for these classes,
    raises, or gives an invalid answer.
    """

    queries: Sequence[Query]
    _filters: list[PreparedPlugin] = field(init=False)
    """The last one in the profile first."""
    _scores: list[PreparedPlugin] = field(init=False)

    def __attrs_post_init__(self) -> None:
        filters: dict[str, tuple[FilterEntry, list[int]]] = {}
        scores: dict[str, tuple[ScoreEntry, list[int]]] = {}
        for place, query in enumerate(self.queries):
            for entry in query.filters:
                filters.setdefault(entry.name, (entry, []))[1].append(place)
            for each in query.scores:
                scores.setdefault(each.name, (each, []))[1].append(place)
        self._filters = [self._prepared(e.name, e.prepare_filter, of) for e, of in filters.values()]
        self._filters.sort(key=lambda plugin: self.queries[0].codes.order[plugin.name], reverse=True)
        self._scores = [self._prepared(e.name, e.prepare_score, of, e.weight) for e, of in scores.values()]

    def _prepared(self, name: str, prepare: Any, places: list[int], weight: int = 1) -> PreparedPlugin:
        queries = [self.queries[place] for place in places]
        states, pods = [query.state for query in queries], [query.pod for query in queries]
        try:
            answers = None if prepare is None else prepare(states, pods, queries[0].table)
        except plugin_faults() as error:
            raise EvaluationFailed(name) from error
        if answers is None:
            raise EvaluationFailed(f"{name} has no prepared form")
        rejects = getattr(answers, "rejects", None)
        return PreparedPlugin(name, np.array(places, np.intp), answers, weight, rejects)

    def evaluate(self, row: int) -> Column:
        """By class the sum of the scores, or the negated code of the first rejection.

        For a row that the node columns let pass.
        """
        count = len(self.queries)
        totals: Column = np.zeros(count, np.int64)
        for plugin in self._scores:
            scores = plugin.scores(row)
            if len(scores) == count:
                totals += scores
            else:
                totals[plugin.places] += scores
        for plugin in self._filters:
            verdicts = plugin.of_row(row)
            if verdicts is not None:
                codes = self._codes(plugin, verdicts)
                rejected = codes.nonzero()[0]
                totals[plugin.places[rejected]] = -codes[rejected]
        return totals

    def passing(self, row: int) -> npt.NDArray[np.bool_]:
        """By class whether all filters pass *row*, which the node columns let pass."""
        passing = np.ones(len(self.queries), np.bool_)
        for plugin in self._filters:
            if plugin.rejects is not None:
                mask = plugin.rejected(row)
                if mask is not None:
                    passing[plugin.places[mask]] = False
            elif (verdicts := plugin.of_row(row)) is not None:
                passing[plugin.places[self._codes(plugin, verdicts).nonzero()[0]]] = False
        return passing

    def _codes(self, plugin: PreparedPlugin, verdicts: Any) -> Column:
        """By class of the plugin the code of its rejection, or 0."""
        verdicts = _row_verdicts(plugin, verdicts)
        codes = [0]
        for status in verdicts.statuses:
            if status is not None and status.code is Code.ERROR:
                raise EvaluationFailed(f"{plugin.name}: {status}")
            passes = status is None or status.code is _SUCCESS
            codes.append(0 if passes else self.queries[0].codes.code_of(status.with_plugin(plugin.name)))
        by_class: Column = np.array(codes, np.int64)[verdicts.codes]
        return by_class


def _row_verdicts(plugin: PreparedPlugin, verdicts: Any) -> RowVerdicts:
    """Return what *plugin* gave as numbers; :class:`EvaluationFailed` if that is not one for each pod."""
    if isinstance(verdicts, RowVerdicts):
        found = verdicts
    else:
        places = {status: place for place, status in enumerate(dict.fromkeys(verdicts))}
        found = RowVerdicts(np.array([1 + places[status] for status in verdicts]), list(places))
    if found.codes.shape != plugin.places.shape:
        raise EvaluationFailed(f"{plugin.name} gave {verdicts} for {len(plugin.places)} pods")
    return found
