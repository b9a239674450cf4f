"""The best rows of a class by what rows have in common: nothing is done by row where only amounts count."""

from __future__ import annotations

import sys
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ....state import AlikeRows, LazyRows, RowGroup, Rows
from ...search.tie_breaking import many
from ..evaluate.columnar import known_worth, worth

if TYPE_CHECKING:
    from ..equivalence_class import PodClass

FIRST_VISITS: Final = 4
"""So many pods are scheduled before the groups of a class are looked at: many a class has no more."""
ROWS_SHIFT: Final = 12
"""If the rows are not in groups so far, one more for every so many rows."""
MOST_ASKED: Final = 48
"""So many new groups are asked about one by one; for more the class is refreshed, which tells of all rows."""
_ASKED_SHIFT: Final = 6
"""At first one more for every so many rows: to ask about all of them takes as long."""
MOST_TIED: Final = 256
"""Of more groups than so many it takes longer to find the row than to keep all of them in order."""
MOST_TIERS: Final = 16
"""Rows with so many different marks are followed."""
MOST_KNOWN: Final = 8192
"""So many groups are remembered, those without rows included."""
WAIT: Final = 1000
"""Visits after which a class that gave itself up tries again."""
_BYTES_A_GROUP: Final = 300
_SMALLEST_CREDIT: Final = -64
_MOST_CREDIT: Final = 256
_COST: Final = 8
"""To be of no use costs so many times as much as being of use saves."""


@define(eq=False)
class Tier:
    """The feasible groups with one mark, those that are worth most first."""

    listed: set[RowGroup] = field(factory=set)
    """All of them; some may have no rows any more."""
    _by_worth: dict[int, list[RowGroup]] = field(factory=dict)
    _heap: list[int] = field(factory=list)
    """What groups are worth, negative, the highest first."""

    def add(self, group: RowGroup, worth: int) -> None:
        """Take in a group that has rows; O(log of what groups are worth)."""
        self.listed.add(group)
        groups = self._by_worth.get(worth)
        if groups is None:
            self._by_worth[worth] = [group]
            heappush(self._heap, -worth)
        else:
            groups.append(group)

    def best(self) -> list[RowGroup]:
        """Those that are worth most, which is ``highest`` then; empty if none has rows.

        The last one has rows; of the others some may have none any more. O(1), amortised.
        """
        heap, by_worth = self._heap, self._by_worth
        while heap:
            groups = by_worth[-heap[0]]
            while groups and not groups[-1].count:
                self.listed.discard(groups.pop())
            if groups:
                return groups
            del by_worth[-heappop(heap)]
        return []

    def prune(self) -> None:
        """Let :meth:`best` give none without rows, until the next change."""
        groups = self.best()
        self.listed.difference_update([group for group in groups if not group.count])
        groups[:] = [group for group in groups if group.count]

    @property
    def highest(self) -> int:
        """What those are worth that :meth:`best` just gave."""
        return -self._heap[0]


@define(eq=False)
class BestAlike:
    """What each group of rows with the same amounts is worth to one class, best ones first.

    O(groups that came to have rows since the last visit + marks) for each pod, however many rows changed and
    however many there are. The class itself is not kept up to date meanwhile: it catches up when something
    else is asked of it. Gives itself up where that is often so, or where groups come and go too fast.
    """

    _found: PodClass
    rows: AlikeRows | None = None
    """``None`` while :meth:`best` has no answer."""
    _worth: dict[int, int] = field(factory=dict)
    """By number, as :meth:`.one_by_one.OneByOne.ask` says it: without what the plugins of the view give."""
    _tiers: dict[tuple[int, ...], Tier] = field(factory=dict)
    """By mark."""
    _gains: list[tuple[Tier, int]] | None = None
    """The tiers that have rows, with what the plugins of the view give to their rows, given these tiers."""
    _seen: int = 0
    """Births taken in."""
    _visits: int = 0
    _credit: int = 0
    _crowd: int = sys.maxsize
    """So many classes take turns on a board; endless for one that tried that."""
    found_best: list[RowGroup] = field(factory=list)
    """The groups that :meth:`best` found; the last one has rows."""

    @property
    def ready(self) -> bool:
        """Whether to ask at all."""
        return self.rows is not None

    @property
    def nbytes(self) -> int:
        """About how much memory this takes."""
        return _BYTES_A_GROUP * len(self._worth)

    def groups(self) -> dict[RowGroup, int]:
        """What known groups with rows are worth without their marks; the code, negated, of rejected ones."""
        groups = self.rows.groups() if self.rows is not None else []
        return {group: self._worth[group.number] for group in groups if group.number in self._worth}

    # ---- looking -----------------------------------------------------------------------------------------

    def best(self) -> bool:
        """Find the groups whose rows are the best, for :meth:`one_of`; ``False`` if that is to be found out
        by row. The view must be up to date.
        """
        view, rows = self._found.view, self.rows
        assert rows is not None
        if rows.marks is not view.marks or not rows.sync(view.codes):
            return self._begin_anew()
        if self._seen != rows.dropped + len(rows.born):
            known, crowded = self._take_in(rows), view.users >= self._crowd
            if crowded and self._sit_down(known=known):
                return self._found.alike.best()
            if not known:
                return False
        groups = self._best_of_tiers()
        if len(groups) > MOST_TIED:
            self._prune()
            groups = self._best_of_tiers()
        if not groups or len(groups) > MOST_TIED:
            self._of_no_use()
            return False
        if self._credit < _MOST_CREDIT:
            self._credit += 1
        self.found_best = groups
        return True

    def _best_of_tiers(self) -> list[RowGroup]:
        while True:
            best: list[RowGroup] = []
            most = -1
            for tier, gain in self._gains if self._gains is not None else self._find_gains():
                groups = tier.best()
                if not groups:
                    break
                total = gain + tier.highest
                if total > most:
                    best, most = groups, total
                elif total == most:
                    best = [*best, *groups]
            else:
                return best
            # What the view gives to each mark depends on which of them have feasible rows.
            self._gains = None

    def _find_gains(self) -> list[tuple[Tier, int]]:
        present = {mark: tier for mark, tier in self._tiers.items() if tier.best()}
        gains = self._found.view.gains(tuple(present)) if present else []
        self._gains = list(zip(present.values(), gains, strict=True))
        return self._gains

    def one_of(self, rng: Random) -> int:
        """One of the rows of the groups that :meth:`best` just found, as :mod:`~.tie_breaking` says."""
        rows, groups = self.rows, self.found_best
        assert rows is not None
        size, ties = rows.table.size, 0
        enough = many(size)
        for group in groups:
            ties += group.count
            if ties >= enough:
                return self._drawn(rows, groups, rng)
        if ties == 1:
            return rows.one_of(groups[-1])
        living = [group for group in groups if group.count]
        if len(living) < len(groups):
            # The next one will not pass over these again.
            self._prune()
        return rows.nth(living, rng.randrange(ties))

    def _prune(self) -> None:
        for tier in self._tiers.values():
            tier.prune()

    def _drawn(self, rows: AlikeRows, groups: list[RowGroup], rng: Random) -> int:
        numbers, size, random = rows.numbers, rows.table.size, rng.random
        if len(groups) == 1:
            number = groups[0].number
            while numbers[row := int(random() * size)] != number:
                pass
        elif self._gains is not None and len(self._gains) == 1:
            # There is no other mark, so these are all that are worth as much.
            worth, most = self._worth.get, self._gains[0][0].highest
            while worth(numbers[row := int(random() * size)]) != most:
                pass
        else:
            wanted = {group.number for group in groups}
            while numbers[row := int(random() * size)] not in wanted:
                pass
        return row

    def feasible_rows(self) -> Rows:
        """The rows that are not rejected, as of the last :meth:`best`, if no other class was asked since."""
        groups = [group for tier in self._tiers.values() for group in tier.listed if group.count]
        rows = self.rows
        assert rows is not None
        count = sum([group.count for group in groups])
        return LazyRows(self._found.table, count, lambda: rows.rows_of(groups))

    # ---- catching up -------------------------------------------------------------------------------------

    def _take_in(self, rows: AlikeRows) -> bool:
        """Groups that came to have rows; ``False`` if the class must be refreshed, or cannot be used."""
        first = self._seen - rows.dropped
        if first < 0 or len(self._worth) > MOST_KNOWN:
            return self._begin_anew()
        worth = self._worth
        living = [group for group in rows.born[first:] if group.count]
        unknown = [group for group in living if group.number not in worth]
        if len(unknown) > MOST_ASKED:
            return self._begin_anew()
        if unknown:
            answers = self._found.one_by_one.ask([rows.one_of(group) for group in unknown])
            for group, answer in zip(unknown, answers, strict=True):
                worth[group.number] = answer
        for group in living:
            known = worth[group.number]
            if known >= 0 and not self._list(group, known):
                return self._begin_anew()
        self._seen = rows.dropped + len(rows.born)
        return self._found.usable

    def _sit_down(self, *, known: bool) -> bool:
        """Take turns with others; *known*: what each group is worth."""
        self._crowd = sys.maxsize
        return self._found.sit_down(self._by_row if known else worth)

    def _by_row(self, found: PodClass) -> npt.NDArray[np.int64]:
        """What each row is worth, just taken in; below 0 for one that is rejected."""
        rows = self.rows
        assert rows is not None
        numbers = np.asarray(rows.numbers)[: rows.table.size]
        present, places = np.unique(numbers, return_inverse=True)
        worth = [self._worth.get(number, -1) for number in present.tolist()]
        return np.array(worth, np.int64)[places.reshape(len(numbers))]

    def _list(self, group: RowGroup, worth: int) -> bool:
        """Take a group that is not rejected in; ``False`` if there are too many marks."""
        tier = self._tiers.get(group.mark)
        if tier is None:
            if len(self._tiers) >= MOST_TIERS:
                return False
            tier = self._tiers[group.mark] = Tier()
        if group not in tier.listed:
            if not tier.listed:
                self._gains = None
            tier.add(group, worth)
        return True

    # ---- beginning and end -------------------------------------------------------------------------------

    def begin(self, rows: AlikeRows) -> bool:
        """Ask about all groups; ``False`` if they are too many, or none is feasible. O(groups)."""
        found = self._found
        if not rows.sync(found.view.codes):
            return False
        groups = rows.groups()
        if len(groups) > max(MOST_ASKED, found.table.size >> _ASKED_SHIFT):
            return False
        answers = found.one_by_one.ask([rows.one_of(group) for group in groups])
        if not self._know(dict(zip(groups, answers, strict=True))):
            return False
        self.rows, self._seen = rows, rows.dropped + len(rows.born)
        return found.usable and bool(self._tiers)

    def visited(self) -> None:
        """The class, which is up to date, was asked for its best row: begin if this happens often."""
        self._visits += 1
        view = self._found.view
        # To put a million rows in groups takes as long as thousands of pods gain by it.
        first = FIRST_VISITS if view.has_groups else FIRST_VISITS + (self._found.table.size >> ROWS_SHIFT)
        if self._visits >= first and self.rows is None and not self._found.sit_down(known_worth):
            self._start()

    def _start(self) -> None:
        found = self._found
        rows = found.view.alike_rows() if found.amounts_only else None
        self._clear()
        if rows is None or not rows.sync(found.view.codes) or not self._take_from_class(rows):
            self._give_up()
            return
        self.rows, self._seen = rows, rows.dropped + len(rows.born)

    def _take_from_class(self, rows: AlikeRows) -> bool:
        """The class is up to date and knows what all rows are worth."""
        codes, values, base = self._found.codes.data, self._found.maxima.values.data, self._found.base.data
        places = {group: rows.one_of(group) for group in rows.groups()}
        return self._know({g: -codes[r] if codes[r] else values[r] - base[r] for g, r in places.items()})

    def _know(self, worth: dict[RowGroup, int]) -> bool:
        """Each group is *worth* so much; ``False`` if there are too many marks."""
        self._worth = {group.number: each for group, each in worth.items()}
        return all(each < 0 or self._list(group, each) for group, each in worth.items())

    def stop(self) -> None:
        """Nobody asks any more."""

    def _begin_anew(self) -> bool:
        """At the next visit, from what the class knows then."""
        self.rows = None
        self._of_no_use()
        return False

    def _of_no_use(self) -> None:
        self._credit -= _COST
        if self._credit < _SMALLEST_CREDIT:
            self._give_up()

    def _give_up(self) -> None:
        """Not for this class, or not for long."""
        self._clear()
        self.rows, self._credit, self._visits = None, 0, -WAIT

    def _clear(self) -> None:
        self._worth.clear()
        self._tiers.clear()
        self._gains = None
