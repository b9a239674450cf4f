"""What every row is worth to each of several classes of pods that take turns, in tables of few rows.

Each pod changes one row, and every class wants to know what that makes of it. So all are asked about it at
once, by the form of their plugins for several pods if they have one, and never again about another row with
the same amounts. The best row of a class is then found by a pass over what rows are worth to it: in a small
table that takes less than to keep rows in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ..state import LazyRows, NodeTable, Rows
from .all_classes import AllClasses
from .ties import many

if TYPE_CHECKING:
    from .node_view import NodeView
    from .remembered import PodClass

MOST_ROWS: Final = 2048
"""In larger tables a pass over all rows takes longer than the rest."""
MOST_SEATS: Final = 32
"""Of more classes each one is away for too long."""
MOST_ASKED: Final = 48
"""So many kinds of rows a class is asked about when it joins,"""
_ASKED_SHIFT: Final = 6
"""or one for every so many rows."""
MOST_KNOWN: Final = 4096
"""Answers about so many kinds of rows are kept."""
ROUND: Final = 256
"""After so many questions to all classes it is seen"""
LEAST_USES: Final = 4
"""who found a best row less often than this meanwhile: it is not asked about any more."""
_OUT: Final = -1
"""Any number below 0: the row is rejected, or not there."""
_STALE: Final = -2
"""No version of anything."""
_BYTES_AN_ANSWER: Final = 250

Worth = npt.NDArray[np.int64]


@define(eq=False)
class Seat:
    """The place of one class on a board; finds the best row for it, as :class:`.best_alike.BestAlike` may."""

    board: Board
    found: PodClass
    number: int
    """Place among the seats; negative if it was taken away."""
    uses: int = 0
    """How often it found the best row in this round."""
    _worth: Any = None
    """What each row of the table is worth to the class: an array, and a memoryview of the same numbers."""
    _cells: Any = None
    _size: int = 0
    _many: int = 0
    _most: int = 0
    _first: int = 0

    @property
    def ready(self) -> bool:
        """Whether to ask at all."""
        return self.number >= 0

    @property
    def nbytes(self) -> int:
        """Memory beside that of the board."""
        return 0

    def best(self) -> bool:
        """Find the best row, for :meth:`one_of`; whether there is one. The view must be up to date."""
        if not self.board.sync() or not self.found.usable:
            return False
        first = int(self._worth.argmax())
        self._first, self._most = first, self._cells[first]
        if self._most < 0:
            return False
        self.uses += 1
        return True

    def one_of(self, rng: Random) -> int:
        """One of the rows that are worth as much as the best, as :mod:`.ties` says."""
        most = self._most
        tied = (self._worth == most).nonzero()[0]
        ties = len(tied)
        if ties == 1:
            return self._first
        if ties < self._many:
            return int(tied[rng.randrange(ties)])
        cells, size, random = self._cells, self._size, rng.random
        while cells[row := int(random() * size)] != most:
            pass
        return row

    def feasible_rows(self) -> Rows:
        """The rows that were not rejected when the best was found."""
        feasible = (self._worth >= 0).nonzero()[0]
        return LazyRows(self.found.table, len(feasible), lambda: feasible)

    def worth(self) -> list[int]:
        """What each row is worth, without what the view gives to all alike; below 0 for one that is rejected:
        the negative of the code, or any number if the view rejects it.
        """
        worth: list[int] = self._worth.tolist()
        return worth

    def take(self, worth: Worth) -> None:
        """Look at these numbers from now on."""
        self._worth, self._cells, self._size = worth, worth.data, len(worth)
        self._many = many(self._size)

    def visited(self) -> None:
        """The class was refreshed and asked for its best row itself."""
        if not self.ready:
            self.found.stand_up()

    def stop(self) -> None:
        """The class asks no more."""
        self.board.leave(self)


@define(eq=False)
class Board:
    """Follows the rows of a table, and what each of them is worth to each class that has a seat.

    O(classes) for a row that changed, O(classes x plugins) if none had its amounts before. Memory: 8 bytes
    for each class and row, and for each class and kind of row.
    """

    view: NodeView
    """What the classes share."""
    seats: list[Seat] = field(factory=list)
    _worth: Worth = field(factory=lambda: np.empty((0, 0), np.int64))
    """By seat and row, with room for the capacity of the table."""
    _answers: dict[bytes, Worth] = field(factory=dict)
    """By amounts what a row is worth to each class, or the code by which it is rejected, negative."""
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
    _all: AllClasses | None = None
    """Asks for all of them; made when first wanted."""

    @property
    def nbytes(self) -> int:
        """About how much memory this takes."""
        return self._worth.nbytes + len(self._answers) * (_BYTES_AN_ANSWER + 8 * len(self.seats))

    # ---- coming and going --------------------------------------------------------------------------------

    def join(self, found: PodClass, worth_of: Callable[[Sequence[int]], list[int]] | None) -> Seat | None:
        """A seat for a class; ``None`` if that does not do, or there is no row for it.

        *worth_of* tells what rows are worth to it; ``None`` if its plugins must be asked.
        """
        if len(self.seats) >= MOST_SEATS or not (self.sync() if self.seats else self._begin()):
            return None
        kinds = self._kinds()
        if worth_of is None and len(kinds) > max(MOST_ASKED, self._size >> _ASKED_SHIFT):
            return None
        worth = (worth_of or found.one_by_one.ask)(list(kinds.values()))
        if not found.usable or max(worth, default=_OUT) < 0:
            return None
        return self._add(found, dict(zip(kinds, worth, strict=True)))

    def _add(self, found: PodClass, worth: dict[bytes, int]) -> Seat:
        """A seat for a class to which rows with these amounts are worth so much."""
        if self.seats:
            known = {amounts: each for amounts, each in self._answers.items() if amounts in worth}
            self._answers = {amounts: np.append(each, worth[amounts]) for amounts, each in known.items()}
        else:
            self._answers = {amounts: np.array([each]) for amounts, each in worth.items()}
        seat = Seat(self, found, len(self.seats))
        rows = np.full((1, self._amounts.shape[1]), _OUT)
        for row, amounts in enumerate(self._packed()):
            rows[0, row] = worth[amounts] if amounts is not None else _OUT
        self._seat([*self.seats, seat], np.concatenate((self._worth, rows)) if self.seats else rows)
        return seat

    def leave(self, seat: Seat) -> None:
        """The class asks no more."""
        if seat.number >= 0:
            self._keep([other for other in self.seats if other is not seat])

    def _keep(self, seats: list[Seat]) -> None:
        places = [seat.number for seat in seats]
        self._answers = {amounts: answers[places] for amounts, answers in self._answers.items()}
        self._seat(seats, self._worth[places])

    def _seat(self, seats: list[Seat], worth: Worth) -> None:
        for seat in self.seats:
            seat.number = -1
        self.seats, self._worth, self._all = seats, worth, None
        for number, seat in enumerate(seats):
            seat.number = number
        self._give()

    def _give(self) -> None:
        """To each seat its numbers."""
        for seat, worth in zip(self.seats, self._worth, strict=True):
            seat.take(worth[: self._size])

    def _end_round(self) -> None:
        self._asked = 0
        busy = [seat for seat in self.seats if seat.uses >= LEAST_USES]
        if len(busy) < len(self.seats):
            self._keep(busy)
        for seat in busy:
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
        latest = table.latest
        if same and latest is not None and latest[0] == version == since + 1:
            self._version = version
            self._put(latest[1])
        elif view.marks or not self._follow(table, table.row_log.since(since) if same else None):
            self._keep([])
            return False
        if self._asked >= ROUND:
            self._end_round()
        return True

    def _follow(self, table: NodeTable, rows: Sequence[int] | None) -> bool:
        """Take in that these rows changed, or all; ``False`` if that will not do."""
        if rows is None:
            return self._begin() and self._fill()
        if self._size != table.size:
            self._size = table.size
            if self._size > MOST_ROWS:
                return False
            self._give()
        self._version = table.row_log.version
        for row in set(rows):
            self._put(row)
        return True

    def _put(self, row: int) -> None:
        if self._codes[row]:
            self._worth[:, row] = _OUT
            return
        amounts = self._amounts[:, row].tobytes()
        answers = self._answers.get(amounts)
        self._worth[:, row] = self._ask(row, amounts) if answers is None else answers

    def _begin(self) -> bool:
        """Take hold of the table; ``False`` if it is too large, or has too many columns."""
        view = self.view
        table = view.framework.handle.table
        self._amounts, self._codes, self._size = table.packed_amounts(), view.codes.data, table.size
        self._builds, self._layout, self._version = view.builds, table.layout, table.row_log.version
        self._all = None
        return self._amounts is not None and self._size <= MOST_ROWS and not view.marks

    def _fill(self) -> bool:
        """All rows anew; ``False`` if it takes too many questions. O(classes x rows)."""
        kinds = self._kinds()
        unknown = kinds.keys() - self._answers.keys()
        if len(unknown) > max(MOST_ASKED, self._size >> _ASKED_SHIFT):
            return False
        # What was asked before may be forgotten while others are asked about.
        answers = {amounts: self._answers[amounts] for amounts in kinds.keys() - unknown}
        answers |= {amounts: self._ask(kinds[amounts], amounts) for amounts in unknown}
        self._worth = np.full((len(self.seats), self._amounts.shape[1]), _OUT)
        for row, packed in enumerate(self._packed()):
            if packed is not None:
                self._worth[:, row] = answers[packed]
        self._give()
        return True

    def _packed(self) -> list[bytes | None]:
        """The amounts of each row, ``None`` for one that the view rejects."""
        amounts = np.ascontiguousarray(self._amounts[:, : self._size].T)
        codes = self._codes[: self._size].tolist()
        return [None if code else each.tobytes() for code, each in zip(codes, amounts, strict=True)]

    def _kinds(self) -> dict[bytes, int]:
        """A row for each kind of rows."""
        return {amounts: row for row, amounts in enumerate(self._packed()) if amounts is not None}

    def _ask(self, row: int, amounts: bytes) -> Worth:
        """What the row, and any other with the same amounts, is worth to each class."""
        self._asked += 1
        if len(self._answers) >= MOST_KNOWN:
            self._answers.clear()
        try:
            if self._all is None:
                self._all = AllClasses([seat.found for seat in self.seats])
            answers = self._all.ask(row)
        except Exception:  # noqa: BLE001 - a short cut that is not there
            answers = [seat.found.one_by_one.ask((row,))[0] for seat in self.seats]
        packed = self._answers[amounts] = np.array(answers, np.int64)
        return packed
