"""ScoreMatrix: the partial score of every row for each of many classes, one argmax away from the best row.

Assuming a pod makes one row dirty, for all classes. It is evaluated for all of them in one batch, and the
answers are memoised by row state. In a table of some thousand rows with many classes, where most rows have
changed when the turn of a class comes again, that costs less than an index by class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ....errors import InvariantError
from ....state import LazyRows, NodeTable, Rows
from ...search.tie_breaking import many
from ..node_columns import NodeColumns
from ..policy import Policy
from ..row_memo import RowMemo
from .base import Scores

Narrow = npt.NDArray[np.int16]
Prepare = Callable[[Sequence[Any]], Callable[[int], Sequence[int | None] | Scores]]
"""Prepares the evaluation of one row for the owners of slots: their answers, ``None`` for one that failed."""

LARGEST_SCORE: Final = 30_000
"""Scores are kept in two bytes; :meth:`ScoreMatrix.attach` needs to know that they fit."""
_REJECTED: Final = -1
"""Any number below 0."""
_NEVER: Final = -2
"""No version of anything."""
_ROW_PADDING: Final = 32
"""Rows of the matrix are this much wider: a column of it, with elements a power of two apart, would share few
cache lines."""


@define(eq=False, repr=False)
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
    failed: bool = False
    """Whether a plugin failed for the owner: its class must not be used."""
    uses: int = 0
    """Best rows that were found since the last eviction pass."""
    _scores: Any = None
    """An array, and a memoryview of the same scores."""
    _cells: Any = None
    _size: int = 0
    _many: int = 0
    _top: int = 0
    _first: int = 0

    @property
    def attached(self) -> bool:
        """Whether the slot can be used."""
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
        if self.version != matrix.table.row_log.version:
            # A slot that was just attached needs no rows evaluated that changed before.
            if not matrix.sync() or self.failed:
                return False
            if self.version < matrix.stale_before and not self.update(self.partial_scores()):
                return False
        first = int(self._scores.argmax())
        self._first, self._top = first, self._cells[first]
        if self._top < 0:
            return False
        self.uses += 1
        matrix.uses += 1
        return True

    def draw(self, rng: Random) -> int:
        """One of the best rows, by the rule of :mod:`~.tie_breaking`; O(rows)."""
        top = self._top
        tied = (self._scores == top).nonzero()[0]
        ties = len(tied)
        if ties == 1:
            return self._first
        if ties < self._many:
            return int(tied[rng.randrange(ties)])
        cells, size, random = self._cells, self._size, rng.random
        while cells[row := int(random() * size)] != top:
            pass
        return row

    def feasible_rows(self) -> Rows:
        """The rows that were feasible when the best was found."""
        feasible = (self._scores >= 0).nonzero()[0]
        return LazyRows(self.matrix.table, len(feasible), lambda: feasible)

    def scores_at(self, positions: npt.NDArray[np.intp]) -> Scores:
        """The scores of these rows."""
        found: Scores = self._scores[positions].astype(np.int64)
        return found

    def values(self) -> list[int]:
        """The partial score of each row; below 0 for a rejected one: the negated code, or any number."""
        values: list[int] = self._scores.tolist()
        return values

    def is_stale(self) -> bool:
        """Whether more happened than the matrix evaluates by row: :meth:`update` must come first."""
        return self.version < self.matrix.stale_before

    def update(self, scores: Scores | None) -> bool:
        """Set the score of each row, the matrix being in step; ``False`` if there are none."""
        if scores is None or len(scores) != self._size:
            return False
        self._scores[:] = narrowed(scores)
        self.version = self.matrix.table.row_log.version
        return True

    def point_to(self, scores: Narrow) -> None:
        """Use this row of the matrix from now on."""
        self._scores, self._cells, self._size = scores, scores.data, len(scores)
        self._many = many(self._size)

    def evict(self) -> None:
        """Leave the matrix with a copy of the scores, which is good for what was found so far."""
        self.number = -1
        # A view would keep the scores of all classes.
        self.point_to(self._scores.copy())

    def close(self) -> None:
        """Leave the matrix."""
        if self.number >= 0:
            self.matrix.detach((self,))

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if the slot does not point to its row of the matrix."""
        if self.attached and self.matrix.slots[self.number] is not self:
            raise InvariantError("a slot does not stand where its number says")
        if self.attached and not np.shares_memory(self._scores, self.matrix.row_of(self)):
            raise InvariantError("a slot points to other scores than those of the matrix")


@define(eq=False, repr=False)
class ScoreMatrix:
    """Scores by slot and row, maintained from the change log of the table.

    O(slots) for a dirty row, O(slots x plugins) if no row was in its state before; O(1) for a slot that is
    attached and not used yet. Memory: 2 bytes for each slot and row, and for each slot and memoised state.
    """

    table: NodeTable
    node_columns: NodeColumns
    policy: Policy
    prepare: Prepare
    slots: list[MatrixSlot] = field(factory=list)
    """Evicted ones stay among them until a quarter is evicted."""
    stale_before: int = 0
    """Slots whose scores are older than that row log position must be updated from columns."""
    uses: int = 0
    """Best rows that were found."""
    _evicted: int = 0
    _matrix: Narrow = field(factory=lambda: np.empty((0, 0), np.int16))
    """By slot and row, with room for more of both."""
    _answers: RowMemo[Narrow] = field(init=False)
    """By row state the answers of all slots."""
    _batch: tuple[int, Any] | None = None
    """Number of slots, and their prepared evaluation; ``None`` while too many are attached since."""
    _recent_batch: Any = None
    """The prepared evaluation of the slots attached since."""
    _codes: Any = None
    """Those of the node columns, by row."""
    _version: int = _NEVER
    _generation: int = _NEVER
    _layout: int = _NEVER
    _size: int = 0
    _evaluated: int = 0
    """Evaluations since the last eviction pass."""
    _since_attach: int = 0
    """Evaluations since the last slot was attached."""
    _admitted: int = 0
    """Classes that were admitted on their first pod."""

    def __attrs_post_init__(self) -> None:
        self._answers = RowMemo(self.policy.answers)

    @property
    def nbytes(self) -> int:
        """Memory, in bytes."""
        return self._matrix.nbytes + self._answers.nbytes(2 * len(self.slots))

    def row_of(self, slot: MatrixSlot) -> Narrow:
        """The scores of a slot."""
        return self._matrix[slot.number, : self._size]

    # ---- slots -------------------------------------------------------------------------------------------

    def has_room(self) -> bool:
        """Whether one more class may attach; a refusal counts as an evaluation, so that idle slots go."""
        if self.node_columns.score_columns or self.table.size > self.policy.matrix_max_rows:
            return False
        if len(self.slots) < self.policy.matrix_max_classes:
            return True
        self._evaluated += 1
        self._evict_idle()
        return False

    def admits_unseen_class(self) -> bool:
        """Admission control: admit a class on its first pod unless most of those admitted were used once.

        Counts admissions.
        """
        admits = self._admitted < self.policy.unseen_classes or self.uses > 2 * self._admitted
        self._admitted += admits
        return admits

    def attach(
        self, owner: Any, scores: Scores, most: int, partial_scores: Callable[[], Scores | None]
    ) -> MatrixSlot | None:
        """A slot with these *scores*; ``None`` if *most*, the highest possible one, is too large.

        The caller checked :meth:`has_room`. O(rows), amortised.
        """
        if most > LARGEST_SCORE:
            return None
        if not self.slots or not self._holds():
            self._reset()
        self._resize()
        number = len(self.slots)
        if number >= len(self._matrix):
            more = np.full((max(2 * number, 8), self.table.capacity + _ROW_PADDING), _REJECTED, np.int16)
            more[:number, : self._matrix.shape[1]] = self._matrix[:number]
            self._matrix = more
            self._point_slots()
        self._matrix[number, : self._size] = narrowed(scores)
        slot = MatrixSlot(self, owner, partial_scores, number, self.table.row_log.version)
        slot.point_to(self.row_of(slot))
        self.slots.append(slot)
        self._answers.clear()
        if self._batch is not None:
            self._recent_batch, self._since_attach = None, 0
            if number + 1 - self._batch[0] > self._recent_limit():
                self._batch = None
        return slot

    def detach(self, slots: Sequence[MatrixSlot]) -> None:
        """Evict *slots*; O(slots x rows) when a quarter of all are evicted."""
        for slot in slots:
            slot.evict()
        self._evicted += len(slots)
        if 4 * self._evicted > len(self.slots):
            self._compact()

    def _compact(self) -> None:
        places = [place for place, slot in enumerate(self.slots) if slot.attached]
        self.slots, self._evicted = [self.slots[place] for place in places], 0
        self._matrix = self._matrix[places]
        self._batch = self._recent_batch = None
        self._answers.clear()
        for number, slot in enumerate(self.slots):
            slot.number = number
        self._point_slots()

    def _point_slots(self) -> None:
        for slot, scores in zip(self.slots, self._matrix, strict=False):
            if slot.attached:
                slot.point_to(scores[: self._size])

    def _evict_idle(self) -> None:
        if self._evaluated < self.policy.eviction_period + 8 * len(self.slots):
            return
        self._evaluated = 0
        self.detach([slot for slot in self.slots if slot.attached and not slot.uses])
        for slot in self.slots:
            slot.uses = 0

    # ---- catching up -------------------------------------------------------------------------------------

    def sync(self) -> bool:
        """Catch up with the table; whether the matrix can be used. The node columns must be up to date."""
        table = self.table
        version, since = table.row_log.version, self._version
        same = self._generation == self.node_columns.generation and self._layout == table.layout
        if since == version and same:
            return True
        latest = table.last_assume
        if same and self._batch is not None and latest is not None and latest[0] == version == since + 1:
            self._version = version
            self._refresh(latest[1])
        elif self._holds():
            self._refresh_dirty()
        else:
            self._reset()
            return False
        # After the rows: an evicted slot has no batch that could evaluate them.
        self._evict_idle()
        return True

    def _holds(self) -> bool:
        """Whether scores of rows that did not change are still right."""
        columns = self.node_columns
        if self._generation != columns.generation or self._layout != self.table.layout:
            return False
        return not columns.score_columns and self.table.size <= self.policy.matrix_max_rows

    def _reset(self) -> None:
        """Evict all slots and begin with the table as it is."""
        self.detach([slot for slot in self.slots if slot.attached])
        table = self.table
        self._codes, self._size = self.node_columns.codes.data, table.size
        self._generation, self._layout = self.node_columns.generation, table.layout
        self._version = table.row_log.version
        self._matrix = np.empty((0, 0), np.int16)

    def _refresh_dirty(self) -> None:
        self._resize()
        rows = self.table.row_log.since(self._version)
        self._version = version = self.table.row_log.version
        must_wait = self._batch is None and not self._should_rebatch()
        if rows is None or len(rows) > self.policy.pending_rows or must_wait:
            self.stale_before = version
            return
        for row in set(rows):
            self._refresh(row)

    def _resize(self) -> None:
        if self._size != self.table.size:
            self._size = self.table.size
            self._point_slots()

    def _refresh(self, row: int) -> None:
        if self._codes[row]:
            self._matrix[:, row] = _REJECTED
            return
        answers = self._answers.find(self.table.row_state(row), self._evaluate, row)
        self._matrix[: len(answers), row] = answers

    def _evaluate(self, row: int) -> Narrow:
        """The answers of all slots about a row, and about any other in the same state."""
        self._evaluated += 1
        answers = self._evaluate_batches(row)
        if not isinstance(answers, np.ndarray) and None in answers:
            for slot, answer in zip(self.slots, answers, strict=True):
                slot.failed |= answer is None
            answers = [_REJECTED if answer is None else answer for answer in answers]
        return narrowed(answers)

    def _evaluate_batches(self, row: int) -> Any:
        if self._batch is None or (self._batch[0] < len(self.slots) and self._should_rebatch()):
            self._batch = len(self.slots), self.prepare([slot.owner for slot in self.slots])
            self._recent_batch, self._since_attach = None, 0
        count, evaluate = self._batch
        if count == len(self.slots):
            return evaluate(row)
        if self._recent_batch is None:
            self._recent_batch = self.prepare([slot.owner for slot in self.slots[count:]])
        first, second = evaluate(row), self._recent_batch(row)
        if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
            return np.concatenate((first, second))
        return [*first, *second]

    def _should_rebatch(self) -> bool:
        """Whether enough evaluations followed the last attached slot: to prepare a batch is O(slots)."""
        self._since_attach += 1
        return self._since_attach > len(self.slots) // self.policy.rebatch_share

    def _recent_limit(self) -> int:
        """Slots that may be evaluated beside the batch."""
        return 4 + len(self.slots) // (4 * self.policy.rebatch_share)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if slots and matrix do not fit together; O(slots)."""
        for slot in self.slots:
            slot.check_invariants()
        if sum([not slot.attached for slot in self.slots]) != self._evicted:
            raise InvariantError("the number of evicted slots is wrong")


def narrowed(scores: Any) -> Narrow:
    """Convert to int16. Codes below -:data:`LARGEST_SCORE` are clamped: only their sign is used."""
    found: Narrow = np.maximum(scores, -LARGEST_SCORE).astype(np.int16)
    return found
