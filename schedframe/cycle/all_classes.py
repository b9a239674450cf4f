"""Ask the plugins about a row for several classes of pods at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import add
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field, frozen

from ..errors import PluginError
from ..framework import MAX_SCORE, MIN_SCORE, Code, Status
from .one_by_one import by_row

if TYPE_CHECKING:
    from .remembered import PodClass

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


@define(eq=False)
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
            self._asked((entry.name, 1), filters, entry.filter_pods, (entry.row_filter, entry.filter))
            for entry in plan.filter
            if any(entry.name in names for names in filters)
        ]
        self._scores = [
            self._asked((entry.name, entry.weight), scores, entry.score_pods, (entry.row_score, entry.score))
            for entry in plan.score
            if any(entry.name in names for names in scores)
        ]

    def _asked(
        self, plugin: tuple[str, int], names: Sequence[Collection[str]], of_pods: Any, alone: tuple[Any, Any]
    ) -> Asked:
        """A *plugin*, by name and weight, for those of the classes whose *names* have it.

        *of_pods*: its form for several pods, if it has one; *alone*: how to prepare a function of the row for
        one pod, and the per-node form.
        """
        name, weight = plugin
        places = tuple([place for place, some in enumerate(names) if name in some])
        asking = [self.classes[place] for place in places]
        if of_pods is not None:
            table = asking[0].table
            answers = of_pods([each.state for each in asking], [each.pod for each in asking], table)
            if answers is not None:
                return Asked(name, weight, places, answers)
        calls = [by_row(each, *alone) for each in asking]
        return Asked(name, weight, places, lambda row: [call(row) for call in calls])

    def ask(self, row: int) -> list[int]:
        """What the row, which the view passes, is worth to each class, as :meth:`.one_by_one.OneByOne.ask`
        says it.
        """
        rejected = self._judged(row)
        totals = self._scored(row)
        for place, code in rejected.items():
            totals[place] = -code
        return totals

    def _judged(self, row: int) -> dict[int, int]:
        """The codes by which the row is rejected, by place of the class."""
        rejected: dict[int, int] = {}
        for asked in self._filters:
            statuses = asked.answers(row)
            if statuses is None:
                continue
            for place, status in zip(asked.places, statuses, strict=True):
                if status is not None and status.code is not _SUCCESS and place not in rejected:
                    rejected[place] = self._code_of(status, asked.name)
        return rejected

    def _code_of(self, status: Status, plugin: str) -> int:
        if status.code is Code.ERROR:
            raise PluginError(f"plugin {plugin} failed: {status}")
        return self.classes[0].numbering.number_of(status.with_plugin(plugin))

    def _scored(self, row: int) -> list[int]:
        every = len(self.classes)
        totals: list[int] | None = None
        for asked in self._scores:
            scores = asked.answers(row)
            if min(scores) < MIN_SCORE or max(scores) > MAX_SCORE or len(scores) != len(asked.places):
                raise PluginError(f"plugin {asked.name} scored {scores}")
            if asked.weight != 1:
                scores = [score * asked.weight for score in scores]
            if len(scores) == every:
                totals = list(scores) if totals is None else list(map(add, totals, scores))
                continue
            if totals is None:
                totals = [0] * every
            for place, score in zip(asked.places, scores, strict=True):
                totals[place] += score
        return [0] * every if totals is None else totals
