"""RowsByState: the rows of a table by row state, which is what their nodes have and what is used of it.

Where an answer depends on the state alone, one evaluation serves all rows in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record
from ..api import PodResources
from ..errors import InvariantError
from . import policy
from .node_table import NodeTable

Codes = npt.NDArray[np.int32]
Column = npt.NDArray[np.int64]
Positions = npt.NDArray[np.intp]
Key = tuple[Any, ...] | None

_LEFT_OUT: Final = 0
"""Number of the state of rows that are left out."""


@record(eq=False)
class RowState:
    """The rows in one state and with one node-score key: how many, and how many in each block."""

    number: int
    key: Key
    score_key: tuple[int, ...]
    blocks: list[int]
    count: int = 0
    row: int = -1
    """The row that entered last, and may have left."""
    successors: dict[PodResources, RowState] = field(factory=dict)
    """By requests of a pod the state that a row enters when such a pod comes to it."""


@record(eq=False)
class RowsByState:
    """The rows of a table by state and node-score key, without those that have a code.

    A dirty row costs O(resources), for any number of readers. Gives up where most states have one row only.
    Memory: 4 bytes a row.
    """

    table: NodeTable
    score_columns: tuple[Column, ...] = ()
    """Scores of nodes: rows of one state do not differ in them either."""
    usable: bool = False
    """Whether the rows are grouped at all."""
    activations: int = 0
    """How often a state without rows got one."""
    version: int = -1
    """Row log position up to which this is right."""
    numbers: Any = None
    """By row the number of its state, 0 for one that is left out: a memoryview."""
    _activated: list[RowState] = field(factory=list)
    """States that got a first row, the last one at the end."""
    _states: dict[Key, RowState] = field(factory=dict)
    _by_number: dict[int, RowState] = field(factory=dict)
    _column: npt.NDArray[np.int32] = field(factory=lambda: np.zeros(0, np.int32))
    _cells_of_scores: list[Any] = field(init=False)
    _shift: int = 0
    _last: int = _LEFT_OUT

    def __attrs_post_init__(self) -> None:
        self._cells_of_scores = [column.data for column in self.score_columns]

    @property
    def nbytes(self) -> int:
        """Memory of what is kept by row, in bytes."""
        return self._column.nbytes

    def states(self) -> list[RowState]:
        """Return the states that have rows."""
        return [state for state in self._states.values() if state.count]

    def state_at(self, row: int) -> RowState:
        """Return the state of a row that is not left out."""
        return self._by_number[self.numbers[row]]

    def activated_since(self, activations: int) -> list[RowState] | None:
        """Return the states activated after the first *activations* ones; ``None`` if that is long ago."""
        first = activations - self.activations + len(self._activated)
        return self._activated[first:] if first >= 0 else None

    # ---- following ---------------------------------------------------------------------------------------

    def sync(self, codes: Codes) -> bool:
        """Catch up with the table; whether this can be used.

        *codes*: by row, 0 for one that is not left out. They and the scores of nodes change only where the
        row log says so.
        """
        table, log = self.table, self.table.row_log
        version, latest = log.version, table.last_assume
        if not self.usable or self.version == version:
            return self.usable
        if latest is not None and latest[0] == version == self.version + 1:
            self.version = version
            if not self._pod_came(latest[1], latest[2]):
                self._give_up()
            return self.usable
        rows = log.since(self.version) if table.size <= len(self._column) else None
        if rows is None:
            return self.rebuild(codes)
        self.version = version
        if not self._follow(set(rows), codes.data):
            self._give_up()
        return self.usable

    def _pod_came(self, row: int, requests: PodResources) -> bool:
        """Note that a pod was assumed and nothing else: rows of one state all enter the same one by it.

        There is room for another pod, so the number of pods does not matter.
        """
        numbers = self.numbers
        number = numbers[row] if row < len(numbers) else _LEFT_OUT
        if number == _LEFT_OUT:
            # A pod does not change that a row is left out.
            return True
        old = self._by_number[number]
        new = old.successors.get(requests)
        if new is None:
            new = self._state_of(row)
            if new is None:
                return False
            if len(old.successors) >= policy.SUCCESSORS:
                old.successors.clear()
            old.successors[requests] = new
        if new is not old:
            self._move(row, old, new)
        return True

    def _follow(self, rows: Collection[int], codes: memoryview[int]) -> bool:
        for row in rows:
            old = self._by_number.get(self.numbers[row])
            new = None if codes[row] else self._state_of(row)
            if new is None and not codes[row]:
                return False
            if new is not old:
                self._move(row, old, new)
        return True

    def _move(self, row: int, old: RowState | None, new: RowState | None) -> None:
        """Move a row to another state; ``None``: left out."""
        block = row >> self._shift
        if old is not None:
            old.blocks[block] -= 1
            old.count -= 1
        if new is None:
            self.numbers[row] = _LEFT_OUT
            return
        self.numbers[row] = new.number
        new.row = row
        new.blocks[block] += 1
        new.count += 1
        if new.count == 1:
            self._note_activation(new)

    # ---- looking for rows --------------------------------------------------------------------------------

    def one_of(self, state: RowState) -> int:
        """Return some row of a state that has any; O(1) if the last one that entered is still there."""
        row = state.row
        return row if self.numbers[row] == state.number else self.nth((state,), 0)

    def nth(self, states: Sequence[RowState], n: int) -> int:
        """Return the row at position *n* among those in *states*, ascending; O(states x blocks + block)."""
        for block, counts in enumerate(zip(*[state.blocks for state in states], strict=True)):
            count = sum(counts)
            if n < count:
                start = block << self._shift
                part = self._column[start : start + (1 << self._shift)]
                here = [state for state in states if state.blocks[block]]
                return start + int(self._are_of(here, part).nonzero()[0][n])
            n -= count
        raise InvariantError("states have fewer rows than they count")

    def rows_of(self, states: Collection[RowState]) -> Positions:
        """Return all rows in *states*, ascending; O(rows)."""
        if not states:
            return np.empty(0, np.intp)
        return self._are_of(states, self._column[: self.table.size]).nonzero()[0]

    def _are_of(self, states: Collection[RowState], part: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        # A quarter of the time of np.isin, which looks for the smallest and largest number first.
        wanted = np.zeros(self._last + 1, np.bool_)
        wanted[[state.number for state in states]] = True
        return wanted.take(part)

    # ---- states ------------------------------------------------------------------------------------------

    def _key_of(self, row: int) -> Key:
        """State and node-score key; ``None`` if there are too many resources to compare."""
        amounts = self.table.row_state(row)
        return None if amounts is None else (*amounts, *[cells[row] for cells in self._cells_of_scores])

    def _state_of(self, row: int) -> RowState | None:
        """Return the state for *row* as it is now; ``None`` if there are too many, or too many resources."""
        key = self._key_of(row)
        state = self._states.get(key)
        if state is not None or key is None:
            return state
        if len(self._states) >= policy.ROW_STATES:
            for state in [each for each in self._states.values() if not each.count]:
                del self._states[state.key], self._by_number[state.number]
            for state in self._states.values():
                state.successors.clear()
            # Else the next new state would find no room either.
            if len(self._states) * policy.ROWS_PER_STATE > policy.ROW_STATES:
                return None
        self._last += 1
        blocks = 1 + (max(len(self._column), 1) - 1 >> self._shift)
        score_key = key[len(key) - len(self.score_columns) :]
        state = RowState(self._last, key, score_key, [0] * blocks)
        self._states[key] = self._by_number[state.number] = state
        return state

    def _note_activation(self, state: RowState) -> None:
        self._activated.append(state)
        self.activations += 1
        if len(self._activated) > 2 * policy.ROW_STATES:
            del self._activated[: policy.ROW_STATES]

    # ---- from nothing ------------------------------------------------------------------------------------

    def rebuild(self, codes: Codes) -> bool:
        """Group all rows; whether that pays. O(rows x resources)."""
        table, capacity = self.table, self.table.capacity
        self._give_up()
        if not self._pays(codes):
            return False
        self._shift = policy.state_block_shift(capacity)
        self._column = np.full(capacity, _LEFT_OUT, np.int32)
        self.numbers = self._column.data
        columns = [*table.state_columns(), *self.score_columns]
        width = 1 << self._shift
        for block, start in enumerate(range(0, table.size, width)):
            # Block by block: what one pass reads is still in the processor cache at the next.
            rows = (codes[start : min(start + width, table.size)] == 0).nonzero()[0] + start
            if not self._put(block, rows, columns):
                self._give_up()
                return False
        self.usable, self.version = True, table.row_log.version
        return True

    def _pays(self, codes: Codes) -> bool:
        """Return whether the rows of a sample share their states."""
        size = self.table.size
        some = [row for row in range(0, size, max(1, size // policy.SAMPLE)) if not codes[row]]
        kinds = {self._key_of(row) for row in some}
        return None not in kinds and len(kinds) <= max(len(some) // policy.ROWS_PER_STATE, 1)

    def _put(self, block: int, rows: Positions, columns: list[Column]) -> bool:
        """Group the rows of one block; ``False`` if there are too many states."""
        parts = split_rows(rows, columns, policy.ROW_STATES)
        if parts is None:
            return False
        for part in parts:
            state = self._state_of(int(part[0]))
            if state is None:
                return False
            if not state.count:
                self._note_activation(state)
            state.count += len(part)
            state.blocks[block] = len(part)
            state.row = int(part[0])
            self._column[part] = state.number
        return True

    def _give_up(self) -> None:
        self.usable = False
        # One more than there were: a reader that knew all of them must begin again.
        self.activations += 1
        self._activated.clear()
        self._states.clear()
        self._by_number.clear()
        self._column = np.zeros(0, np.int32)

    def check_invariants(self, codes: Codes) -> None:
        """Raise :class:`InvariantError` if states and rows, just synced, do not fit together; O(rows)."""
        if not self.usable:
            return
        numbers = self._column[: self.table.size]
        if set(numbers.nonzero()[0].tolist()) != set((codes[: self.table.size] == 0).nonzero()[0].tolist()):
            raise InvariantError("the grouped rows are not those that have no code")
        known = {_LEFT_OUT, *self._by_number}
        if not known.issuperset(numbers.tolist()) or self._column[self.table.size :].any():
            raise InvariantError("rows have numbers of no state")
        for state in self._states.values():
            rows = (numbers == state.number).nonzero()[0]
            blocks = np.bincount(rows >> self._shift, minlength=len(state.blocks)).tolist()
            if (
                state.count != len(rows)
                or state.blocks != blocks
                or self._by_number[state.number] is not state
            ):
                raise InvariantError(f"state {state.number} has other rows than it counts, or is misfiled")
            if not {self._key_of(row) for row in rows.tolist()} <= {state.key}:
                raise InvariantError(f"state {state.number} has rows with different resources or scores")
            if any(self._by_number.get(new.number) is not new for new in state.successors.values()):
                raise InvariantError(f"state {state.number} has a successor that does not exist")


def split_rows(rows: Positions, columns: Iterable[npt.NDArray[Any]], most: int) -> list[Positions] | None:
    """Return *rows* in parts that agree in all *columns*; ``None`` for more than *most* parts.

    O(rows x (columns + parts)).
    """
    parts = [rows] if len(rows) else []
    for column in columns:
        finer: list[Positions] = []
        for part in parts:
            left, values = part, column[part]
            while len(left):
                same = values == values[0]
                if same.all():
                    finer.append(left)
                    break
                finer.append(left[same])
                if len(finer) > most:
                    return None
                np.logical_not(same, out=same)
                left, values = left[same], values[same]
        parts = finer
    return parts if len(parts) <= most else None
