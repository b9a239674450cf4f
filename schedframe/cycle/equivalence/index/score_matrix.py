"""ScoreMatrix: the partial score of every row for each of many classes, one argmax away from the best row.

Assuming a pod makes one row dirty, for all classes. It is evaluated for all of them in one batch, and the
answers are memoised by row state. Where most rows have changed when the turn of a class comes again, that
costs less than an index by class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import field

from ...._base.value import record
from ....errors import InvariantError
from ....state import LazyRows, NodeTable, Rows
from ...search.tie_breaking import Scores, many
from ..node_columns import NodeColumns
from ..policy import SMALLEST_BLOCK, Policy
from ..row_memo import RowMemo
from ..status_codes import EvaluationFailed

Narrow = npt.NDArray[np.int16]
Evaluate = Callable[[int], Scores]
"""The answers of some slots about a row; :class:`EvaluationFailed` if there are none."""

LARGEST_SCORE: Final = 30_000
"""Scores are kept in two bytes; :meth:`ScoreMatrix.attach` needs to know that they fit."""
_REJECTED: Final = -1
"""Any number below 0."""
_NEVER: Final = -2
"""No version of anything."""


@record(eq=False, repr=False)
class MatrixSlot:
    """The row of a :class:`ScoreMatrix` that belongs to one class: its :class:`.ScoreIndex`."""

    matrix: ScoreMatrix
    owner: Any
    """Passed to ``prepare``; of no meaning here."""
    partial_scores: Callable[[], Scores | None]
    """The scores of all rows as of now, computed from columns; ``None`` if none is feasible."""
    number: int
    """Row in the matrix; negative once evicted."""
    version: int
    """Row log position up to which all scores were computed from columns."""
    _scores: Any = None
    """An array, and a memoryview of the same scores."""
    _cells: Any = None
    _top: int = 0
    _first: int = 0

    @property
    def attached(self) -> bool:
        """Return whether the slot can be used."""
        return self.number >= 0

    @property
    def nbytes(self) -> int:
        """None beside the matrix."""
        return 0

    def best(self) -> bool:
        """Find the best row, for :meth:`draw`; O(rows). The node columns must be up to date."""
        matrix = self.matrix
        if self.number < 0:
            return False
        now = matrix.table.row_log.version
        # A slot that was just attached needs no rows evaluated that changed before.
        if self.version != now:
            if not matrix.sync():
                return False
            if (self.version < matrix.stale_before or matrix.version != now) and not self._update():
                return False
        first = int(self._scores.argmax())
        self._first, self._top = first, self._cells[first]
        return bool(self._top >= 0)

    def draw(self, rng: Random) -> int:
        """Return one of the best rows, by the rule of :mod:`~.tie_breaking`; O(rows)."""
        top, cells = self._top, self._cells
        tied = (self._scores == top).nonzero()[0]
        ties, size = len(tied), self.matrix.table.size
        if ties == 1:
            return self._first
        if ties < many(size):
            return int(tied[rng.randrange(ties)])
        random = rng.random
        while cells[row := int(random() * size)] != top:
            pass
        return row

    def feasible_rows(self) -> Rows:
        """Return the rows that were feasible when the best was found."""
        feasible = (self._scores >= 0).nonzero()[0]
        return LazyRows(self.matrix.table, len(feasible), lambda: feasible)

    def scores_at(self, positions: npt.NDArray[np.intp]) -> Scores:
        """Return the scores of these rows."""
        found: Scores = self._scores[positions].astype(np.int64)
        return found

    def _update(self) -> bool:
        """Compute the score of each row from columns; ``False`` if none is feasible."""
        scores = self.partial_scores()
        if scores is None:
            return False
        self._scores[: len(scores)] = narrowed(scores)
        self.version = self.matrix.table.row_log.version
        return True

    def point_to(self, scores: Narrow) -> None:
        """Use this row of the matrix from now on."""
        self._scores, self._cells = scores, scores.data

    def close(self) -> None:
        """Leave the matrix."""
        if self.number >= 0:
            self.matrix.evict(self)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if the slot does not point to its row of the matrix."""
        if self.attached and self.matrix.slots[self.number] is not self:
            raise InvariantError("a slot does not stand where its number says")
        if self.attached and not np.shares_memory(self._scores, self.matrix.row_of(self)):
            raise InvariantError("a slot points to other scores than those of the matrix")


@record(eq=False, repr=False)
class ScoreMatrix:
    """Scores by slot and row, maintained from the change log of the table.

    O(slots) for a dirty row, O(slots x plugins) if no row was in its state before; O(1) for a slot that is
    attached and not used yet. Memory: 2 bytes for each slot and row, and for each slot and memoised state.
    """

    table: NodeTable
    node_columns: NodeColumns
    policy: Policy
    prepare: Callable[[Sequence[Any]], Evaluate]
    """Prepares the evaluation of one row for the owners of slots."""
    slots: list[MatrixSlot] = field(factory=list)
    version: int = _NEVER
    """Row log position up to which rows were evaluated; that of :meth:`sync` most often."""
    stale_before: int = 0
    """Slots whose scores are older than that row log position must be updated from columns."""
    usable: bool = True
    """``False``: some owners cannot be evaluated in a batch."""
    _matrix: Narrow = field(factory=lambda: np.empty((0, 0), np.int16))
    """By slot and row, with room for more of both."""
    _answers: RowMemo[Narrow] = field(init=False)
    """By row state the answers of all slots."""
    _evaluate: Evaluate | None = None
    """The prepared evaluation of all slots; ``None``: slots came or left since."""
    _generation: int = _NEVER
    _layout: int = _NEVER

    def __attrs_post_init__(self) -> None:
        self._answers = RowMemo(self.policy.answers)

    @property
    def nbytes(self) -> int:
        """Memory, in bytes."""
        return self._matrix.nbytes + self._answers.nbytes(2 * len(self.slots))

    def row_of(self, slot: MatrixSlot) -> Narrow:
        """Return the scores of a slot."""
        scores: Narrow = self._matrix[slot.number]
        return scores

    # ---- slots -------------------------------------------------------------------------------------------

    def can_serve(self) -> bool:
        """Return whether one more class may attach."""
        return self.usable and not self.node_columns.score_columns

    def attach(self, owner: Any, most: int, partial_scores: Callable[[], Scores | None]) -> MatrixSlot | None:
        """Return a slot; ``None`` if no row is feasible, or *most*, the highest possible score, is too large.

        The caller checked :meth:`can_serve`. O(rows), amortised.
        """
        scores = partial_scores() if most <= LARGEST_SCORE else None
        if scores is None:
            return None
        if not self.slots or not self._holds():
            self._reset()
        number = len(self.slots)
        if number >= len(self._matrix):
            more = np.full((max(2 * number, 8), self.table.capacity + SMALLEST_BLOCK), _REJECTED, np.int16)
            more[:number, : self._matrix.shape[1]] = self._matrix[:number]
            self._matrix = more
            for each in self.slots:
                each.point_to(self.row_of(each))
        self._matrix[number, : len(scores)] = narrowed(scores)
        self._matrix[number, len(scores) :] = _REJECTED  # of a former slot, as the table gave rows back
        slot = MatrixSlot(self, owner, partial_scores, number, self.table.row_log.version)
        slot.point_to(self.row_of(slot))
        self.slots.append(slot)
        self._evaluate = None
        self._answers.clear()
        return slot

    def evict(self, slot: MatrixSlot) -> None:
        """Give the place of *slot* to the last one; O(rows)."""
        last = self.slots.pop()
        if last is not slot:
            self._matrix[slot.number] = self._matrix[last.number]
            self.slots[slot.number] = last
            last.number = slot.number
            last.point_to(self.row_of(last))
        slot.number = -1
        slot.point_to(np.empty(0, np.int16))  # a view would keep the scores of all classes
        self._evaluate = None
        self._answers.clear()

    # ---- catching up -------------------------------------------------------------------------------------

    def sync(self) -> bool:
        """Catch up with the table; whether the matrix can be used. The node columns must be up to date."""
        table = self.table
        version, latest = table.row_log.version, table.last_assume
        rows: Sequence[int] | None
        if not self._holds():
            self._reset()
            return False
        if self.version == version:
            return True
        if latest is not None and latest[0] == version == self.version + 1:
            rows = (latest[1],)
        else:
            rows = table.row_log.since(self.version)
        try:
            if rows is None or len(rows) > self.policy.pending_rows * len(self.slots):
                self.version = self.stale_before = version
            else:
                if self._evaluate is None:
                    self._evaluate = self.prepare([slot.owner for slot in self.slots])
                self.version = version
                for row in rows if len(rows) == 1 else set(rows):
                    self._refresh(row, self._evaluate)
        except EvaluationFailed:
            self.usable = False
            self._reset()
            return False
        return True

    def _holds(self) -> bool:
        """Return whether scores of rows that did not change are still right."""
        columns, table = self.node_columns, self.table
        return (
            self._generation == columns.generation
            and self._layout == table.layout
            and table.size <= self.policy.pass_rows
            and not columns.score_columns
        )

    def _reset(self) -> None:
        """Evict all slots and begin with the table as it is."""
        for slot in self.slots[::-1]:
            self.evict(slot)
        table = self.table
        self._generation, self._layout = self.node_columns.generation, table.layout
        self.version = table.row_log.version
        self._matrix = np.empty((0, 0), np.int16)

    def _refresh(self, row: int, evaluate: Evaluate) -> None:
        if self.node_columns.cells[row]:
            self._matrix[:, row] = _REJECTED
            return
        answers = self._answers.find(self.table.row_state(row), lambda row: narrowed(evaluate(row)), row)
        self._matrix[: len(answers), row] = answers


def narrowed(scores: Scores) -> Narrow:
    """Convert to int16. Codes below -:data:`LARGEST_SCORE` are clamped: only their sign is used."""
    found: Narrow = np.maximum(scores, -LARGEST_SCORE).astype(np.int16)
    return found
