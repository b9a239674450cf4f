"""Ask the plugins about a row for several classes of pods at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import add
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from ....errors import PluginError
from ....framework import MAX_SCORE, MIN_SCORE, Code, RowVerdicts, Status
from .rowwise import by_row

if TYPE_CHECKING:
    from ..equivalence_class import PodClass

Column = npt.NDArray[np.int64]

_SUCCESS: Final = Code.SUCCESS


@frozen
class Asked:
    """One plugin, of those that filter or of those that score."""

    name: str
    weight: int
    places: tuple[int, ...]
    """Of the classes for which it is asked, among all."""
    answers: Callable[[int], Any]
    """What it says of a row for each of them; ``None`` if all pass."""


@define(eq=False, repr=False)
class AllClasses:
    """What plugins prepared for these classes, good for one layout of the table.

    Making and asking it raise whatever a plugin raises, and :class:`PluginError` for an answer that the
    contract does not allow. Whose fault that is comes out where each class is asked by itself.
    """

    classes: Sequence[PodClass]
    _filters: list[Asked] = field(init=False)
    _scores: list[Asked] = field(init=False)

    def __attrs_post_init__(self) -> None:
        plan = self.classes[0].parts.pod_plan
        filters = [{entry.name for entry, _ in each.pod_filters} for each in self.classes]
        scores = [{entry.name for entry in each.pod_scores} for each in self.classes]
        self._filters = [
            self._asked((entry.name, 1), filters, entry.prepare_filter, entry.filter)
            for entry in plan.filter
            if any(entry.name in names for names in filters)
        ]
        self._scores = [
            self._asked((entry.name, entry.weight), scores, entry.prepare_score, entry.score)
            for entry in plan.score
            if any(entry.name in names for names in scores)
        ]

    def _asked(
        self, plugin: tuple[str, int], names: Sequence[Collection[str]], of_pods: Any, alone: Any
    ) -> Asked:
        """A *plugin*, by name and weight, for those of the classes whose *names* have it.

        *of_pods*: its form for a batch of pods, if it has one; *alone*: the per-node form.
        """
        name, weight = plugin
        places = tuple([place for place, some in enumerate(names) if name in some])
        asking = [self.classes[place] for place in places]
        if of_pods is not None:
            table = asking[0].table
            answers = of_pods([each.state for each in asking], [each.pod for each in asking], table)
            if answers is not None:
                return Asked(name, weight, places, answers)
        calls = [by_row(each, alone) for each in asking]
        return Asked(name, weight, places, lambda row: [call(row) for call in calls])

    def ask(self, row: int) -> list[int] | Column:
        """What the row, which the view passes, is worth to each class, as :meth:`.one_by_one.OneByOne.ask`
        says it.
        """
        rejected = self._judged(row)
        totals = self._scored(row)
        # Of several plugins that reject it the first one counts.
        for places, codes in reversed(rejected):
            if isinstance(totals, np.ndarray):
                totals[np.asarray(places)] = np.negative(codes)
            else:
                for place, code in zip(places, codes, strict=True):
                    totals[place] = -code
        return totals

    def _judged(self, row: int) -> list[tuple[Sequence[int] | Column, Sequence[int] | Column]]:
        """By plugin that rejects the row: places of classes, and codes."""
        rejected: list[tuple[Sequence[int] | Column, Sequence[int] | Column]] = []
        for asked in self._filters:
            verdicts = asked.answers(row)
            if verdicts is None:
                continue
            if len(verdicts.codes if isinstance(verdicts, RowVerdicts) else verdicts) != len(asked.places):
                raise PluginError(f"plugin {asked.name} gave {verdicts} for {len(asked.places)} pods")
            if isinstance(verdicts, RowVerdicts):
                codes = np.array([0, *[self._code_of(each, asked.name) for each in verdicts.statuses]])
                where = verdicts.codes.nonzero()[0]
                rejected.append((np.array(asked.places).take(where), codes.take(verdicts.codes.take(where))))
                continue
            found = [
                (place, self._code_of(status, asked.name))
                for place, status in zip(asked.places, verdicts, strict=True)
                if status is not None and status.code is not _SUCCESS
            ]
            if found:
                places, numbers = zip(*found, strict=True)
                rejected.append((places, numbers))
        return rejected

    def _code_of(self, status: Status, plugin: str) -> int:
        if status.code is Code.ERROR:
            raise PluginError(f"plugin {plugin} failed: {status}")
        return self.classes[0].numbering.number_of(status.with_plugin(plugin))

    def _scored(self, row: int) -> list[int] | Column:
        """The weighted sum of the scores for each class."""
        every = len(self.classes)
        totals: Any = None
        for asked in self._scores:
            scores = checked(asked, asked.answers(row))
            if len(scores) < every:
                totals = [0] * every if totals is None else totals
                for place, score in zip(asked.places, scores, strict=True):
                    totals[place] += score
            elif totals is None:
                totals = list(scores) if isinstance(scores, Sequence) else scores.copy()
            elif isinstance(totals, list) and isinstance(scores, Sequence):
                totals = list(map(add, totals, scores))
            else:
                totals = np.add(totals, scores)
        return [0] * every if totals is None else totals


def checked(asked: Asked, scores: Any) -> Any:
    """The scores of one plugin, weighted; :class:`PluginError` if they are no scores."""
    if isinstance(scores, np.ndarray):
        sound = scores.dtype.kind in "iu" and scores.shape == (len(asked.places),)
        sound = sound and int(scores.min()) >= MIN_SCORE and int(scores.max()) <= MAX_SCORE
    else:
        sound = len(scores) == len(asked.places) and min(scores) >= MIN_SCORE and max(scores) <= MAX_SCORE
    if not sound:
        raise PluginError(f"plugin {asked.name} scored {scores} for {len(asked.places)} pods")
    if asked.weight == 1:
        return scores
    return scores * asked.weight if isinstance(scores, np.ndarray) else [s * asked.weight for s in scores]


@define(eq=False, repr=False)
class Together:
    """The classes of a board, asked at once; by themselves if that fails."""

    classes: list[PodClass]
    _all: AllClasses | None = None
    _layout: int = -1
    _alone: bool = False
    """Whether asking at once failed: that is not tried again."""

    def ask(self, row: int) -> list[int] | Column:
        """What the row is worth to each class. A class whose plugin fails at it is made unusable."""
        layout = self.classes[0].table.layout
        if not self._alone:
            try:
                if self._all is None or self._layout != layout:
                    self._all, self._layout = AllClasses(self.classes), layout
                return self._all.ask(row)
            except Exception:  # noqa: BLE001 - a short cut that is not there
                self._alone = True
        return [each.one_by_one.ask((row,))[0] if each.usable else 0 for each in self.classes]
