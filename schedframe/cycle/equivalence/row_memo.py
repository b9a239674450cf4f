"""What plugins said about rows, for rows with the same amounts."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from ...state import AmountStates

MOST_ANSWERS = 2048
"""So many are kept for each class."""
BYTES_AN_ANSWER = 100
_HIT = 3
"""To have an answer saves so many times what it costs to look for one in vain."""
_MOST_CREDIT = 4 * MOST_ANSWERS


@define(eq=False)
class AnswersByAmounts:
    """Answers of the plugins of one class that look at nothing but the amounts of a row.

    Clusters have machines of few kinds, and most pods come in few sizes: then many nodes are in the same
    state, and what was found out for one goes for all. Where that is not so this gives itself up.
    """

    _states: AmountStates
    known: dict[int, int] = field(factory=dict)
    """State number → sum of the scores, or the negative of the code by which such rows are rejected."""
    _credit: int = _MOST_CREDIT // 4

    @property
    def pays(self) -> bool:
        """Whether answers are found often enough."""
        return self._credit > 0

    @property
    def nbytes(self) -> int:
        """About how much memory the answers take."""
        return len(self.known) * BYTES_AN_ANSWER

    def numbers(self) -> Any:
        """The state number of each row, 0 where it is not known: a memoryview, up to date."""
        self._states.sync()
        return self._states.cells

    def find(self, row: int) -> int | None:
        """The answer for a row whose number may not be known so far; ``None`` if there is none."""
        return self.known.get(self._states.number_of(row))

    def note(self, row: int, answer: int) -> None:
        """Remember the answer for a row."""
        number = self._states.number_of(row)
        if number:
            if len(self.known) >= MOST_ANSWERS:
                self.known.clear()
            self.known[number] = answer

    def looked(self, rows: int, missed: int) -> None:
        """So many *rows* were looked up, and *missed* of them in vain."""
        self._credit = min(self._credit + _HIT * (rows - missed) - missed, _MOST_CREDIT)
        if not self.pays:
            self.known.clear()
