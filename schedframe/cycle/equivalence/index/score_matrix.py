"""What every row is worth to each of many classes of pods that take turns.

Each pod changes one row, and every class wants to know what that makes of it. So all are asked about it at
once, by the form of their plugins for several pods if they have one, and never again about another row with
the same amounts. The best row of a class is then found by a pass over what rows are worth to it. In a small
table, or where classes are so many that most rows have changed when it is one's turn again, that takes less
than to keep rows in any order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ....framework import MAX_SCORE
from ....state import NodeTable
from ..evaluate.batch import Together
from .matrix_slot import MOST_WORTH, Seat, Worth, packed

if TYPE_CHECKING:
    from ..equivalence_class import PodClass
    from ..node_columns import NodeView

MOST_ROWS: Final = 1 << 14
"""Rows of the largest table with a board: a pass over more of them takes longer than an index by class."""
CROWD: Final = 33
"""Classes that share a view from which on they use a board."""
MOST_SEATS: Final = 1024
MOST_CELLS: Final = 1 << 24
"""So many rows times classes there may be."""
MOST_KNOWN: Final = 4096
"""Answers about so many kinds of rows are kept,"""
_MOST_NUMBERS: Final = 1 << 22
"""and so many numbers in all of them."""
MOST_PENDING: Final = 16
"""If more rows changed since anybody asked, each class is worked out anew when it asks."""
ROUND: Final = 256
"""After so many questions, and eight for each class, it is seen who found no best row meanwhile: nobody asks
for that class any more.
"""
REST_SHIFT: Final = 3
"""To prepare questions to all pays if as many questions were asked otherwise as there are classes, divided by
two to that power.
"""
MOST_LATE: Final = 4
LATE_SHIFT: Final = 5
"""So many, and one for two to that power classes, may join before all is prepared anew."""
MOST_NEW: Final = 1024
"""So many kinds of pods may join the first time they are seen, whether they come again or not."""
_ODD: Final = 32
"""A row of numbers is so much wider: else a column of them, a power of two apart, shares few cache lines."""
_OUT: Final = -1
"""Any number below 0: the row is rejected, or not there."""
_STALE: Final = -2
"""No version of anything."""
_BYTES_AN_ANSWER: Final = 250


def crowd(rows: int) -> int:
    """So many classes of pods take turns on a board in a table of so many rows."""
    return CROWD if rows <= MOST_ROWS else sys.maxsize


@define(eq=False, repr=False)
class Board:
    """Follows the rows of a table, and what each of them is worth to each class that has a seat.

    O(classes) for a row that changed, O(classes x plugins) if none had its amounts before; O(1) for a class
    that joins and asks nothing yet. Memory: 2 bytes for each class and row, and for each class and kind of
    rows.
    """

    view: NodeView
    """What the classes share."""
    seats: list[Seat] = field(factory=list)
    """Those that were taken away are still among them, for a while."""
    _away: int = 0
    """So many are."""
    stale_before: int = 0
    """Who was worked out before that position in the table's log is to be worked out anew."""
    _worth: Worth = field(factory=lambda: np.empty((0, 0), np.int16))
    """By seat and row, with room for more of both."""
    _answers: dict[bytes, Worth] = field(factory=dict)
    """By amounts what a row is worth to each class, or the code by which it is rejected, negative."""
    _together: Together | None = None
    """Asks for all that were here when it was prepared; ``None`` while too many join."""
    _late: Together | None = None
    """Asks for those who joined since."""
    _amounts: Any = None
    """All amounts of the table, a column for each row; ``None`` if there are others, too."""
    _codes: Any = None
    """Those of the view, by row."""
    _version: int = _STALE
    """Position in the table's log of row changes up to which this is true."""
    _builds: int = _STALE
    _layout: int = _STALE
    _size: int = 0
    _asked: int = 0
    """Questions in this round."""
    _quiet: int = 0
    """How often all could have been asked together since the last class joined, and were not."""
    _new: int = 0
    """So many kinds of pods were welcome that nobody saw before,"""
    uses: int = 0
    """and so often a class found its best row."""

    @property
    def nbytes(self) -> int:
        """About how much memory this takes."""
        return self._worth.nbytes + len(self._answers) * (_BYTES_AN_ANSWER + 2 * len(self.seats))

    # ---- coming and going --------------------------------------------------------------------------------

    def has_room(self) -> bool:
        """Whether one more class may join. The view must be up to date.

        A refusal for want of seats counts like a question: so those that are idle are put away in time.
        """
        view = self.view
        table = view.framework.handle.table
        if view.marks or table.size > MOST_ROWS or table.packed_amounts() is None:
            return False
        seats = len(self.seats)
        if seats < MOST_SEATS and (seats + 1) * table.capacity <= MOST_CELLS:
            return True
        self._asked += 1
        self._end_round()
        return False

    def join(self, found: PodClass, worth: npt.NDArray[np.int64]) -> Seat | None:
        """A seat for a class to which each row of the table is *worth* so much; ``None`` if its plugins could
        give more than there is room for.

        There is room for one more. O(rows), amortised.
        """
        if MAX_SCORE * sum([entry.weight for entry in found.pod_scores]) > MOST_WORTH:
            return None
        table = self.view.framework.handle.table
        if not self.seats or not self._holds(table):
            self._put_away([seat for seat in self.seats if seat.number >= 0])
            self._begin()
        self._resize(table.size)
        number, capacity = len(self.seats), self._amounts.shape[1]
        if number >= len(self._worth):
            more = np.full((max(2 * number, 8), capacity + _ODD), _OUT, np.int16)
            more[:number, : self._worth.shape[1]] = self._worth[:number]
            self._worth = more
            self._give()
        self._worth[number, : self._size] = packed(worth)
        seat = Seat(self, found, number, table.row_log.version)
        seat.take(self._worth[number, : self._size])
        self.seats.append(seat)
        self._answers.clear()
        if self._together is not None:
            self._late, self._quiet = None, 0
            if len(self.seats) - len(self._together.classes) > MOST_LATE + (len(self.seats) >> LATE_SHIFT):
                self._together = None
        return seat

    def welcomes_new(self) -> bool:
        """Whether a kind of pods that nobody saw before may join: not if most of these never come again.

        Who is welcome is counted.
        """
        welcome = self._new < MOST_NEW or self.uses > 2 * self._new
        self._new += welcome
        return welcome

    def leave(self, seat: Seat) -> None:
        """The class asks no more."""
        if seat.number >= 0:
            self._put_away([seat])

    def _put_away(self, seats: Sequence[Seat]) -> None:
        for seat in seats:
            seat.put_away()
        self._away += len(seats)
        if 4 * self._away > len(self.seats):
            self._close_up()

    def _close_up(self) -> None:
        """Leave out who is away."""
        places = [place for place, seat in enumerate(self.seats) if seat.number >= 0]
        self.seats, self._away = [self.seats[place] for place in places], 0
        self._worth = self._worth[places]
        self._together = self._late = None
        self._answers.clear()
        for number, seat in enumerate(self.seats):
            seat.number = number
        self._give()

    def _give(self) -> None:
        """To each seat its numbers."""
        for seat, worth in zip(self.seats, self._worth, strict=False):
            seat.take(worth[: self._size])

    def _end_round(self) -> None:
        """Put away who was idle, if it is time to."""
        if self._asked < ROUND + 8 * len(self.seats):
            return
        self._asked = 0
        self._put_away([seat for seat in self.seats if seat.number >= 0 and not seat.uses])
        for seat in self.seats:
            seat.uses = 0

    # ---- following ---------------------------------------------------------------------------------------

    def sync(self) -> bool:
        """Catch up with the table; whether this can be used. The view must be up to date."""
        view = self.view
        table = view.framework.handle.table
        version, since = table.row_log.version, self._version
        same = self._builds == view.builds and self._layout == table.layout
        if since == version and same:
            return True
        latest = table.last_assume
        if same and self._together is not None and latest is not None and latest[0] == version == since + 1:
            self._version = version
            self._put(latest[1])
        elif self._holds(table):
            self._follow(table)
        else:
            self._put_away([seat for seat in self.seats if seat.number >= 0])
            return False
        # Not before all rows are taken in: nobody may be left whom to ask.
        self._end_round()
        return True

    def _holds(self, table: NodeTable) -> bool:
        """Whether what was known of rows that did not change still holds, and rows can be told by amounts."""
        view = self.view
        if self._builds != view.builds or self._layout != table.layout or view.marks:
            return False
        return table.size <= MOST_ROWS and table.packed_amounts() is not None

    def _follow(self, table: NodeTable) -> None:
        """Take in what changed."""
        self._resize(table.size)
        rows = table.row_log.since(self._version)
        self._version = version = table.row_log.version
        if rows is None or len(rows) > MOST_PENDING or (self._together is None and not self._is_time()):
            self.stale_before = version
            return
        if self._together is None:
            self._prepared()
        for row in set(rows):
            self._put(row)

    def _resize(self, size: int) -> None:
        if self._size != size:
            self._size = size
            self._give()

    def _put(self, row: int) -> None:
        if self._codes[row]:
            self._worth[:, row] = _OUT
            return
        amounts = self._amounts[:, row].tobytes()
        answers = self._answers.get(amounts)
        if answers is None:
            answers = self._ask(row, amounts)
        self._worth[: len(answers), row] = answers

    def _begin(self) -> None:
        """Take hold of the table; nobody has a seat."""
        view = self.view
        table = view.framework.handle.table
        self._amounts, self._codes, self._size = table.packed_amounts(), view.codes.data, table.size
        self._builds, self._layout, self._version = view.builds, table.layout, table.row_log.version
        self._worth = np.empty((0, 0), np.int16)

    def _ask(self, row: int, amounts: bytes) -> Worth:
        """What the row, and any other with the same amounts, is worth to each class."""
        self._asked += 1
        if len(self._answers) >= min(MOST_KNOWN, _MOST_NUMBERS // len(self.seats)):
            self._answers.clear()
        answers = self._answers[amounts] = packed(self._ask_all(row))
        return answers

    def _ask_all(self, row: int) -> Any:
        together = self._together
        if together is None or len(together.classes) == len(self.seats) or self._is_time():
            return self._prepared().ask(row)
        if self._late is None:
            self._late = Together([seat.found for seat in self.seats[len(together.classes) :]])
        return np.concatenate((together.ask(row), self._late.ask(row)))

    def _is_time(self) -> bool:
        """Whether it pays to prepare questions to all: not for each that joins."""
        self._quiet += 1
        return self._quiet > len(self.seats) >> REST_SHIFT

    def _prepared(self) -> Together:
        """What asks for all together."""
        together = self._together
        if together is None or len(together.classes) < len(self.seats):
            together = self._together = Together([seat.found for seat in self.seats])
            self._late, self._quiet = None, 0
        return together
